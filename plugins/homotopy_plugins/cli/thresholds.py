"""The threshold of a ramp regression, where none was given.

A residual beyond the threshold s makes a row an outlier, so s has the unit of the target: the 1.0
that the models take would call nearly every row an outlier where the target is in thousands.  Here
s follows from the residuals of the plain fit, as `RobustSVR` chooses it.
"""

from __future__ import annotations

import attrs

from homotopy import Homotopy, Path
from homotopy_plugins.cli.recipes import Ingredients
from homotopy_plugins.estimators.thresholds import usual_threshold
from homotopy_plugins.models.regression_ramp import RegressionRamp

__all__ = ["with_threshold"]

# What sets the threshold of a path, or where it ends.
SETTING = {"theta": "s", "s": "s_stop"}
MEANT = "three times the spread of the plain fit's residuals (--set {setting}=VALUE takes another)"


def with_threshold(made: Ingredients) -> tuple[Ingredients, Path | None, str]:
    """The same with a threshold for its target, the plain fit that it follows from, and a note;
    unchanged where the threshold was given or the model has none."""
    model = made.model
    if not isinstance(model, RegressionRamp):
        return made, None, ""
    setting = SETTING.get(model.path)
    if setting is None or setting in made.recipe.settings:
        return made, None, ""
    # At theta = 1, and before an s-path meets a row, there are no outliers, whatever s is.
    plain = Homotopy(model, max_breakpoints=1).trace()
    s = float(f"{usual_threshold(model, plain.response(plain.traced[0], 'before')):.3g}")
    recipe = attrs.evolve(made.recipe, settings=made.recipe.settings | {setting: repr(s)})
    meant = MEANT.format(setting=setting)
    note = (
        f"rows whose target is more than s = {s:g} off are outliers: {meant}"
        if setting == "s"
        else f"at the end, rows whose target is more than s = {s:g} off are outliers: {meant}"
    )
    return attrs.evolve(made, model=model.varied(s=s), recipe=recipe), plain, note
