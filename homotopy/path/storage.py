"""Paths in files: what is stored, and what is checked when a file is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy.arrays import Index
from homotopy.errors import PathError
from homotopy.model import LossModel, Problem
from homotopy.model.polyline import is_free
from homotopy.path.files import Archive, FileName, name_of, packed, refusing, replace_file
from homotopy.path.fingerprint import Fingerprint
from homotopy.path.jump_record import METHODS, JumpRecord
from homotopy.path.path import Path, Status
from homotopy.path.segments import GROUPS, Segments

__all__ = [
    "BYTE",
    "CHECKPOINT",
    "REAL",
    "WHOLE",
    "load",
    "members_of",
    "read_fingerprint",
    "read_header",
    "read_path",
    "read_recipe",
    "save",
    "written",
]


NONE: Index = np.empty(0, dtype=np.int64)
FORMAT = 2
# The format of an unfinished trace (see `homotopy.checkpoint`).
CHECKPOINT = "checkpoint 2"
# Most bytes of a header; ours have a few hundred.
HEADER = 1 << 16
# The member that says how the model was made, if saved with the path, and its most bytes.
RECIPE, MOST_RECIPE = "recipe", 1 << 26
REAL, WHOLE, BYTE = "<f8", "<i8", "|u1"


# The type in which an attribute is stored, by its annotation.
_STORED = {
    **dict.fromkeys(("Array", "float"), REAL),
    **dict.fromkeys(("Index", "int", "bool", "str"), WHOLE),
}


def _kinds(record: type[attrs.AttrsInstance]) -> dict[str, str]:
    """Return the type in which each attribute is stored."""
    return {one.name: _STORED[str(one.type)] for one in attrs.fields(record)}


_SEGMENTS = _kinds(Segments)
# Members with one number for each jump: the attribute of its record.
_PER_JUMP = {
    "jump_t": "t",
    "jump_before": "objective_before",
    "jump_after": "objective_after",
    "jump_rounds": "rounds",
    "jump_moved": "moved",
    "jump_steps": "steps",
    "jump_solver": "solver",
}
_JUMPS = {member: _kinds(JumpRecord)[name] for member, name in _PER_JUMP.items()}
_ARRAYS = _SEGMENTS | _JUMPS | {"jump_offset": WHOLE, "jump_flipped": WHOLE, "products": REAL}
# The fields of the header.
_OF_PATH = {"format", "model", "parameter", "status", "span", "counts", "fingerprint"}
# In the header if a limit stopped the trace.
_LIMIT = "limit"


def save(path: Path, file: FileName, recipe: Mapping[str, Any] | None = None) -> None:
    """Write the path (not the data) to an ``.npz`` file; `load` restores it exactly.

    A `recipe` is stored with it as JSON: how the model was made, for `read_recipe`.  It has no
    influence on the path.
    """
    members = members_of(path, Fingerprint.of(path.problem))
    if recipe is not None:
        members[RECIPE] = written(recipe)
    replace_file(file, packed(members))


def read_recipe(file: FileName) -> dict[str, Any] | None:
    """Return the recipe stored with a path, or None; its content is not checked."""
    with refusing(file), Archive(file) as archive:
        _read_header(archive, file)
        if RECIPE not in archive.names:
            return None
        text = archive.read(RECIPE, BYTE, MOST_RECIPE).tobytes().decode()
        recipe: dict[str, Any] = json.loads(text)
        _require(isinstance(recipe, dict), "the recipe is not a JSON object")
        return recipe


def members_of(path: Path, mark: Fingerprint) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays to store for a path of the model with the fingerprint `mark`."""
    header = {
        "format": FORMAT,
        "model": type(path.model).__name__,
        "parameter": path.model.parameter,
        "status": path.status.name,
        "span": [v.hex() for v in path.span],
        "counts": path.counts,
        "fingerprint": mark.digest,
    }
    if path.status is Status.LIMIT and path.limit is not None:
        header[_LIMIT] = path.limit
    arrays: dict[str, Any] = {name: getattr(path.segments, name) for name in _SEGMENTS}
    flips = [jump.flipped for jump in path.jumps]
    arrays |= {"jump_offset": np.cumsum([0] + [one.size for one in flips])}
    arrays |= {"jump_flipped": np.concatenate([NONE, *flips]), "products": mark.products}
    records = [_numbers_of(jump) for jump in path.jumps]
    arrays |= {member: [one[name] for one in records] for member, name in _PER_JUMP.items()}
    return {"header": written(header)} | {
        name: np.ascontiguousarray(arrays[name], dtype=_ARRAYS[name]) for name in _ARRAYS
    }


def _numbers_of(jump: JumpRecord) -> dict[str, Any]:
    """Return the attributes of a jump by name, its method as a number."""
    return attrs.asdict(jump, recurse=False) | {"solver": METHODS.index(jump.solver)}


def written(header: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """Return a header as a member of the archive."""
    return np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)


def load(kind: type[Path], file: FileName, model: LossModel) -> Path:
    """Read a path of class `kind` saved by `save`; `model` must be the one that was traced."""
    with refusing(file):
        archive = Archive(file)
    with archive:
        return read_path(kind, archive, file, model)


def read_path(kind: type[Path], archive: Archive, file: FileName, model: LossModel) -> Path:
    """Read the path in an archive, which is `file` or a part of it."""
    problem = Problem.compile(model)
    with refusing(file):
        header = _read_header(archive, file)
        shapes = {name: archive.shape(name, kind) for name, kind in _ARRAYS.items()}
        mark = read_fingerprint(archive, header, problem)
    if not mark.fits(problem):
        raise PathError(
            f"{name_of(file)} was traced with another model or other data "
            f"({header['model']}); build the model exactly as it was when the path was saved"
        )
    with refusing(file):
        _check_shapes(shapes, problem)
        arrays = {name: archive.read(name, kind) for name, kind in _ARRAYS.items()}
        span, status = _span(header, problem), Status[header["status"]]
        _check_travel(arrays, span, status)
        _check_partition(arrays, problem)
        _check_jumps(arrays, span, problem)
        counts = _counts(header["counts"])
        _require(
            _LIMIT not in header or status is Status.LIMIT,
            "a limit, but no limit stopped the trace",
        )
    return kind(
        model=model,
        segments=Segments(**{name: arrays[name] for name in _SEGMENTS}),
        jumps=_jump_records(arrays),
        status=status,
        span=span,
        counts=counts,
        problem=problem,
        limit=header.get(_LIMIT),
    )


def _jump_records(data: Mapping[str, Any]) -> tuple[JumpRecord, ...]:
    offset, columns = data["jump_offset"], [data[member].tolist() for member in _PER_JUMP]
    records = []
    for k, numbers in enumerate(zip(*columns, strict=True)):
        found = dict(zip(_PER_JUMP.values(), numbers, strict=True))
        found |= {"moved": bool(found["moved"]), "solver": METHODS[found["solver"]]}
        flipped = data["jump_flipped"][offset[k] : offset[k + 1]]
        records.append(JumpRecord(flipped=flipped, **found))
    return tuple(records)


# ---------------------------------------------------------------------- the header


def read_header(archive: Archive) -> dict[str, Any]:
    """Read the header of one of our files, of any format."""
    shape = archive.shape("header", BYTE)
    _require(len(shape) == 1, "the header is not text")
    header: dict[str, Any] = json.loads(archive.read("header", BYTE, HEADER).tobytes().decode())
    _require(isinstance(header, dict), "the header is not a JSON object")
    return header


def _read_header(archive: Archive, file: FileName) -> dict[str, Any]:
    header = read_header(archive)
    if header.get("format") == CHECKPOINT:
        raise PathError(
            f"{name_of(file)} is a checkpoint, not a path; Homotopy(model).resume(file) continues "
            "the trace"
        )
    if header.get("format") != FORMAT:
        raise PathError(
            f"{name_of(file)}: format {header.get('format')!r}; this version reads {FORMAT}. "
            "Trace the model again, or read the file with the version that wrote it"
        )
    _require(
        set(header) - {_LIMIT} == _OF_PATH, f"the header must have {', '.join(sorted(_OF_PATH))}"
    )
    for name in ("model", "parameter", "status", "fingerprint", _LIMIT):
        _require(
            isinstance(header.get(name, ""), str),
            f"{name} must be a string, got {header.get(name)!r}",
        )
    _require(header["status"] in Status.__members__, f"unknown status {header['status']!r}")
    strange = sorted(archive.names - set(_ARRAYS) - {"header", RECIPE})
    first = ", ".join(strange[:1])
    _require(not strange, f"it contains {first!r}, which is not part of a saved path")
    return header


def read_fingerprint(archive: Archive, header: Mapping[str, Any], problem: Problem) -> Fingerprint:
    """Read the fingerprint; if its size differs from the model's, it cannot match."""
    n = problem.gram.size
    fits = archive.shape("products", REAL) == (n,)
    products = archive.read("products", REAL, n) if fits else np.empty(0)
    return Fingerprint(header["fingerprint"], products)


def _span(header: Mapping[str, Any], problem: Problem) -> tuple[float, float]:
    given = header["span"]
    _require(
        isinstance(given, list) and len(given) == 2 and all(isinstance(v, str) for v in given),
        f"span must be two numbers, got {given!r}",
    )
    start, stop = (float.fromhex(v) for v in given)
    _require(bool(np.isfinite(start) and np.isfinite(stop)), "span is not finite")
    if np.isfinite(problem.start):
        _require((start, stop) == (problem.start, problem.stop), "span is not that of the model")
    else:
        inward = 1.0 if problem.start < 0.0 else -1.0
        _require(inward * (stop - start) >= 0.0, "span runs the wrong way")
    return start, stop


def _counts(counts: Any) -> dict[str, int]:
    _require(isinstance(counts, dict), f"counts must be a JSON object, got {counts!r}")
    for name, count in counts.items():
        whole = isinstance(count, int) and not isinstance(count, bool)
        _require(whole and 0 <= count < 2**63, f"counts: {name} is {count!r}")
    return dict(counts)


def _require(true: bool, complaint: str) -> None:
    if not true:
        raise ValueError(complaint)


# ---------------------------------------------------------------------- the arrays


def _check_shapes(shapes: Mapping[str, tuple[int, ...]], problem: Problem) -> None:
    """Refuse sizes that contradict each other or the model, before any array is allocated.

    On each segment a coordinate is active at most once and changes its piece at most once, and
    at each jump it flips at most once.
    """
    n, m = problem.border.shape
    segments, entries, changes, jumps, flips = (
        shapes[name][0] if shapes[name] else 0
        for name in ("start", "active", "changed", "jump_t", "jump_flipped")
    )
    lengths = (segments,), (segments + 1,), (entries,), (changes,)
    wanted: dict[str, tuple[int, ...]] = {
        name: length for names, length in zip(GROUPS, lengths, strict=True) for name in names
    }
    wanted |= {"b_start": (segments, m), "b_stop": (segments, m), "first_piece": (n,)}
    wanted |= dict.fromkeys(_PER_JUMP, (jumps,))
    wanted |= {"jump_offset": (jumps + 1,), "jump_flipped": (flips,)}
    for name, expected in wanted.items():
        _require(
            shapes[name] == expected, f"{name!r} has shape {shapes[name]}, expected {expected}"
        )
    _require(shapes["products"] in ((0,), (n,)), f"'products' has shape {shapes['products']}")
    _require(segments > 0, "there are no segments")
    for name, count, places in (
        ("active", entries, segments),
        ("changed", changes, segments),
        ("jump_flipped", flips, jumps),
    ):
        _require(count <= n * places, f"{name!r} has {count} entries, more than {n} x {places}")


def _check_travel(data: Mapping[str, Any], span: tuple[float, float], status: Status) -> None:
    """Check that segments follow each other along the span and that all numbers are finite."""
    for name, kind in _ARRAYS.items():
        if kind == REAL:
            _require(bool(np.all(np.isfinite(data[name]))), f"{name!r} is not finite")
    start, stop = data["start"], data["stop"]
    sign = 1.0 if span[1] >= span[0] else -1.0
    _require(start[0] == span[0], "the path does not begin where its span does")
    _require(bool(np.all(start[1:] == stop[:-1])), "the segments do not follow each other")
    _require(bool(np.all(sign * (stop - start) >= 0.0)), "the segments are not in order")
    _require(sign * stop[-1] <= sign * span[1], "the path goes beyond its span")
    whole = status is Status.COMPLETE
    _require(not whole or stop[-1] == span[1], "the path is complete but ends before its span")


def _check_partition(data: Mapping[str, Any], problem: Problem) -> None:
    """Check indices, and that exactly the coordinates on steep or slanted pieces are active."""
    lines, n = problem.polylines, problem.gram.size
    pieces, count = 2 * lines.corner0.shape[1] + 1, data["start"].size
    _check_range(data, "active", n)
    _check_range(data, "changed", n)
    _check_range(data, "changed_to", pieces)
    _check_range(data, "first_piece", pieces)
    owner = _owners(data, "offset", "active")
    turn = _owners(data, "event", "changed")
    # Every piece of each coordinate and the segment it begins at: first pieces, then the changes.
    since = np.concatenate([np.zeros(n, dtype=np.int64), turn + 1])
    who = np.concatenate([np.arange(n), data["changed"]])
    piece = np.concatenate([data["first_piece"], data["changed_to"]])
    order = np.lexsort((since, who))
    since, who, piece = since[order], who[order], piece[order]
    again = (who[1:] == who[:-1]) & (since[1:] == since[:-1])
    _require(not np.any(again), "'changed' names a coordinate twice")
    free = is_free(lines.curvature, who, piece)
    finite = np.isfinite(lines.slope0[who, piece // 2])
    _require(bool(np.all(free | finite)), "a coordinate lies on a slope of infinite height")
    # Active coordinates must be on pieces where alpha is free, and equal their number.
    key = who * (count + 1) + since
    wanted = data["active"] * (count + 1) + owner + 1
    _require(not np.any(np.diff(np.sort(wanted)) == 0), "'active' names a coordinate twice")
    there = np.searchsorted(key, wanted, side="right") - 1
    _require(bool(np.all(free[there])), "an active coordinate lies on a flat piece")
    before = np.concatenate([[False], (who[1:] == who[:-1]) & free[:-1]])
    change = free.astype(np.int64) - before
    number = np.cumsum(np.bincount(since, weights=change, minlength=count + 1))[1:]
    _require(
        bool(np.all(number == np.diff(data["offset"]))), "a coordinate on a knot is not active"
    )


def _check_jumps(data: Mapping[str, Any], span: tuple[float, float], problem: Problem) -> None:
    sign = 1.0 if span[1] >= span[0] else -1.0
    t, ends = data["jump_t"], (data["start"][0], data["stop"][-1])
    _require(bool(np.all(sign * np.diff(t) >= 0.0)), "the jumps are not in order")
    inside = (sign * t >= sign * ends[0]) & (sign * t <= sign * ends[1])
    _require(bool(np.all(inside)), "a jump lies outside of the path")
    _check_range(data, "jump_flipped", problem.gram.size)
    _check_range(data, "jump_moved", 2)
    _check_range(data, "jump_solver", len(METHODS))
    for name in ("jump_rounds", "jump_steps"):
        _check_range(data, name, 2**62)
    owner, flipped = _owners(data, "jump_offset", "jump_flipped"), data["jump_flipped"]
    rises = (np.diff(flipped) > 0) | (owner[1:] != owner[:-1])
    _require(bool(np.all(rises)), "'jump_flipped' is not in order")


def _check_range(data: Mapping[str, Any], name: str, end: int) -> None:
    bad = np.flatnonzero((data[name] < 0) | (data[name] >= end))
    if bad.size:
        raise ValueError(f"{name!r} holds {data[name][bad[0]]}, which is not in 0 .. {end - 1}")


def _owners(data: Mapping[str, Any], offsets: str, entries: str) -> Index:
    """Return which segment or jump each entry belongs to."""
    offset = data[offsets]
    ordered = offset[0] == 0 and bool(np.all(offset[1:] >= offset[:-1]))
    _require(ordered and offset[-1] == data[entries].size, f"{offsets!r} is not in order")
    return np.repeat(np.arange(offset.size - 1), np.diff(offset))
