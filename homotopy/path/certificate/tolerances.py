"""Every threshold of the certificate, with its reason."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

__all__ = ["TINY", "CertificateTolerances", "settings"]

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)


@attrs.frozen(kw_only=True)
class CertificateTolerances:
    """What a residual is relative to, and what is taken for rounding.

    Parameters
    ----------
    finest : float
        The tolerance at which a residual as large as rounding leaves it just passes.
    roundings : float
        Solving m equations together leaves this many times ``eps sqrt(m)`` of the terms of each.
    exact : float
        A point off its piece by no more than this has no area.
    near : float
        A response is beyond a wall, or the end of its branch, if it is by this fraction of its
        scale; on a knot if it is nearer.
    standing : float
        A response within this fraction of its scale is on a jump corner: no tighter than the
        engine's.
    level : float
        A jump whose height is this fraction of the slopes beside it is none.
    solved : float
        Solving the active system leaves this fraction of `finest` in an alpha that ought to be 0:
        the rounding of alphas that were larger before, times the condition of the system.
    balanced : float
        A border equation is relative to this fraction of its terms, so that one alpha in 1,000
        shows.
    part_of : float
        A response is relative to this fraction of itself and of its corner, where it is the sum of
        many.
    apart : float
        No allowance for u is more than this fraction of the distance between corners.
    travel : float
        t is found by a division and two sums of rounded numbers: this many more roundings than a
        corner.
    zero : float
        A t this small a part of its span is 0 to rounding.
    spanned : float
        Such a t is known to the rounding of this part of the span, times `travel`.
    brief : float
        A segment shorter than this fraction of the path is too brief to tell standing from
        leaving.
    long : float
        A coordinate that stands on a jump corner for less than this fraction of the path may be on
        its way to it.
    held : float
        A row of length 1 of which no more than this is left beside others is held by them.
    null_row : float
        A row of length 1 of which no more than this is left is in the span of others.
    about : float
        Of those on knots that take at least this fraction of the most, the one that has stayed
        longest is chosen to hold others.
    null : float
        A change v of alpha with v'Qv below this fraction of its terms is null to rounding.
    nothing : float
        A move of w below this fraction of its scale needs no explanation.
    rank : float
        Singular values of the border below this fraction of the largest are 0.
    """

    finest: float = 1e-8
    roundings: float = 16.0
    exact: float = 1e-15
    near: float = 1e-8
    standing: float = 1e-11
    level: float = 1e-12
    solved: float = 1e-4
    balanced: float = 1e-2
    part_of: float = 1e-2
    apart: float = 1e-3
    travel: float = 4.0
    zero: float = 64.0 * EPS
    spanned: float = 1.0 / 16.0
    brief: float = 1e-8
    long: float = 1e-3
    held: float = 1e-8
    null_row: float = 1e-12
    about: float = 0.01
    null: float = 1e-13
    nothing: float = 1e-12
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
