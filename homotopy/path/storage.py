"""A path in a file, and the mark by which a model is known again."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile

import attrs
import numpy as np

from homotopy.errors import PathError
from homotopy.model import LossModel, Problem
from homotopy.path.jump_record import JumpRecord
from homotopy.path.path import Path, Status
from homotopy.path.segments import Segments

__all__ = ["fingerprint", "load", "save"]

FORMAT = 1

_JUMP_ARRAYS = ("t", "before", "after", "rounds", "moved", "steps", "solver", "offset", "flipped")
_ARRAYS = tuple(a.name for a in attrs.fields(Segments)) + tuple(f"jump_{a}" for a in _JUMP_ARRAYS)


def save(path: Path, file: str | os.PathLike[str]) -> None:
    """Write the path (not the data) to an ``.npz`` file; `load` restores it exactly."""
    header = {
        "format": FORMAT,
        "model": type(path.model).__name__,
        "parameter": path.model.parameter,
        "status": path.status.name,
        "span": [v.hex() for v in path.span],
        "counts": path.counts,
        "fingerprint": fingerprint(path.problem),
    }
    arrays = {a.name: getattr(path.segments, a.name) for a in attrs.fields(Segments)}
    jumps = path.jumps
    arrays |= {
        "jump_t": np.array([j.t for j in jumps]),
        "jump_before": np.array([j.objective_before for j in jumps]),
        "jump_after": np.array([j.objective_after for j in jumps]),
        "jump_rounds": np.array([j.rounds for j in jumps], dtype=np.int64),
        "jump_moved": np.array([j.moved for j in jumps], dtype=bool),
        "jump_steps": np.array([j.steps for j in jumps], dtype=np.int64),
        "jump_solver": np.array([j.solver for j in jumps], dtype="U16"),
        "jump_offset": np.cumsum([0] + [j.flipped.size for j in jumps]),
        "jump_flipped": np.concatenate([j.flipped for j in jumps] or [np.empty(0, dtype=np.int64)]),
    }
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(file, "wb") as stream:
        np.savez_compressed(stream, header=text, **arrays)


def load(kind: type[Path], file: str | os.PathLike[str], model: LossModel) -> Path:
    """Read a path of class `kind` saved by `save`; `model` must be the one that was traced."""
    try:
        with zipfile.ZipFile(file):
            pass  # np.load would take a bare array or try to unpickle
        with np.load(file, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
        header = json.loads(data.pop("header").tobytes().decode())
    except FileNotFoundError:
        raise PathError(f"{os.fspath(file)}: no such file") from None
    except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise PathError(f"{os.fspath(file)}: not a saved path ({error})") from None
    if header.get("format") != FORMAT:
        raise PathError(
            f"{os.fspath(file)}: format {header.get('format')!r}; this version reads {FORMAT}"
        )
    missing = sorted(set(_ARRAYS) - set(data))
    if missing:
        raise PathError(f"{os.fspath(file)}: not a whole saved path, {missing[0]!r} is missing")
    problem = Problem.compile(model)
    if header["fingerprint"] != fingerprint(problem):
        raise PathError(
            f"{os.fspath(file)} was traced with another model or other data "
            f"({header['model']}); build the model exactly as it was when the path was saved"
        )
    offset = data["jump_offset"]
    jumps = tuple(
        JumpRecord(
            t=float(data["jump_t"][k]),
            flipped=data["jump_flipped"][offset[k] : offset[k + 1]],
            objective_before=float(data["jump_before"][k]),
            objective_after=float(data["jump_after"][k]),
            rounds=int(data["jump_rounds"][k]),
            moved=bool(data["jump_moved"][k]),
            steps=int(data["jump_steps"][k]),
            solver=str(data["jump_solver"][k]),
        )
        for k in range(data["jump_t"].size)
    )
    start, stop = (float.fromhex(v) for v in header["span"])
    return kind(
        model=model,
        segments=Segments(**{a.name: data[a.name] for a in attrs.fields(Segments)}),
        jumps=jumps,
        status=Status[header["status"]],
        span=(start, stop),
        counts=header["counts"],
        problem=problem,
    )


def fingerprint(problem: Problem) -> str:
    """A digest of everything that determines the path: polylines, border, diagonal and probe
    products of Q."""
    digest = hashlib.sha256()
    lines = problem.polylines
    tables = (lines.slope0, lines.slope1, lines.corner0, lines.corner1, lines.curvature)
    for array in (*tables, problem.border, problem.target0, problem.target1, problem.gram.diag):
        digest.update(np.ascontiguousarray(array).tobytes())
    # A product of Q with a fixed vector tells data apart; rounding differs between machines.
    probe = np.cos(np.arange(problem.gram.size, dtype=float))
    product = problem.gram.matvec(probe)
    digest.update(np.array([f"{v:.6e}" for v in product[:: max(1, product.size // 64)]]).tobytes())
    digest.update(problem.model.parameter.encode())
    return digest.hexdigest()
