"""Atomic replacement of files, and arrays read from files that may be damaged.

A file is written beside the one it replaces, flushed to disk and renamed: if the process or the
machine stops at any time, either the old file or the new one is there.

A file is a zip archive of ``.npy`` members.  Reading trusts nothing: every member must have an
expected name, type and size, sizes are compared with what the file can contain before memory is
allocated, and nothing in it is executed (no pickle, no Python literals).
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from homotopy.errors import PathError

__all__ = [
    "Archive",
    "FileName",
    "ensure_writable",
    "name_of",
    "packed",
    "refusing",
    "replace_file",
]

FileName = str | os.PathLike[str]
Shape = tuple[int, ...]

# One byte of a deflated stream expands to at most this many bytes.
DEFLATE = 1032
# Bytes read from an archive at a time.
CHUNK = 1 << 20
# Longest header of a ``.npy`` member; ours have 128 bytes.
HEAD = 1024
_HEAD = re.compile(
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\),? *\} *\n"
)


def name_of(file: FileName) -> str:
    """Return the name of a file for messages."""
    return os.fsdecode(file)


# ---------------------------------------------------------------------- writing


def packed(arrays: Mapping[str, npt.NDArray[Any]], *, deflated: bool = True) -> memoryview:
    """Return the arrays as an archive; equal arrays give equal bytes."""
    out = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    return out.getbuffer()


def replace_file(file: FileName, content: bytes | memoryview) -> None:
    """Replace the content of `file` atomically.

    An existing file keeps its permissions, and a link stays a link.  A process killed meanwhile may
    leave ``.<name>.<letters>.tmp`` beside the file.
    """
    name = name_of(file)
    target, beside, old = _places(file)
    try:
        with open(beside, "xb") as stream:
            if old is not None:
                _take_after(stream.fileno(), old)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, target)
        _sync_folder(os.path.dirname(target))
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError):
            kept = "nothing was written" if old is None else "the old file is unchanged"
            raise PathError(f"{name}: cannot be written ({_said(error)}); {kept}") from error
        raise


def ensure_writable(file: FileName) -> None:
    """Refuse a name that `replace_file` could not write to; leave nothing behind."""
    _, beside, _ = _places(file)
    try:
        with open(beside, "xb"):
            pass
        os.unlink(beside)
    except OSError as error:
        raise PathError(f"{name_of(file)}: cannot be written ({_said(error)})") from error


def _places(file: FileName) -> tuple[str, str, os.stat_result | None]:
    """Return the target, a temporary name beside it, and the status of an existing file."""
    name = name_of(file)
    target = os.path.realpath(name)
    folder, last = os.path.split(target)
    old = _replaceable(target, folder, name)
    return target, os.path.join(folder, f".{last[:40]}.{secrets.token_hex(8)}.tmp"), old


def _replaceable(target: str, folder: str, name: str) -> os.stat_result | None:
    """Return the status of the file to be replaced, or None; refuse anything but a plain file."""
    if not os.path.isdir(folder):
        raise PathError(f"{name}: there is no folder {folder}; make it first")
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PathError(f"{name}: cannot be written ({_said(error)})") from error
    if stat.S_ISDIR(old.st_mode):
        raise PathError(f"{name}: is a folder; give the name of a file in it")
    if not stat.S_ISREG(old.st_mode):
        raise PathError(f"{name}: is not an ordinary file; give another name")
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PathError(f"{name}: is write-protected; allow writing or give another name")
    return old


def _take_after(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner and the permissions of another, as far as that is allowed."""
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: str) -> None:
    """Flush the new name to disk; if the folder cannot be opened, leave that to the system."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# ---------------------------------------------------------------------- reading


@contextlib.contextmanager
def refusing(file: FileName, what: str = "a saved path") -> Iterator[None]:
    """Turn any error inside into a `PathError` saying that `file` is not `what`.

    Damaged zip archives, deflated streams and JSON raise errors of many types (zlib.error,
    struct.error, NotImplementedError, RecursionError, MemoryError, ...), so all are caught.
    """
    try:
        yield
    except PathError:
        raise
    except FileNotFoundError:
        raise PathError(f"{name_of(file)}: no such file") from None
    except Exception as error:
        raise PathError(f"{name_of(file)}: not {what} ({_said(error)})") from None


def _said(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text or type(error).__name__


class Archive:
    """The members of an archive, each checked and read on demand.

    Its methods may raise any error; see `refusing`.
    """

    def __init__(self, file: FileName) -> None:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ValueError("not an ordinary file")
        self._zip = zipfile.ZipFile(file)
        try:
            self._members = self._checked_members(os.stat(file).st_size)
        except BaseException:
            self._zip.close()
            raise

    def _checked_members(self, size: int) -> dict[str, zipfile.ZipInfo]:
        members: dict[str, zipfile.ZipInfo] = {}
        left = size
        for info in self._zip.infolist():
            name, ending = os.path.splitext(info.filename)
            if ending != ".npy" or name in members:
                raise ValueError(f"it holds {info.filename[:80]!r}, an unexpected member")
            # Members do not share bytes of the file, and a byte expands only so far.
            left -= info.compress_size
            most = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: DEFLATE}.get(info.compress_type, 0)
            if left < 0 or info.file_size > most * info.compress_size:
                raise ValueError(
                    f"{name!r} claims {info.file_size} bytes, more than its data can expand to"
                )
            members[name] = info
        return members

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    @property
    def names(self) -> frozenset[str]:
        """The names of the members."""
        return frozenset(self._members)

    def part(self, prefix: str) -> Archive:
        """Return the members whose names begin with `prefix`, with the prefix removed."""
        part = copy.copy(self)
        part._members = {
            name.removeprefix(prefix): member
            for name, member in self._members.items()
            if name.startswith(prefix)
        }
        return part

    def shape(self, name: str, kind: str) -> Shape:
        """Return the shape of a member of type `kind` (e.g. "<f8") without reading its data."""
        if name not in self._members:
            raise ValueError(f"{name!r} is missing")
        with self._zip.open(self._members[name]) as stream:
            return self._head(name, kind, stream)

    def kind(self, name: str) -> str:
        """Return the type of the numbers of a member (e.g. "<f8")."""
        with self._zip.open(self._members[name]) as stream:
            return self._any_head(name, stream)[0]

    def _head(self, name: str, kind: str, stream: Any) -> Shape:
        found, shape = self._any_head(name, stream)
        if found != kind:
            raise ValueError(f"{name!r} has numbers of type {found}, not {kind}")
        return shape

    def _any_head(self, name: str, stream: Any) -> tuple[str, Shape]:
        magic = stream.read(10)
        length = int.from_bytes(magic[8:], "little")
        found = None
        if magic[:8] == b"\x93NUMPY\x01\x00" and len(magic) == 10 and length <= HEAD:
            found = _HEAD.fullmatch(stream.read(length))
        if found is None:
            raise ValueError(f"{name!r} is not an array")
        kind = found[1].decode()
        shape = tuple(int(k) for k in found[2].replace(b" ", b"").split(b",") if k)
        held = self._members[name].file_size - 10 - length
        # (Python integers do not overflow.)
        if math.prod(shape) * np.dtype(kind).itemsize != held:
            raise ValueError(f"{name!r} has shape {shape} and {held} bytes")
        return kind, shape

    def read(self, name: str, kind: str, most: int | None = None) -> npt.NDArray[Any]:
        """Read a member as an array in native byte order, of at most `most` entries."""
        with self._zip.open(self._members[name]) as stream:
            shape = self._head(name, kind, stream)
            if most is not None and math.prod(shape) > most:
                raise ValueError(f"{name!r} has {math.prod(shape)} entries, more than {most}")
            array = np.empty(shape, dtype=kind)
            view = array.reshape(-1).view(np.uint8)
            for k in range(0, view.size, CHUNK):
                part = view[k : k + CHUNK]
                data = stream.read(part.size)
                if len(data) != part.size:
                    raise ValueError(f"{name!r} ends early")
                part[:] = np.frombuffer(data, dtype=np.uint8)
            # Reading past the end also makes zipfile verify the checksum.
            if stream.read(1):
                raise ValueError(f"{name!r} does not end where it should")
        return array.astype(array.dtype.newbyteorder("="), copy=False)
