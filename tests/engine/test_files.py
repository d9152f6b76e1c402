"""Files: whole or as they were, known again by every input, and refused when spoiled."""

from __future__ import annotations

import io
import json
import os
import random
import stat
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
import zlib
from pathlib import Path as FilePath

import numpy as np
import pytest
import scipy.sparse as sp
from problems import case
from toys import Toy

from homotopy import (
    DenseGram,
    Gram,
    Homotopy,
    KernelGram,
    Knot,
    LinearGram,
    Path,
    PathError,
    Slope,
    Status,
)
from homotopy.model import Problem
from homotopy.path.files import Archive, replace_file
from homotopy.path.fingerprint import Fingerprint
from homotopy.path.segments import Segments
from homotopy_plugins import HingeRamp

PROBLEM = case("hinge", 18, 8, data="integer", kernel="linear", C=5.0, intercept=True)


@pytest.fixture(scope="module")
def path():
    path = PROBLEM.trace()
    assert path.jumps
    return path


def same(old: Path, new: Path) -> bool:
    """Whether two paths are equal, bit for bit."""
    arrays = [field.name for field in Segments.__attrs_attrs__]
    jumps = ("t", "objective_before", "objective_after", "rounds", "moved", "steps", "solver")
    return (
        (new.status, new.span, new.counts) == (old.status, old.span, old.counts)
        and len(new.jumps) == len(old.jumps)
        and all(np.array_equal(getattr(new.segments, a), getattr(old.segments, a)) for a in arrays)
        and all(
            np.array_equal(a.flipped, b.flipped)
            and all(getattr(a, name) == getattr(b, name) for name in jumps)
            for a, b in zip(old.jumps, new.jumps, strict=True)
        )
    )


# ---------------------------------------------------------------------- whole or as it was


SAVING = """
import os, random, signal, sys, time
from problems import case
from homotopy import Path
from test_files import PROBLEM, same

file, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
paths = [PROBLEM.trace(max_breakpoints=5), PROBLEM.trace()]
random.seed(seed)
seen, parent = [0, 0], os.getpid()
paths[0].save(file)
for _ in range(kills):
    begun, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(told, b".")
        k = 0
        while os.getppid() == parent:
            k += 1
            paths[k % 2].save(file)
        os._exit(1)
    os.read(begun, 1)
    time.sleep(random.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(begun), os.close(told)
    back = Path.load(file, PROBLEM.model())
    seen[back.complete] += 1
    assert same(paths[back.complete], back)
print(*seen)
"""


def run_python(script: str, *arguments: str, timeout: float = 600.0) -> str:
    here = FilePath(__file__).parent
    folders = [str(here), str(here.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes it has forked")
@pytest.mark.parametrize(
    ("kills", "seed"), [(50, 1), pytest.param(1000, 2, marks=pytest.mark.slow)]
)
def test_a_process_killed_while_it_saves_loses_no_file(tmp_path, kills, seed):
    seen = run_python(SAVING, str(tmp_path / "path.npz"), str(kills), str(seed)).split()
    assert sum(map(int, seen)) == kills
    # Both files were met, and some of the kills hit a file half written.
    assert min(map(int, seen)) > 0
    assert list(tmp_path.glob(".path.npz.*.tmp"))


FULL = """
import resource, signal, sys
from homotopy import PathError
from test_files import PROBLEM

path = PROBLEM.trace()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    path.save(sys.argv[1])
except PathError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files")
@pytest.mark.parametrize("room", [0, 1000])
def test_a_full_disk_leaves_the_old_file(path, tmp_path, room):
    file = tmp_path / "path.npz"
    path.save(file)
    before = file.read_bytes()
    assert len(before) > room
    said = run_python(FULL, str(file), str(room))
    assert "path.npz: cannot be written (File too large); the old file is unchanged" in said
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["path.npz"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_behind_by_a_save_that_fails(path, tmp_path, monkeypatch, step, error):
    file = tmp_path / "path.npz"
    path.save(file)
    before = file.read_bytes()

    def fails(*_arguments: object) -> None:
        raise error

    class Stream(io.FileIO):
        write = fails  # type: ignore[assignment]

    with monkeypatch.context() as patched:
        if step == "write":
            patched.setattr("builtins.open", lambda name, mode: Stream(name, mode))
        else:
            patched.setattr(os, step, fails)
        with pytest.raises(
            KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else PathError
        ):
            path.save(file)
    assert file.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["path.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_permissions_are_those_of_the_old_file_or_of_the_umask(path, tmp_path):
    file = tmp_path / "path.npz"
    umask = os.umask(0o027)
    try:
        path.save(file)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o604)
    path.save(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o604
    assert same(path, Path.load(file, PROBLEM.model()))


def test_a_link_stays_a_link(path, tmp_path):
    (tmp_path / "far").mkdir()
    link = tmp_path / "link.npz"
    try:
        link.symlink_to(tmp_path / "far" / "path.npz")
    except OSError:
        pytest.skip("no links here")
    path.save(link)
    path.save(link)
    assert link.is_symlink()
    assert same(path, Path.load(tmp_path / "far" / "path.npz", PROBLEM.model()))
    assert [f.name for f in (tmp_path / "far").iterdir()] == ["path.npz"]


def test_where_a_file_cannot_be_the_message_says_why(path, tmp_path):
    with pytest.raises(PathError, match=r"path\.npz: there is no folder .*nowhere; make it first"):
        path.save(tmp_path / "nowhere" / "path.npz")
    with pytest.raises(PathError, match=r"is a folder; give the name of a file in it"):
        path.save(tmp_path)
    with pytest.raises(PathError, match=r"null: is not an ordinary file"):
        path.save(os.devnull)
    with pytest.raises(PathError, match="cannot be written"):
        path.save(tmp_path / ("long" * 100))
    with pytest.raises(PathError, match=r"not a saved path \(not an ordinary file\)"):
        Path.load(tmp_path, PROBLEM.model())
    with pytest.raises(PathError, match=r"not a saved path \(not an ordinary file\)"):
        Path.load(os.devnull, PROBLEM.model())
    assert not list(tmp_path.iterdir())


PROTECTED = """
import os, sys, tempfile
from pathlib import Path as FilePath
from homotopy import PathError
from test_files import PROBLEM

path = PROBLEM.trace()
with tempfile.TemporaryDirectory() as name:
    folder, user = FilePath(name), os.geteuid()
    if user == 0:
        # Root may write everywhere.
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
    path.save(folder / "path.npz")
    (folder / "path.npz").chmod(0o444)
    for mode, name in ((0o700, "path.npz"), (0o500, "other.npz")):
        folder.chmod(mode)
        try:
            path.save(folder / name)
        except PathError as error:
            print(error)
    folder.chmod(0o700)
    print([f.name for f in folder.iterdir()])
    os.seteuid(user)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_protected_file_or_folder_is_left_alone():
    said = run_python(PROTECTED).splitlines()
    assert said[0].endswith("path.npz: is write-protected; allow writing or give another name")
    assert said[1].endswith("cannot be written (Permission denied); nothing was written")
    assert said[2] == "['path.npz']"


def test_the_same_path_gives_the_same_bytes(path, tmp_path):
    path.save(tmp_path / "a.npz")
    path.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


# ---------------------------------------------------------------------- known again


def mark(model) -> Fingerprint:
    return Fingerprint.of(Problem.compile(model))


def line(t, *, left=2.0, knot=1.0, bend=0.0):
    return Slope("L", left + t), Knot("E", knot), Slope("R", 0.0, bend)


def toy(gram=((2.0, 1.0), (1.0, 2.0)), span=(0.0, 1.0), border=None, target=0.0, **pieces):
    return Toy(gram, span, lambda t: line(t, **pieces), border=border, target=target)


ULP = 2.0**-52


@pytest.mark.parametrize(
    "other",
    [
        toy(((2.0, 1.0), (1.0, 2.0 + 2 * ULP))),
        toy(((2.0, 1.0 + ULP), (1.0 + ULP, 2.0))),
        toy(span=(0.0, 1.0 + ULP)),
        toy(span=(1.0, 0.0)),
        toy(left=2.0 + 2 * ULP),
        toy(left=np.array([2.0, 2.0 + 2 * ULP])),
        toy(knot=[1.0, 1.0 + ULP]),
        toy(bend=[0.0, 1e-300]),
        toy(border=[1.0, 2.0]),
        toy(border=[1.0, 1.0], target=5e-324),
        toy(LinearGram(np.sqrt(2.0) * np.eye(2))),
        toy(np.eye(3)),
    ],
)
def test_every_input_counts_to_the_last_bit(other):
    model = toy(border=[1.0, 1.0]) if other.border is not None else toy()
    assert mark(model).fits(Problem.compile(model))
    assert not mark(model).fits(Problem.compile(other))
    assert mark(model).digest != mark(other).digest


def test_another_parameter_is_another_path():
    other = toy()
    other.parameter = "C"
    assert mark(toy()).digest != mark(other).digest


def test_zero_is_zero_whatever_its_sign():
    assert mark(toy(bend=-0.0)).digest == mark(toy(bend=0.0)).digest


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "precomputed"])
@pytest.mark.parametrize("row", [0, 31, 39])
def test_every_number_of_the_data_counts(kernel, row):
    problem = case("hinge", 40, 5)
    X = problem.X @ problem.X.T if kernel == "precomputed" else problem.X
    X = 0.5 * (X + X.T) if kernel == "precomputed" else X

    def model(X, y=problem.y, **options):
        return HingeRamp(X, y, C=1.0, kernel=kernel, **({"gamma": 1e-6, "coef0": 0.1} | options))

    first = mark(model(X))
    assert first.digest == mark(model(X.copy(order="F"))).digest
    other = X.copy()
    column = row if kernel == "precomputed" else 1
    other[row, column] = np.nextafter(other[row, column], np.inf)
    assert first.digest != mark(model(other)).digest
    y = problem.y.copy()
    y[row] *= -1.0
    assert first.digest != mark(model(X, y)).digest
    names = {"rbf": ["gamma"], "poly": ["gamma", "degree", "coef0"], "sigmoid": ["gamma", "coef0"]}
    for name in ("gamma", "degree", "coef0"):
        value = {"gamma": 2e-6, "degree": 4, "coef0": 0.2}[name]
        known = first.digest == mark(model(X, **{name: value})).digest
        assert known == (name not in names.get(kernel, []))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_sparse_matrix_is_itself_however_it_is_stored(kernel):
    problem = case("hinge", 30, 5)
    X = np.where(np.abs(problem.X) < 0.7, 0.0, problem.X)
    rows = sp.csr_matrix(X)
    # Every zero stored, the indices of each row from the last to the first.
    n, d = X.shape
    loose = sp.csr_matrix(
        (X[:, ::-1].ravel(), np.tile(np.arange(d)[::-1], n), np.arange(0, n * d + 1, d)),
        shape=X.shape,
    )
    assert (loose != rows).nnz == 0
    assert not loose.has_sorted_indices

    def digest(X):
        return mark(HingeRamp(X, problem.y, C=1.0, kernel=kernel)).digest

    first = digest(rows)
    assert first == digest(loose) == digest(rows.tocsc()) == digest(rows.tocoo())
    other = rows.copy()
    other.data[7] = np.nextafter(other.data[7], np.inf)
    assert first != digest(other)


class Foreign(Gram):
    """A Gram of somebody else, which says nothing of its inputs."""

    def __init__(self, root, order):
        self.root, self.order, self.size = root, order, len(root)
        self.diag = np.array([self.column(i)[i] for i in range(self.size)])

    def column(self, i):
        # Sums in one order or another have other last bits, as those of another BLAS.
        return np.cumsum((self.root * self.root[i])[:, :: self.order], axis=1)[:, -1]

    def block(self, rows, columns):
        return np.stack([self.column(int(j))[rows] for j in columns], axis=1)

    def combine(self, index, weights):
        return np.stack([self.column(int(i)) for i in index], axis=1) @ weights


def test_a_foreign_quadratic_form_is_known_by_its_columns_to_rounding():
    root = np.random.default_rng(0).normal(size=(30, 20))

    def problem(root, order=1):
        return Problem.compile(toy(Foreign(root, order)))

    first, turned = Fingerprint.of(problem(root)), problem(root, -1)
    assert first.products.shape == (30,)
    assert not np.array_equal(Fingerprint.of(turned).products, first.products)
    assert first.fits(turned)
    for i, j in ((0, 0), (3, 17), (29, 19)):
        other = root.copy()
        other[i, j] += 1e-6
        assert not first.fits(problem(other))


def test_a_kernel_that_is_a_function_is_known_by_data_and_values():
    problem = case("hinge", 30, 5)

    def model(kernel, X=problem.X):
        return Problem.compile(HingeRamp(X, problem.y, C=1.0, kernel=kernel))

    first = Fingerprint.of(model(lambda A, B: A @ B.T))
    assert first.fits(model(lambda A, B: np.einsum("ic,jc->ij", A, B)))
    assert not first.fits(model(lambda A, B: A @ B.T + 1e-6))
    X = problem.X.copy()
    X[3, 1] = np.nextafter(X[3, 1], np.inf)
    assert not first.fits(model(lambda A, B: A @ B.T, X))


def test_a_quadratic_form_may_say_what_it_is_made_from():
    root = np.random.default_rng(0).normal(size=(6, 3))

    def known(scale):
        Q = scale * root @ root.T
        gram = KernelGram(lambda index: Q[index], np.diagonal(Q), inputs=("scaled", scale, root))
        return Fingerprint.of(Problem.compile(toy(gram)))

    assert known(1.0).products.size == 0
    assert known(1.0).digest == known(1.0).digest != known(2.0).digest


def test_a_path_saved_under_one_kernel_is_refused_under_another(tmp_path):
    def model(power):
        return HingeRamp(PROBLEM.X, PROBLEM.y, C=1.0, kernel=lambda A, B: (A @ B.T + 1.0) ** power)

    path = Homotopy(model(2)).trace()
    path.save(tmp_path / "path.npz")
    assert same(path, Path.load(tmp_path / "path.npz", model(2)))
    with pytest.raises(PathError, match="traced with another model or other data"):
        Path.load(tmp_path / "path.npz", model(3))


# ---------------------------------------------------------------------- spoiled


# Bytes that reading a file of some kilobytes may take, whatever it says of itself.
MOST = 4_000_000


def outcome(file: FilePath, path: Path, model) -> str:
    """ "refused" or "same"; anything else is a failure."""
    found, said = "refused", str(file)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        tracemalloc.start()
        try:
            back = Path.load(file, model)
            found = "same" if same(path, back) else "another path"
        except PathError as error:
            said = str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert found != "another path"
    assert str(file) in said
    assert not heard, heard[0].message
    assert peak < MOST, f"{peak} bytes were taken"
    return found


def originals() -> dict[str, tuple[Path, object]]:
    """Paths of every kind: with jumps and without, partial, of one point, slanted, by columns."""
    lad = case("lad", 12, 3, kernel="rbf", path="s", C=2.0)
    point = case("lad", 3, 3, kernel="linear", path="s", s_stop=100.0)
    toy_path = Homotopy(toy()).trace()
    found = {
        "hinge": (PROBLEM.trace(), PROBLEM.model()),
        "partial": (PROBLEM.trace(max_breakpoints=4), PROBLEM.model()),
        "lad": (lad.trace(), lad.model()),
        "point": (point.trace(), point.model()),
        "toy": (toy_path, toy_path.model),
    }
    for path, _ in found.values():
        assert path.certify().ok
    assert found["point"][0].breakpoints.size == 1
    return found


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    files = {}
    for name, (path, model) in originals().items():
        path.save(folder / f"{name}.npz")
        files[name] = ((folder / f"{name}.npz").read_bytes(), path, model)
    return files


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One of the ways in which bytes get lost, added or changed."""
    spoiled, a = bytearray(data), rng.randrange(len(data))
    b = min(len(data), a + 1 + int(rng.expovariate(0.05)))
    match rng.randrange(9):
        case 0:
            spoiled[a] ^= 1 << rng.randrange(8)
        case 1:
            spoiled[a] = rng.randrange(256)
        case 2:
            spoiled[a:b] = rng.randbytes(b - a)
        case 3:
            del spoiled[a:b]
        case 4:
            spoiled[a:a] = rng.randbytes(b - a)
        case 5:
            spoiled[a:b] = bytes(b - a)
        case 6:
            c = rng.randrange(len(data))
            spoiled[c : c + b - a] = data[a:b]
        case 7:
            del spoiled[a:]
        case 8:
            for _ in range(rng.randrange(2, 6)):
                spoiled[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(spoiled)


def spoil_bytes(saved, tmp_path, count: int, seed: int) -> dict[str, int]:
    rng, file = random.Random(seed), tmp_path / "spoiled.npz"
    found = {"refused": 0, "same": 0}
    names = sorted(saved)
    for k in range(count):
        data, path, model = saved[names[k % len(names)]]
        file.write_bytes(mutated(data, rng))
        found[outcome(file, path, model)] += 1
    return found


def test_spoiled_bytes_are_refused_or_do_no_harm(saved, tmp_path):
    found = spoil_bytes(saved, tmp_path, 900, 1)
    assert found["refused"] > 600


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_many_more_spoiled_bytes(saved, tmp_path, seed):
    found = spoil_bytes(saved, tmp_path, 20_000, seed)
    assert found["refused"] > 13_000


def test_every_truncation_is_refused(saved, tmp_path):
    data, path, model = saved["toy"]
    file = tmp_path / "cut.npz"
    for length in [*range(0, len(data), 7), len(data) - 1]:
        file.write_bytes(data[:length])
        assert outcome(file, path, model) == "refused"


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archived(members: dict[str, bytes], compression=zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def as_npy(array, **options) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), **options)
    return out.getvalue()


def array_of(content: bytes):
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def wrong_arrays(name: str, array):
    """What an array must not be: of another type, another shape, out of range, out of order."""
    whole = array.dtype.kind == "i"
    for kind in ("<f4", ">f8", "<i4", ">i8", "<u8", "<c16", "|b1", "<U4", "|S8", "<M8[s]"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield f"type {kind}", as_npy(array.astype(kind))
    yield "another kind of number", as_npy(array.astype(float if whole else np.int64))
    yield "objects", as_npy(array.astype(object), allow_pickle=True)
    yield "a record", as_npy(np.zeros(array.shape, dtype=[("a", "<f8")]))
    yield "one number", as_npy(array.dtype.type(0))
    yield "a row more", as_npy(np.concatenate([array, array[-1:], array[:1]])[: len(array) + 1])
    if len(array):
        yield "a row less", as_npy(array[:-1])
        yield "none", as_npy(array[:0])
    else:
        yield "one of none", as_npy(np.zeros((1, *array.shape[1:]), dtype=array.dtype))
    yield "another dimension", as_npy(array[..., None])
    if array.ndim == 1:
        yield "in columns", as_npy(np.asfortranarray(np.stack([array, array], axis=1)))
    yield "version 2", as_npy(array, version=(2, 0))
    yield "not an array", b"not an array"
    yield "nothing", b""
    yield "a tail", as_npy(array) + b"\0" * 8
    yield "cut", as_npy(array)[:-1]
    if array.size:
        bad = (-1, 2**62, -(2**63), 2**63 - 1) if whole else (np.nan, np.inf, -np.inf)
        for value in bad:
            for place in {0, array.size // 2, array.size - 1}:
                spoiled = array.copy()
                spoiled.reshape(-1)[place] = value
                yield f"{value} at {place}", as_npy(spoiled)
    ordered = name in ("start", "stop", "offset", "event", "jump_t", "jump_offset")
    if ordered and array.size > 1 and not np.array_equal(array, array[::-1]):
        yield "backwards", as_npy(array[::-1])
        spoiled = array.copy()
        spoiled[[0, -1]] = spoiled[[-1, 0]]
        yield "two exchanged", as_npy(spoiled)
    if ordered and array.size > 2:
        spoiled = array.copy()
        spoiled[array.size // 2] = spoiled[-1] + (1 if whole else spoiled[-1] - spoiled[0])
        yield "one too far", as_npy(spoiled)


WRONG_HEADERS = [
    lambda h: h | {"format": 1},
    lambda h: h | {"format": 99},
    lambda h: h | {"format": None},
    lambda h: h | {"format": "2"},
    lambda h: h | {"model": 7},
    lambda h: h | {"parameter": ["t"]},
    lambda h: h | {"status": "PERFECT"},
    lambda h: h | {"status": "__class__"},
    lambda h: h | {"status": 3},
    lambda h: h | {"span": None},
    lambda h: h | {"span": h["span"][:1]},
    lambda h: h | {"span": [*h["span"], "0x0p+0"]},
    lambda h: h | {"span": [1.0, 0.0]},
    lambda h: h | {"span": ["nan", "nan"]},
    lambda h: h | {"span": ["inf", h["span"][1]]},
    lambda h: h | {"span": ["no number", "at all"]},
    lambda h: h | {"span": h["span"][::-1] if h["span"][0] != h["span"][1] else ["0x1p+9"] * 2},
    lambda h: h | {"counts": [1, 2]},
    lambda h: h | {"counts": {"pivots": -1}},
    lambda h: h | {"counts": {"pivots": 1.5}},
    lambda h: h | {"counts": {"pivots": True}},
    lambda h: h | {"counts": {"pivots": 2**63}},
    lambda h: h | {"counts": {"pivots": "many"}},
    lambda h: h | {"fingerprint": None},
    lambda h: h | {"fingerprint": h["fingerprint"][::-1]},
    lambda h: h | {"another": 1},
    lambda h: h | {"status": "LIMIT", "limit": 3},
    lambda h: h | {"status": "FAILED", "limit": "max_seconds"},
    lambda h: {k: v for k, v in h.items() if k != "counts"},
    lambda h: {},
    lambda h: [],
    lambda h: None,
    lambda h: "header",
]
WRONG_TEXTS = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 60_000,
    b'{"a":' * 12_000,
    b"1" * 5000,
    b"NaN",
    b'{"format": 2}' + b" " * 100_000,
]


def spoiled_members(data: bytes):
    """Archives that are whole and wrong: each member in every way that can be thought of."""
    original = members(data)
    for name, content in original.items():
        rest = {k: v for k, v in original.items() if k != name}
        yield f"{name} missing", archived(rest)
        yield f"{name} under another name", archived(rest | {f"x{name}": content})
        yield f"{name} in a folder", archived(rest | {f"../{name}": content})
        if name != "header.npy":
            array = array_of(content)
            for what, wrong in wrong_arrays(name.removesuffix(".npy"), array):
                if wrong != content:
                    yield f"{name}: {what}", archived(original | {name: wrong})
    yield "one too many", archived(original | {"more.npy": as_npy(np.ones(3))})
    yield "a file of another kind", archived(original | {"readme.txt": b"hello"})
    header = json.loads(array_of(original["header.npy"]).tobytes())
    for k, change in enumerate(WRONG_HEADERS):
        text = json.dumps(change(header)).encode()
        yield f"header {k}", archived(original | {"header.npy": text_npy(text)})
    for k, text in enumerate(WRONG_TEXTS):
        yield f"text {k}", archived(original | {"header.npy": text_npy(text)})
    for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"compression {compression}", archived(original, compression)


def text_npy(text: bytes) -> bytes:
    return as_npy(np.frombuffer(text, dtype=np.uint8))


@pytest.mark.parametrize(
    "name",
    [
        "hinge",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("partial", "lad", "point", "toy")),
    ],
)
def test_archives_with_wrong_members_are_refused(saved, tmp_path, name):
    data, path, model = saved[name]
    file, count = tmp_path / "spoiled.npz", 0
    file.write_bytes(archived(members(data)))
    assert outcome(file, path, model) == "same"
    for what, spoiled in spoiled_members(data):
        file.write_bytes(spoiled)
        assert outcome(file, path, model) == "refused", what
        count += 1
    assert count > 600


@pytest.mark.parametrize(
    "error",
    [
        zlib.error("Error -3 while decompressing data"),
        KeyError("start"),
        RecursionError("maximum recursion depth exceeded"),
        MemoryError(),
        struct.error("unpack requires a buffer of 2 bytes"),
        NotImplementedError("compression type 9 (deflate64)"),
        OverflowError("Python int too large to convert to C long"),
        EOFError(),
        UnicodeDecodeError("utf-8", b"", 0, 1, "invalid start byte"),
        RuntimeError("File 'start.npy' is encrypted"),
        PermissionError(13, "Permission denied"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_foreign_error_becomes_ours(saved, tmp_path, monkeypatch, error):
    data, path, model = saved["hinge"]
    file = tmp_path / "path.npz"
    file.write_bytes(data)

    def fails(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(Archive, "read", fails)
    assert outcome(file, path, model) == "refused"
    with pytest.raises(PathError, match=r"path\.npz: not a saved path \(.+\)"):
        Path.load(file, model)


@pytest.mark.parametrize("name", ["active", "changed", "jump_flipped"])
def test_an_index_that_is_there_twice_is_refused(saved, tmp_path, name):
    data, path, model = saved["hinge"]
    bounds = {"active": "offset", "changed": "event", "jump_flipped": "jump_offset"}[name]
    original = members(data)
    array, offset = array_of(original[f"{name}.npy"]), array_of(original[f"{bounds}.npy"])
    k = int(np.flatnonzero(np.diff(offset) > 1)[0])
    array[offset[k] + 1] = array[offset[k]]
    file = tmp_path / "twice.npz"
    file.write_bytes(archived(original | {f"{name}.npy": as_npy(array)}))
    assert outcome(file, path, model) == "refused"


def test_the_active_coordinates_must_be_those_on_knots(saved, tmp_path):
    data, path, model = saved["hinge"]
    original = members(data)
    file = tmp_path / "off.npz"
    for piece in range(5):
        first = array_of(original["first_piece.npy"])
        first[3] = piece if first[3] != piece else (piece + 1) % 5
        if (first[3] % 2) == (path.segments.first_piece[3] % 2):
            continue
        file.write_bytes(archived(original | {"first_piece.npy": as_npy(first)}))
        with pytest.raises(PathError, match=r"flat piece|is not active"):
            Path.load(file, model)


def test_a_file_of_the_first_format_says_what_to_do(saved, tmp_path):
    _, _, model = saved["hinge"]
    file = tmp_path / "old.npz"
    # It had other members too; the format is looked at first.
    header = text_npy(json.dumps({"format": 1}).encode())
    file.write_bytes(archived({"header.npy": header, "strange.npy": as_npy(np.ones(2))}))
    with pytest.raises(PathError, match=r"format 1; this version reads 2\. Trace the model again"):
        Path.load(file, model)


# ---------------------------------------------------------------------- bombs


def test_what_swells_is_refused_before_memory_is_taken(saved, tmp_path):
    data, path, model = saved["hinge"]
    original, file = members(data), tmp_path / "bomb.npz"
    zeros = bytes(100_000_000)
    for name in ("active", "alpha_start", "jump_t", "start", "first_piece", "products"):
        kind = array_of(original[f"{name}.npy"]).dtype
        wrong = as_npy(np.frombuffer(zeros, dtype=kind))
        file.write_bytes(archived(original | {f"{name}.npy": wrong}))
        assert file.stat().st_size < 200_000
        assert outcome(file, path, model) == "refused"
    file.write_bytes(archived(original | {"header.npy": text_npy(zeros)}))
    assert outcome(file, path, model) == "refused"


def test_sizes_that_lie_are_refused_before_memory_is_taken(saved, tmp_path):
    data, path, model = saved["hinge"]
    original, file = members(data), tmp_path / "liar.npz"
    content = original["start.npy"]
    for shape in (10**6, 10**12, 10**17):
        wrong = content.replace(b"'shape': (", b"'shape': (%d, " % shape)
        wrong = wrong[:10] + wrong[10:128].rstrip(b"\n")[:117].ljust(117) + b"\n" + content[128:]
        file.write_bytes(archived(original | {"start.npy": wrong}))
        assert outcome(file, path, model) == "refused"
    # The directory of the archive claims more than the bytes can stand for.
    packed = archived(original)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        size = archive.getinfo("alpha_start.npy").file_size
    for claim in (10**6, 2**31, 2**32 - 2):
        file.write_bytes(packed.replace(size.to_bytes(4, "little"), claim.to_bytes(4, "little")))
        assert outcome(file, path, model) == "refused"


def test_members_cannot_share_their_bytes(tmp_path):
    """Two members of the directory that point to the same part of the file swell twice."""
    file = tmp_path / "shared.npz"
    one = zlib.compress(bytes(1_000_000))
    assert len(one) < 2000
    packed = bytearray(archived({"a.npy": bytes(1_000_000), "b.npy": b""}))
    first = packed.find(b"PK\x01\x02")
    second = packed.find(b"PK\x01\x02", first + 4)
    # Sizes, checksum and place of the first for the second.
    packed[second + 10 : second + 28] = packed[first + 10 : first + 28]
    packed[second + 42 : second + 46] = packed[first + 42 : first + 46]
    file.write_bytes(packed)
    with zipfile.ZipFile(file) as archive:
        total = sum(info.compress_size for info in archive.infolist())
    file.write_bytes(bytes(packed))
    if total > file.stat().st_size:
        with pytest.raises(ValueError, match="more than its data can expand to"):
            Archive(file)
    else:
        with Archive(file) as archive, pytest.raises(zipfile.BadZipFile):
            archive.shape("b", "<f8")


def test_replace_file_takes_any_bytes(tmp_path):
    file = tmp_path / "a file"
    for content in (b"", b"one", bytes(3_000_000)):
        replace_file(str(file), content)
        assert file.read_bytes() == content


def test_a_partial_path_and_its_status_come_back(tmp_path):
    path = PROBLEM.trace(max_breakpoints=3)
    path.save(tmp_path / "partial.npz")
    back = Path.load(tmp_path / "partial.npz", PROBLEM.model())
    assert back.status is Status.LIMIT
    assert back.limit == "max_breakpoints"
    assert back.ending == path.ending
    assert same(path, back)


def test_the_grams_of_the_package_name_their_inputs():
    assert DenseGram(np.eye(2)).inputs()[0] == "dense"
    assert LinearGram(np.eye(2)).inputs()[0] == "features"
    assert callable(KernelGram(lambda index: np.eye(2)[index], np.ones(2)).inputs()[0])
