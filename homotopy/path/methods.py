"""The methods of a path that higher layers implement: its proof, analyses, reports and files.

A path holds values (`homotopy.path.path`) and does not depend on any of these.  Each method here is
a name and a docstring, and imports its implementation when it is called.  These are the only
imports of the package that point upwards (`tests/engine/test_layers.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from homotopy.errors import PathError
from homotopy.model import LossModel
from homotopy.path.tolerances import PATH_TOLERANCES

if TYPE_CHECKING:
    from homotopy.analysis.losses import Loss
    from homotopy.analysis.occupancy import Occupancy
    from homotopy.analysis.validation import ValidationCurve
    from homotopy.forking import Fork
    from homotopy.path.certificate import Certificate
    from homotopy.path.path import Path
    from homotopy.report import Report


class PathMethods:
    """Methods of `Path` that are implemented elsewhere."""

    __slots__ = ()

    @property
    def _path(self) -> Path:
        """This object, typed as a `Path`."""
        return cast("Path", self)

    def validation_curve(
        self, X: Any, y: Any, *, loss: Loss | None = None, sample_weight: Any = None
    ) -> ValidationCurve:
        """Return the mean loss on held-out rows for *every* t of the path, exactly.

        Every held-out value f(x; t) is piecewise linear in t, so the loss is known everywhere, not
        just on a grid: every sign change is located, and the minimum is the true minimum.  (The
        model's `decision_function` must be affine in alpha and b, like a kernel expansion.)

        Parameters
        ----------
        X, y
            Held-out rows, as `decision_function` takes them, and their targets or labels.
        loss : {"zero-one", "hinge", "absolute", "squared"} or Truncated(cap), optional
            "zero-one" (the fraction of rows with a wrong sign; f = 0 counts as negative) is
            piecewise constant in t, "hinge", "absolute" and `homotopy.Truncated` (absolute up to a
            cap) piecewise linear, "squared" piecewise quadratic.  The default is the model's:
            "zero-one" for classification, else "absolute".
        sample_weight : array (N,), optional
        """
        from homotopy.analysis.validation import validation_curve

        return validation_curve(self._path, X, y, loss=loss, sample_weight=sample_weight)

    def occupancy(self, *names: str) -> Occupancy:
        """Return when each coordinate is on one of the named pieces; see `Occupancy`."""
        from homotopy.analysis.occupancy import occupancy

        return occupancy(self._path, names)

    def fork(self, t: float, side: str = "after") -> Fork:
        """Return the optimum at `t` as a `homotopy.Fork`, from which single rows can be moved,
        removed or added."""
        from homotopy.forking import Fork

        return Fork(self._path, t, side)

    def certify(
        self,
        tol: float = PATH_TOLERANCES.proven,
        *,
        at: npt.ArrayLike | None = None,
        sample: int | None = None,
    ) -> Certificate:
        """Check the path from alpha and the data alone; see `Certificate`.

        With `at` (one t or several), only the conditions at those t are checked, on both sides.
        With `sample`, those at about this many points: both ends, some evenly spaced between them,
        and both sides of the largest jumps.  Either takes one or two products with Q per point; the
        full certificate takes one per break-point.
        """
        from homotopy.path.certificate import certify

        return certify(self._path, tol, at, sample)

    def summary(self) -> str:
        """Return a readable summary: span, break-points, jumps."""
        from homotopy.analysis.report import summary

        return summary(self._path)

    def report(
        self,
        title: str | None = None,
        *,
        names: Sequence[Any] | None = None,
        top: int = 200,
        certify: bool | int = True,
    ) -> Report:
        """Return the path as one self-contained HTML page: a slider over t with the objective, the
        sizes of the partition, the jumps and their flips, the coordinates that move most, and the
        certificate in plain words.

        Parameters
        ----------
        title : str, optional
        names : sequence, optional
            Names of the first coordinates; the others are shown by number.
        top : int
            The largest number of coordinates in the table.
        certify : bool or int
            Whether to certify the path for the page; a number checks about that many places only
            (``certify(sample=...)``).

        Returns
        -------
        Report
            ``.write_html(file)``, ``.open()``, ``.html``; it displays itself in a notebook.
        """
        from homotopy.report import path_content

        return path_content(self._path, title, names=names, top=top, certify=certify).report()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the path (not the data) to an ``.npz`` file; `load` restores it exactly.

        The file is replaced atomically: nothing is lost if the process is killed or the disk is
        full (`PathError` gives the reason).
        """
        from homotopy.path.storage import save

        save(self._path, file)

    @classmethod
    def load(cls, file: str | os.PathLike[str], model: LossModel | None = None) -> Path:
        """Read a path saved by `save`; `model` must be the one that was traced.

        Nothing in the file is trusted or executed; `PathError` is raised if anything is missing,
        damaged or from another model.
        """
        from homotopy.path.storage import load

        if model is None:
            raise PathError(
                "Path.load: the file does not hold the data, so the model that was traced is "
                "needed too: Path.load(file, model)"
            )
        return load(cast("type[Path]", cls), file, model)
