"""The proof of a path, from alpha and the data alone.

Nothing here reads the engine's tracked state or its compiled tables: the response is recomputed as
``Q alpha + B b``, the polylines are evaluated by calling the model with a plain number, and losses
are integrated along them by separate compiled loops.

Every point ``(u_i, alpha_i)`` must lie on the piece that the path names.  Pieces move affinely and
a segment is linear in t, so what holds at both ends of a segment holds all along it; only the
two ends of every segment are checked.

* `report`: `Check` and `Certificate`, what a reader gets;
* `lines`: the polylines at many t at once;
* `scales`: the scales of each coordinate;
* `polylines`, `loops`: one coordinate on its polyline, and all of them at one point, compiled;
* `along`: alpha and the pieces at one place after the other, compiled;
* `tolerances`: every threshold;
* `points`: alpha, b and everything recomputed at many places of a path;
* `holders`: which coordinates hold others on a jump corner;
* `stated`: the problem as its author states it, if the model says;
* `examination`: which places are looked at, and the conditions between them.
"""

from homotopy.path.certificate.examination import certify, examine, proven_part, proven_until
from homotopy.path.certificate.report import Certificate, Check

__all__ = ["Certificate", "Check", "certify", "examine", "proven_part", "proven_until"]
