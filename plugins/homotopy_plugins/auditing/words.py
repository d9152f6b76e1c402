"""Why a row is suspected, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from homotopy_plugins.auditing.evidence import Opinions
from homotopy_plugins.auditing.scores import OwnPath
from homotopy_plugins.auditing.targets import Labels
from homotopy_plugins.wording import quoted, shown

__all__ = ["label_reasons", "target_reasons"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Of this many nearest rows the labels are told.
NEIGHBOURS = 10


def label_reasons(
    labels: Labels, names: list[str], told: Opinions, rival: Index, near: Index, own: OwnPath
) -> Any:
    """The machine that speaks most for the `rival` of the label, as far as it is relied upon, comes
    first, then the neighbours, then the path."""
    rows, codes = np.arange(labels.codes.size), np.maximum(labels.codes, 0)
    gap = told.each[:, rows, rival] - told.each[:, rows, codes]
    against = told.weights[:, None] * gap
    heard = np.argmax(against, axis=0)
    odds = told.each[heard, rows]
    top = np.argmax(odds, axis=1)
    chance = 1.0 / (1.0 + np.exp(-odds[rows, top]))
    reasons = []
    for i in range(labels.codes.size):
        if labels.codes[i] < 0:
            count = int(np.sum(labels.given == labels.given[i]))
            which = "no other row is" if count == 1 else f"only {count} rows are"
            reasons.append(f"{which} labelled {quoted(labels.given[i])}")
            continue
        label = quoted(labels.classes[top[i]])
        says = f"{names[heard[i]]} predicts {label} ({chance[i]:.0%})"
        words = [says, _neighbours(labels, near[i, :NEIGHBOURS], int(labels.codes[i]))]
        words.append(_path(own, i))
        reasons.append("; ".join(word for word in words if word))
    return np.array(reasons)


def _neighbours(labels: Labels, near: Index, code: int) -> str:
    near = near[near >= 0]
    if near.size == 0:
        return ""
    count = np.bincount(labels.codes[near], minlength=labels.classes.size)
    count[code] = 0
    other = int(np.argmax(count))
    if count[other] == 0:
        return f"the {near.size} nearest rows have the same label"
    return f"{count[other]} of the {near.size} nearest rows are {quoted(labels.classes[other])}"


def _path(own: OwnPath, i: int) -> str:
    share = own.share[i]
    if not np.isfinite(share):
        return ""
    if share >= 0.9:
        return "an outlier along nearly the whole path"
    if share >= 0.5:
        return "an outlier along most of the path"
    if share > 0.0:
        return "an outlier near the end of the path"
    return "never an outlier along the path"


def target_reasons(
    own: OwnPath, weights: dict[str, float], said: dict[str, Array], target: Array, guess: Array
) -> Any:
    """What the machine that was relied upon most would say, how far off the target is from what
    all say, and the path."""
    first = max(weights, key=lambda name: weights[name])
    usual = float(np.median(np.abs(target - guess)))
    reasons = []
    for i, value in enumerate(said[first]):
        words = [f"{first} predicts {shown(value)}"]
        if usual > 0.0:
            words.append(f"off by {abs(target[i] - guess[i]) / usual:.1f} times the typical error")
        words.append(_path(own, i))
        reasons.append("; ".join(word for word in words if word))
    return np.array(reasons)
