"""The threshold of a ramp regression, where none was given.

A residual beyond the threshold s makes a row an outlier, so s has the unit of the target: the 1.0
that the models take would call nearly every row an outlier where the target is in thousands.  Here
s follows from the residuals of the plain fit, as `RobustSVR` chooses it.
"""

from __future__ import annotations

import attrs
import numpy as np

from homotopy import Homotopy, Path
from homotopy_plugins.cli.recipes import Ingredients
from homotopy_plugins.estimators import folds
from homotopy_plugins.models.regression_ramp import DEFAULT_STOP, ROUNDING, RegressionRamp

__all__ = ["with_threshold"]


def with_threshold(made: Ingredients) -> tuple[Ingredients, Path | None, str]:
    """The same with a threshold for its target, the plain fit that it follows from, and a note;
    unchanged where the threshold was given or the model has none."""
    model = made.model
    unset = "s" not in made.recipe.settings
    if not (isinstance(model, RegressionRamp) and model.path == "theta" and unset):
        return made, None, ""
    # At theta = 1 there are no outliers, whatever s is.
    plain = Homotopy(model, max_breakpoints=1).trace()
    s = float(f"{threshold_of(model, plain):.3g}")
    recipe = attrs.evolve(made.recipe, settings=made.recipe.settings | {"s": repr(s)})
    note = (
        f"rows whose target is more than s = {s:g} off are outliers: twice the spread of the plain "
        "fit's residuals (--set s=VALUE takes another)"
    )
    return attrs.evolve(made, model=model.varied(s=s), recipe=recipe), plain, note


def threshold_of(model: RegressionRamp, plain: Path) -> float:
    """Twice the spread of the residuals, at most half the largest."""
    counted = model.sample_weight > 0.0
    residual = np.abs(model.y - plain.response(plain.traced[0], "before"))[counted]
    typical, largest = folds.spread(residual, model.sample_weight[counted]), float(residual.max())
    width = 0.0 if model.width is None else float(model.parameters[model.width])
    if largest <= ROUNDING * float(np.abs(model.y).max()):
        # f passes through every target: no threshold matters.
        return width + 1.0
    s = min(folds.SPREADS * typical, 0.5 * largest)
    if typical <= folds.LEAST_SPREAD * largest:
        s = DEFAULT_STOP * largest
    return max(s, 2.0 * width)
