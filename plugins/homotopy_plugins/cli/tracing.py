"""A trace that is watched: a live bar, and whatever happens, what was traced is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import homotopy
from homotopy import Homotopy, LossModel, Path, TraceError, TraceInterrupted
from homotopy_plugins.cli.answers import INTERRUPTED, CommandError, Voice, leave

__all__ = ["Keep", "traced"]

Keep = Callable[[Path], str]
Tell = Callable[[homotopy.Progress], None]


def traced(
    model: LossModel,
    voice: Voice,
    keep: Keep | None,
    *,
    max_breakpoints: int | None = None,
    max_seconds: float | None = None,
) -> Path:
    """The path of `model`; `keep` saves one and returns where."""
    engine = Homotopy(model, max_breakpoints=max_breakpoints, max_seconds=max_seconds)
    try:
        with _watching(model, voice) as tell:
            path = engine.trace(callback=tell)
    except TraceInterrupted as error:
        _interrupted(error.path, voice, keep)
    except KeyboardInterrupt:
        voice.errors.print("homotopy trace: interrupted before the path had begun; nothing to save")
        leave(INTERRUPTED)
    except TraceError as error:
        raise CommandError(f"{error}{_saved(error.path, keep)}") from error
    if not path.complete:
        voice.note(f"{path.status.value}: {path!r}")
    return path


def _interrupted(path: object, voice: Voice, keep: Keep | None) -> None:
    said = _saved(path, keep) or "; without --out nothing was saved"
    voice.errors.print(f"homotopy trace: interrupted{said}")
    leave(INTERRUPTED)


def _saved(path: object, keep: Keep | None) -> str:
    """Save what there is, and say so."""
    if keep is None or not isinstance(path, Path):
        return ""
    start, stop = path.traced
    name = path.model.parameter
    return f"; {name} from {start:.6g} to {stop:.6g} is saved in {keep(path)}"


@contextmanager
def _watching(model: LossModel, voice: Voice) -> Iterator[Tell | None]:
    """A bar on a terminal; elsewhere none, so that the trace is not slowed down."""
    if not voice.terminal:
        yield None
        return
    columns = (
        TextColumn("{task.fields[name]}"),
        BarColumn(),
        TextColumn("{task.fields[t]}"),
        TextColumn("break-points {task.fields[breakpoints]}, jumps {task.fields[jumps]}"),
        TextColumn("{task.fields[objective]}"),
        TimeElapsedColumn(),
    )
    name = model.parameter
    with Progress(*columns, console=voice.errors, transient=True) as bar:
        task = bar.add_task(
            "", total=1.0, name=name, t="", breakpoints=0, jumps=0, objective="solving the start"
        )
        span: list[float] = []

        def tell(now: homotopy.Progress) -> None:
            if not span:
                start = model.span[0]
                span.append(float(start) if np.isfinite(start) else now.t)
            length = abs(float(model.span[1]) - span[0])
            part = abs(now.t - span[0]) / length if length > 0.0 else 1.0
            known = np.isfinite(now.objective)
            after = "after the last jump" if now.jumps else "at the start"
            bar.update(
                task,
                completed=min(part, 1.0),
                t=f"{name} = {now.t:.6g}",
                breakpoints=now.breakpoints,
                jumps=now.jumps,
                objective=f"objective {now.objective:.6g} {after}" if known else "",
            )

        yield tell
