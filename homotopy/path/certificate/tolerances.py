"""Every threshold of the certificate, with its reason."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from homotopy.path.tolerances import PATH_TOLERANCES

EPS = float(np.finfo(np.float64).eps)
SMALLEST = float(np.finfo(np.float64).tiny)


@attrs.frozen(kw_only=True)
class CertificateTolerances:
    """What a residual is relative to, and what counts as rounding."""

    # The tolerance at which a residual as large as its rounding error just passes.
    finest: float = PATH_TOLERANCES.proven
    # Solving m equations together leaves this many times ``eps sqrt(m)`` of the terms of each.
    roundings: float = 16.0
    # A point off its piece by no more than this contributes no area to the gap.
    exact: float = 1e-15
    # A response farther than this fraction of its scale beyond a wall, or beyond the end of its
    # branch, has passed it; one closer to a knot than this is on it.
    near: float = 1e-8
    # A response within this fraction of its scale of a jump corner is on it: no tighter than in the
    # engine.
    on_jump: float = 1e-11
    # A jump lower than this fraction of the slopes beside it has no height.
    level: float = 1e-12
    # Solving the active system leaves this fraction of `finest` in an alpha that should be 0: the
    # rounding of alphas that were larger before, times the condition of the system.
    solved: float = 1e-4
    # A border equation is relative to this fraction of its terms: one wrong alpha in 1,000 shows.
    balanced: float = 1e-2
    # A response is relative to this fraction of itself and of its corner, because it may be the sum
    # of many terms.
    part_of: float = 1e-2
    # No allowance for u exceeds this fraction of the distance between corners.
    apart: float = 1e-3
    # t results from a division and two sums, so allow this many roundings of a corner.
    travel: float = 4.0
    # A t smaller than this fraction of its span is 0 up to rounding.
    zero: float = 64.0 * EPS
    # Such a t is known up to the rounding of this fraction of the span, times `travel`.
    spanned: float = 1.0 / 16.0
    # On a segment shorter than this fraction of the path, staying cannot be distinguished from
    # leaving.
    brief: float = 1e-8
    # A coordinate that is on a jump corner for less than this fraction of the path may just be
    # approaching it.
    long: float = 1e-3
    # A row of length 1 is held by others if at most this much of its squared length is outside
    # their span.
    held: float = 1e-8
    # A row of length 1 is in the span of others if at most this much of it is outside.
    null_row: float = 1e-12
    # Up to this many active rows are factored together to find the rows they hold; larger sets
    # change too often for that to pay.
    factored: int = 128
    # Of the candidates on knots that remove at least this fraction of the most, choose the one that
    # has stayed longest.
    about: float = 0.01
    # A change v of alpha with v'Qv below this fraction of its terms is null up to rounding.
    null: float = 1e-13
    # A move of w below this fraction of its scale is ignored.
    nothing: float = 1e-12
    # Singular values of the border below this fraction of the largest are 0.
    rank: float = 1e-12

    @property
    def rounded(self) -> float:
        """The fraction of its terms that solving one equation leaves, in units of `finest`."""
        return self.roundings * EPS / self.finest


@attrs.frozen(kw_only=True)
class CertificateSizes:
    """How much is computed at a time, and how much of a path is sampled."""

    # Numbers in one product with Q, and the fewest and most places it covers.
    numbers: int = 2_000_000
    fewest: int = 64
    most: int = 512
    # Numbers in one array of corners (half a megabyte stays in the cache).
    in_cache: int = 65536
    # Most places at which `Path.objective` is called, because each call takes a product; on a short
    # path, one place in this many.
    objectives: int = 32
    one_in: int = 16
    # How many of the largest jumps a sample covers.
    jumps: int = 2

    def batch(self, n: int) -> int:
        """Return how many places with n coordinates each one product covers."""
        return min(max(self.numbers // n, self.fewest), self.most)


CERTIFICATE_SIZES = CertificateSizes()


@lru_cache(maxsize=16)
def settings(tolerances: CertificateTolerances, source: str, **more: float) -> Any:
    """Return the thresholds and `more` for compiled code: an array of one record, whose type
    includes `source` (see `homotopy.compilation.digest`)."""
    values = attrs.asdict(tolerances) | {"rounded": tolerances.rounded} | more
    fields = [*((name, "f8") for name in values), (f"source_{source}", "f8")]
    found = np.array([(*values.values(), 0.0)], dtype=fields).view(np.recarray)
    found.flags.writeable = False
    return found
