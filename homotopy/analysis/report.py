"""Readable summaries of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homotopy.wording import counted

if TYPE_CHECKING:
    from homotopy.path import Path

__all__ = ["summary"]

# Most jumps in a summary.
LISTED = 12


def summary(path: Path) -> str:
    """Summarise the span, break-points and jumps of `path`; list at most `LISTED` jumps."""
    name = path.model.parameter
    start, stop = path.traced
    n = path.problem.gram.size
    lines = [
        f"{type(path.model).__name__}: {name} from {start:.6g} to {stop:.6g}, n = {n}",
        f"  {counted(path.breakpoints.size, 'break-point')}, {counted(len(path.jumps), 'jump')}; "
        f"steps: {path.counts['start_steps']} to the start, {path.counts['c_steps']} in C-steps, "
        f"{path.counts['d_steps']} in D-steps",
        f"  {path.ending}",
    ]
    for t, label in ((start, "start"), (stop, "end")):
        parts = ", ".join(f"{k} {v.size}" for k, v in path.partition(t).items())
        known = path.problem.unanchored(t).size == 0
        objective = f"objective {path.objective(t):.8g}   " if known else ""
        lines.append(f"  {label:<5} {name}={t:<10.6g} {objective}{parts}")
    if path.jumps:
        lines.append(f"  {'jump at':>12} {'flipped':>8} {'before':>14} {'after':>14} {'fall':>10}")
        for jump in path.jumps[:LISTED]:
            fall = jump.objective_before - jump.objective_after
            note = "" if jump.moved else "   relabelling, nothing moved"
            lines.append(
                f"  {jump.t:12.6g} {jump.flipped.size:8d} {jump.objective_before:14.8g} "
                f"{jump.objective_after:14.8g} {fall:10.3g}{note}"
            )
        if len(path.jumps) > LISTED:
            lines.append(f"  ... and {len(path.jumps) - LISTED} more")
    return "\n".join(lines)
