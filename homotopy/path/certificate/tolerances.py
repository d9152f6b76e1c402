"""Every threshold of the certificate, with its reason."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

__all__ = ["SMALLEST", "CertificateTolerances", "settings"]

EPS = float(np.finfo(np.float64).eps)
SMALLEST = float(np.finfo(np.float64).tiny)


@attrs.frozen(kw_only=True)
class CertificateTolerances:
    """What a residual is relative to, and what counts as rounding."""

    # The tolerance at which a residual as large as rounding leaves it just passes.
    finest: float = 1e-8
    # Solving m equations together leaves this many times ``eps sqrt(m)`` of the terms of each.
    roundings: float = 16.0
    # A point off its piece by no more than this has no area.
    exact: float = 1e-15
    # A response is beyond a wall, or the end of its branch, if it is by this fraction of its scale;
    # on a knot if it is nearer.
    near: float = 1e-8
    # A response within this fraction of its scale is on a jump corner: no tighter than the
    # engine's.
    standing: float = 1e-11
    # A jump whose height is this fraction of the slopes beside it is none.
    level: float = 1e-12
    # Solving the active system leaves this fraction of `finest` in an alpha that ought to be 0: the
    # rounding of alphas that were larger before, times the condition of the system.
    solved: float = 1e-4
    # A border equation is relative to this fraction of its terms, so that one alpha in 1,000 shows.
    balanced: float = 1e-2
    # A response is relative to this fraction of itself and of its corner, where it is the sum of
    # many.
    part_of: float = 1e-2
    # No allowance for u is more than this fraction of the distance between corners.
    apart: float = 1e-3
    # t is found by a division and two sums of rounded numbers: this many more roundings than a
    # corner.
    travel: float = 4.0
    # A t this small a part of its span is 0 to rounding.
    zero: float = 64.0 * EPS
    # Such a t is known to the rounding of this part of the span, times `travel`.
    spanned: float = 1.0 / 16.0
    # A segment shorter than this fraction of the path is too brief to tell standing from leaving.
    brief: float = 1e-8
    # A coordinate that stands on a jump corner for less than this fraction of the path may be on
    # its way to it.
    long: float = 1e-3
    # A row of length 1 of which no more than this is left beside others is held by them.
    held: float = 1e-8
    # A row of length 1 of which no more than this is left is in the span of others.
    null_row: float = 1e-12
    # Of those on knots that take at least this fraction of the most, the one that has stayed
    # longest is chosen to hold others.
    about: float = 0.01
    # A change v of alpha with v'Qv below this fraction of its terms is null to rounding.
    null: float = 1e-13
    # A move of w below this fraction of its scale needs no explanation.
    nothing: float = 1e-12
    # Singular values of the border below this fraction of the largest are 0.
    rank: float = 1e-12

    @property
    def rounded(self) -> float:
        """What solving one equation leaves of its terms, in parts of `finest`."""
        return self.roundings * EPS / self.finest


def settings(tolerances: CertificateTolerances, source: str, **more: float) -> Any:
    """The thresholds and `more` as compiled code reads them, an array of one record; `source` (see
    `homotopy.compilation.digest`) is a part of its type."""
    values = attrs.asdict(tolerances) | {"rounded": tolerances.rounded} | more
    fields = [*((name, "f8") for name in values), (f"source_{source}", "f8")]
    return np.array([(*values.values(), 0.0)], dtype=fields).view(np.recarray)
