"""The proof of a path, from alpha and the data alone.

Nothing here reads the tracked state or the compiled tables of the engine: the response is
recomputed as ``Q alpha + B b``, the polylines are evaluated by calling the model with a plain
number, and losses are integrated along them by separate compiled loops.  (It shares with the
tracker only the options of Numba and the selection of the k-th smallest number, which is not
arithmetic.)

Every point ``(u_i, alpha_i)`` must lie on the piece that the path names.  Pieces move affinely and
a segment is linear in t, so a condition that holds at both ends of a segment holds all along it,
and only the two ends of every segment are checked (and its middle, if there are slanted pieces: see
`Places.with_middles`).

* `report`: `Check` and `Certificate`, the result;
* `lines`: the polylines at many t at once;
* `scales`: the scales of each coordinate;
* `polylines`, `loops`: one coordinate on its polyline, and all coordinates of a point, compiled;
* `along`: alpha and the pieces from place to place, compiled;
* `tolerances`: every threshold;
* `points`: alpha, b and everything recomputed at many places of a path;
* `holders`: which coordinates hold others on a jump corner;
* `stated`: the problem as its author states it (`LossModel.residuals`);
* `examination`: which places are checked, and the conditions between them.
"""

from homotopy.path.certificate.examination import certify, holds, proven_part
from homotopy.path.certificate.holders import held_at_end
from homotopy.path.certificate.report import Certificate, Check

__all__ = [
    "Certificate",
    "Check",
    "certify",
    "held_at_end",
    "holds",
    "proven_part",
]
