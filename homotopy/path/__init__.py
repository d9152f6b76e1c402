"""The result of a trace: the path, its files and its proof."""

from homotopy.path.certificate import Certificate, Check
from homotopy.path.jump_record import JumpRecord
from homotopy.path.path import Path, Status
from homotopy.path.reading import Change, Segment
from homotopy.path.segments import Segments
from homotopy.path.zeros import Zero

__all__ = [
    "Certificate",
    "Change",
    "Check",
    "JumpRecord",
    "Path",
    "Segment",
    "Segments",
    "Status",
    "Zero",
]
