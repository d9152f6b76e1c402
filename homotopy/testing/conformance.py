"""The conformance check of a plugin, ours or yours.

    from homotopy.testing import check_plugin

    def test_my_plugin():
        check_plugin(MyModel(X, y))

Give it a model of a small problem (tens of coordinates).  It compiles the model, traces it,
certifies the path and reads it in every way a user can.  A condition that fails raises an
`AssertionError` that says what failed, where, and by how much.
"""

from __future__ import annotations

import tempfile
from pathlib import Path as FilePath
from typing import Any

import attrs
import numpy as np

from homotopy.engine import Homotopy
from homotopy.errors import HomotopyError
from homotopy.gram import Gram
from homotopy.model import LossModel, Problem
from homotopy.model.polyline import Jump, Knot, Slope, Snapshot
from homotopy.path import Path
from homotopy.path.tolerances import PATH_TOLERANCES

# Operators and polylines are evaluated twice, by different arithmetic; they must agree this well.
AGREE = 1e-10


def check_plugin(
    model: LossModel, *, tol: float = PATH_TOLERANCES.proven, start: Any = None
) -> Path:
    """Check that `model` satisfies the contract of `LossModel`; return its path.

    Parameters
    ----------
    model : LossModel
        An instance on a small problem.
    tol : float
        The tolerance of the certificate and of every comparison of u and alpha, relative.
    start : Path or array (n,), optional
        Passed to `Homotopy.trace`; a model that is not convex at its start needs one.

    Raises
    ------
    AssertionError
        Names the first condition that fails.
    """
    name = type(model).__name__
    if not isinstance(model, LossModel):
        raise AssertionError(
            f"check_plugin takes an instance of a LossModel, got {model!r}; build the model first"
        )
    problem = _compile(model, name)
    _check_gram(problem.gram, name)
    path = _trace(model, start, name)
    _check_declaration(problem, path, name)
    _check_losses(problem, path, name)
    certificate = path.certify(tol)
    assert certificate.ok, f"{name}: the path is not certified\n{certificate}"
    _check_shape(path, name)
    for t in _probes(path):
        for side in ("before", "after"):
            _check_point(path, t, side, tol, name)
    _check_jumps(path, tol, name)
    _check_repeatable(path, start, name)
    _check_file(path, name)
    return path


# ---------------------------------------------------------------------- before the trace


def _compile(model: LossModel, name: str) -> Problem:
    try:
        return Problem.compile(model)
    except HomotopyError as error:
        raise AssertionError(f"{name}: the declaration does not compile: {error}") from error


def _check_gram(gram: Gram, name: str) -> None:
    """Check that all methods of the operator describe one symmetric semidefinite matrix."""
    rng = np.random.default_rng(0)
    some = np.unique(rng.integers(0, gram.size, 40))
    block = np.array(gram.block(some, some))
    size = float(np.abs(block).max()) or 1.0
    weights = rng.normal(size=some.size)
    alpha = np.zeros(gram.size)
    alpha[some] = weights
    product = np.array(gram.combine(some, weights))
    columns = np.stack([np.array(gram.column(int(i))) for i in some], axis=1)
    views = {
        "diag": (np.asarray(gram.diag)[some], np.diagonal(block)),
        "block is not symmetric: block(i, j)": (block, block.T),
        "column": (columns[some], block),
        "combine": (product, columns @ weights),
        "matvec": (np.array(gram.matvec(alpha)), product),
        "matmat": (np.array(gram.matmat(np.stack([alpha, -alpha], 1)))[:, 0], product),
    }
    for what, (given, expected) in views.items():
        assert given.shape == expected.shape, (
            f"{name}: gram.{what} has shape {given.shape}, expected {expected.shape}"
        )
        off = float(np.abs(given - expected).max())
        assert off <= AGREE * size * some.size, (
            f"{name}: gram.{what} disagrees with gram.block or gram.column by {off:.3g}"
        )
    lowest = float(np.linalg.eigvalsh(block)[0])
    if not gram.semidefinite:
        sizes = np.asarray(gram.sizes)
        good = sizes.shape == (gram.size,) and bool(np.all(sizes >= 0.0))
        assert good, f"{name}: gram.sizes must be {gram.size} numbers that are not negative"
        return
    assert lowest >= -1e-8 * size * some.size, (
        f"{name}: gram is not positive semidefinite; a block has the eigenvalue {lowest:.3g}"
    )


def _check_declaration(problem: Problem, path: Path, name: str) -> None:
    """Check that `polyline` gives the same values for a number t as for the symbolic t."""
    lines, n = problem.polylines, problem.gram.size
    start, stop = path.traced
    for t in (start, 0.5 * (start + stop), stop):
        snap = lines.at(t)
        pieces = tuple(problem.model.polyline(t))
        assert len(pieces) == len(lines.names), (
            f"{name}: polyline has {len(pieces)} pieces at {t:.6g} and {len(lines.names)} when "
            "called with a symbolic t"
        )
        for p, piece in enumerate(pieces):
            if isinstance(piece, Slope):
                given, table = piece.value, snap.slope[:, p // 2]
            else:
                assert isinstance(piece, Knot | Jump), f"{name}: polyline returned {piece!r}"
                given, table = piece.position, snap.corner[:, p // 2]
            value = np.broadcast_to(np.asarray(given, dtype=float), (n,))
            same = np.isclose(value, table, rtol=AGREE, atol=AGREE)
            assert np.all(same), (
                f"{name}: piece {p} of the polyline at {problem.model.parameter}={t:.6g} is "
                f"{value[~same][0]:.6g} for a number and {table[~same][0]:.6g} for a symbolic t; "
                "write polyline with plain arithmetic, affine in t"
            )


def _check_losses(problem: Problem, path: Path, name: str) -> None:
    """Check that no loss is negative with the declared origin, and that each is zero somewhere."""
    for t in (*path.traced, float(np.mean(path.traced))):
        snap = problem.polylines.at(t)
        place, exists = snap.lowest()
        if problem.model.loss_origin(t) is None:
            continue
        origin = problem.origin(t)
        for i in np.flatnonzero(exists).tolist():
            one = Snapshot(*(table[i : i + 1] for table in attrs.astuple(snap)))
            least = one.loss(place[i : i + 1], origin[i])
            size = max(1.0, float(np.abs(snap.slope[i][np.isfinite(snap.slope[i])]).max(initial=0)))
            assert abs(least) <= 1e-9 * size * max(1.0, abs(float(place[i] - origin[i]))), (
                f"{name}: with loss_origin={origin[i]:.6g} the loss of coordinate {i} at "
                f"{problem.model.parameter}={t:.6g} is {least:.6g} where it is least "
                f"(u={place[i]:.6g}), not 0; return the response at which it vanishes, or None"
            )


# ---------------------------------------------------------------------- the path


def _trace(model: LossModel, start: Any, name: str) -> Path:
    try:
        path = Homotopy(model).trace(start=start)
    except HomotopyError as error:
        raise AssertionError(f"{name}: the trace failed: {error}") from error
    assert path.complete, f"{name}: the trace did not complete: {path.ending}"
    return path


def _probes(path: Path) -> list[float]:
    """Choose some break-points, points between them, and the first jumps."""
    points = path.breakpoints
    chosen = points[np.unique(np.linspace(0, points.size - 1, 12).astype(int))]
    between = 0.5 * (chosen[1:] + chosen[:-1])
    return [*chosen.tolist(), *between.tolist(), *(j.t for j in path.jumps[:12])]


def _check_shape(path: Path, name: str) -> None:
    points = path.breakpoints
    start, stop = path.span
    assert points[0] == start, f"{name}: the path starts at {points[0]!r}, its span at {start!r}"
    assert points[-1] == stop, f"{name}: the path ends at {points[-1]!r}, its span at {stop!r}"
    ahead = np.diff(points) * (1.0 if stop >= start else -1.0)
    assert np.all(ahead > 0.0), f"{name}: break-points are not in order of travel"


def _check_point(path: Path, t: float, side: str, tol: float, name: str) -> None:
    """Check that alpha, response, intercept, objective and partition at (t, side) agree."""
    problem = path.problem
    n, m = problem.border.shape
    where = f"at {path.model.parameter}={t:.9g} ({side})"
    alpha, u = path.alpha(t, side), path.response(t, side)
    b = path.border_multipliers(t, side)
    for what, array, shape in (("alpha", alpha, (n,)), ("response", u, (n,)), ("b", b, (m,))):
        assert array.shape == shape, f"{name}: {what} {where} has shape {array.shape}"
        assert np.all(np.isfinite(array)), f"{name}: {what} {where} is not finite"
    again = problem.gram.matvec(alpha) + problem.border @ b
    scale = max(float(np.abs(u).max()), 1.0)
    off = float(np.abs(u - again).max())
    assert off <= tol * scale, f"{name}: response {where} is off Q alpha + B b by {off:.3g}"
    assert np.isfinite(path.objective(t, side)), f"{name}: the objective {where} is not finite"
    for what, read in (("solution", path.solution), ("intercept", path.intercept)):
        try:
            value = np.asarray(read(t, side), dtype=float)
        except (TypeError, ValueError) as error:
            raise AssertionError(f"{name}: {what} {where} fails: {error}") from error
        assert np.all(np.isfinite(value)), f"{name}: {what} {where} is not finite"

    parts = path.partition(t, side)
    count = np.zeros(n, dtype=int)
    for indices in parts.values():
        count[indices] += 1
    assert np.all(count == 1), (
        f"{name}: coordinate {int(np.argmax(count != 1))} {where} belongs to "
        f"{int(count[np.argmax(count != 1)])} pieces"
    )
    snap, names = problem.polylines.at(t), problem.polylines.names
    finite = np.abs(snap.slope[np.isfinite(snap.slope)])
    height = max(float(finite.max(initial=0.0)), float(np.abs(alpha).max())) or 1.0
    spread = np.maximum(float(np.abs(snap.corner[np.isfinite(snap.corner)]).max(initial=0.0)), 1.0)
    for p, piece in enumerate(names):
        if piece is None:
            continue
        i, j = parts[piece], p // 2
        if p % 2 == 0:
            low = snap.corner[i, j - 1] if j else np.full(i.size, -np.inf)
            high = snap.corner[i, j] if j < snap.corner.shape[1] else np.full(i.size, np.inf)
            gap = np.abs(alpha[i] - snap.slope_at(i, j, u[i])) / height
            outside = np.maximum(np.maximum(low - u[i], u[i] - high), 0.0) / np.maximum(
                spread, np.abs(u[i])
            )
            gap = np.maximum(gap, outside)
        else:
            gap = np.abs(u[i] - snap.corner[i, j]) / np.maximum(spread, np.abs(u[i]))
        assert np.all(gap <= tol), (
            f"{name}: coordinate {int(i[np.argmax(gap)])} {where} is counted to piece {piece!r} "
            f"but lies {float(gap.max()):.3g} off it"
        )


def _check_jumps(path: Path, tol: float, name: str) -> None:
    """Check both sides of every discontinuity against its record."""
    problem = path.problem
    first = {j.t: j for j in reversed(path.jumps)}
    last = {j.t: j for j in path.jumps}
    for t, jump in last.items():
        where = f"{name}: the jump at {path.model.parameter}={t:.9g}"
        before, after = path.objective(t, "before"), path.objective(t, "after")
        size = max(abs(before), abs(after), np.finfo(float).tiny)
        assert abs(before - first[t].objective_before) <= tol * size, (
            f"{where} records {first[t].objective_before:.12g} before, the path has {before:.12g}"
        )
        assert abs(after - jump.objective_after) <= tol * size, (
            f"{where} records {jump.objective_after:.12g} after, the path has {after:.12g}"
        )
        assert after <= before + tol * size, f"{where} raises the objective by {after - before:.3g}"
        flipped = np.asarray(jump.flipped)
        assert np.all((flipped >= 0) & (flipped < problem.gram.size)), (
            f"{where} flipped coordinates that do not exist: {flipped}"
        )
        moved = float(np.abs(path.response(t, "after") - path.response(t, "before")).max())
        scale = max(float(np.abs(path.response(t, "before")).max()), 1.0)
        if not any(j.moved for j in path.jumps if j.t == t):
            assert moved <= max(tol, 1e-8) * scale, (
                f"{where} is recorded as a relabelling but the response moves by {moved:.3g}"
            )
        if flipped.size:
            answer = np.asarray(path.model.flips(t, flipped, path.response(t, "before")))
            assert set(answer.tolist()) & set(flipped.tolist()) == set(answer.tolist()) != set(), (
                f"{name}: flips() must return some of the coordinates it is given, "
                f"got {answer} for {flipped}"
            )


def _check_repeatable(path: Path, start: Any, name: str) -> None:
    again = Homotopy(path.model).trace(start=start)
    assert np.array_equal(again.breakpoints, path.breakpoints), (
        f"{name}: a second trace of the same model has other break-points; polyline, gram and "
        "flips must not depend on earlier calls"
    )


def _check_file(path: Path, name: str) -> None:
    """Check that a saved path loads bit for bit."""
    with tempfile.TemporaryDirectory() as folder:
        file = FilePath(folder) / "path.npz"
        path.save(file)
        back = Path.load(file, path.model)
    assert np.array_equal(back.breakpoints, path.breakpoints), f"{name}: break-points changed"
    for t in _probes(path):
        for side in ("before", "after"):
            assert np.array_equal(back.alpha(t, side), path.alpha(t, side)), (
                f"{name}: alpha at {path.model.parameter}={t:.9g} changed in the file"
            )
    for old, new in zip(path.jumps, back.jumps, strict=True):
        same = old.t == new.t and np.array_equal(old.flipped, new.flipped)
        assert same, f"{name}: the jump at {old.t:.9g} changed in the file"
