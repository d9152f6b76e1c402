"""May the answer be believed?  What is asked before any number is given.

A number of wrong rows means something only if the columns predict the target, on rows that were
held out, better than a guess does; if no column repeats the target, because then every label is
vouched for by itself; and if what is left is more than a number that counts the rows.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy_plugins.auditing.tables import Table
from homotopy_plugins.wording import listed

__all__ = ["Skill", "Verdict", "label_skill", "target_skill", "verdict_of"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# Less than this part of the loss of a guess saved is worth a word.
WEAK = 0.15
# Of labels so much must be saved: in all (the logarithm of a likelihood ratio; on coin flips a
# blend of a few machines gains up to 5 by chance), in standard errors, and as a part.  Where a
# third of the labels is wrong, little more than that can be saved by machines that are right.
LABELS = (5.5, 1.3, 0.01)
# Of targets: in all, in units of what a guess misses a row by, in standard errors, and as a part.
TARGETS = (10.0, 1.6, 0.02)
# Fewer rows than this, or than columns times this, and the machines cannot know much.
FEW, PER_COLUMN = 50, 2.0
# Where the columns do not predict the target, rows are named that are wrong with this chance (on
# coin flips hardly any is); where nothing can be learned, none.
SURE, NEVER = 0.6, 2.0
# Ranks that agree to this are one and the same.
SAME = 0.99999


@attrs.frozen
class Skill:
    """What part of the loss of a guess is saved on held-out rows, how many standard errors that is,
    and whether that is more than chance."""

    saved: float
    errors: float
    there: bool


@attrs.frozen
class Verdict:
    """How far the answer can be relied upon.

    Attributes
    ----------
    colour : {"green", "amber", "red"}
        Red: no number is given.
    reasons : tuple of str
    least : float
        Rows are named if they are wrong with at least this chance.
    """

    colour: str
    reasons: tuple[str, ...]
    least: float = 0.0


def label_skill(odds: Array, codes: Index) -> Skill:
    """From the log-odds of each class, out of fold, by the logarithm of the chance given to the
    label."""
    n, k = odds.shape
    chance = 1.0 / (1.0 + np.exp(-np.clip(odds, -35.0, 35.0)))
    chance = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-12)
    share = np.bincount(codes, minlength=k) / n
    guess = np.log(np.maximum(share[codes], 1e-12))
    gain = np.log(np.maximum(chance[np.arange(n), codes], 1e-3)) - guess
    return _skill(gain, -float(guess.mean()), float(gain.sum()), LABELS)


def target_skill(residual: Array, target: Array) -> Skill:
    """From residuals out of fold, by squares that are cut off: a few wrong targets must not decide,
    nor that many targets are one and the same number."""
    spread = np.abs(target - np.median(target))
    most = 4.0 * float(np.median(spread)) or float(spread.max())
    middle = float(np.clip(target, np.median(target) - most, np.median(target) + most).mean())
    guess = np.minimum(np.abs(target - middle), most) ** 2
    gain = guess - np.minimum(np.abs(residual), most) ** 2
    whole = float(guess.mean())
    return _skill(gain, whole, float(gain.sum()) / max(whole, 1e-12), TARGETS)


def _skill(gain: Array, whole: float, total: float, needed: tuple[float, float, float]) -> Skill:
    error = float(gain.std()) / np.sqrt(max(gain.size, 1))
    mean = float(gain.mean())
    saved, errors = mean / max(whole, 1e-12), mean / max(error, 1e-12)
    return Skill(saved, errors, all(np.array([total, errors, saved]) > needed))


def verdict_of(table: Table, target: Any, amounts: bool, skill: Skill) -> Verdict:
    """The colour, and why."""
    red, amber = [], []
    repeats = [name for name, values in table.sources if _repeats(values, target, amounts)]
    if repeats:
        red.append(
            f"{_columns(repeats)} the target under another name, agreeing with every label, right "
            "or wrong; leave it out"
        )
    counting = [name for name, values in table.sources if _counts(values)]
    if counting and len(counting) == len(table.sources):
        red.append(f"the only column is {_listed(counting)}, which merely numbers the rows")
    elif counting:
        amber.append(f"{_listed(counting)} merely numbers the rows; leave it out")
    if not skill.there and skill.saved > WEAK:
        red.append(
            f"{table.size} rows are few: they do not tell whether the columns predict the target"
        )
    elif not skill.there:
        red.append(
            "the columns do not predict the target on held-out rows (they reduce the loss of a "
            f"constant guess by {max(skill.saved, 0.0):.0%}), so wrong rows cannot be told from "
            "right ones"
        )
    elif skill.saved < WEAK:
        amber.append(
            f"the columns hardly predict the target (they reduce the loss of a constant guess by "
            f"{skill.saved:.0%}), so most wrong rows cannot be told from right ones"
        )
    n, d = table.size, int(table.numbers.shape[1])
    if n < FEW and not red:
        amber.append(f"{n} rows are few")
    elif n < PER_COLUMN * d:
        amber.append(f"there are {n} rows for {d} columns")
    colour = "red" if red else "amber" if amber else "green"
    blind = bool(repeats) or len(counting) == len(table.sources) > 0
    least = NEVER if blind else 0.0 if skill.there else SURE
    return Verdict(colour, tuple(red + amber), least)


def _listed(names: list[str]) -> str:
    return listed(map(repr, names), 5)


def _columns(names: list[str]) -> str:
    return f"{_listed(names)} is" if len(names) == 1 else f"{_listed(names)} are"


def _repeats(values: Any, target: Any, amounts: bool) -> bool:
    """Whether a column is the target under other names: one value for each class and back, or the
    same order of amounts."""
    column = np.asarray(values)
    if amounts:
        if column.dtype.kind not in "fiu":
            return False
        there = np.isfinite(column.astype(np.float64))
        if there.sum() < 10 or np.unique(column[there]).size < 10:
            return False
        one, other = _order(column[there].astype(np.float64)), _order(target[there])
        return bool(abs(np.corrcoef(one, other)[0, 1]) > SAME)
    words = np.array([str(value) for value in column.tolist()])
    classes = np.unique(target)
    kinds, codes = np.unique(words, return_inverse=True)
    if kinds.size != classes.size:
        return False
    pairs = codes * classes.size + np.searchsorted(classes, target)
    return bool(np.unique(pairs).size == classes.size)


def _order(values: Array) -> Array:
    """Ranks, the same for equal values."""
    return np.unique(values, return_inverse=True)[1].astype(np.float64)


def _counts(values: Any) -> bool:
    """Whole numbers, no two alike, without large gaps: a number of the row."""
    column = np.asarray(values)
    if column.dtype.kind not in "fiu" or column.size < 3:
        return False
    number = column.astype(np.float64)
    if not np.all(np.isfinite(number)) or np.any(number != np.floor(number)):
        return False
    spread = float(np.ptp(number))
    return bool(np.unique(number).size == number.size and spread < 1.2 * number.size)
