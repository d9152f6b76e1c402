"""The result: a path, how it is stored, and its proof."""

from homotopy.path.certificate import Certificate, Check
from homotopy.path.jump_record import JumpRecord
from homotopy.path.path import Path, Status
from homotopy.path.segments import Segments

__all__ = ["Certificate", "Check", "JumpRecord", "Path", "Segments", "Status"]
