"""A trace that is watched: a live bar, and whatever happens, what was traced is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from rich.progress import TextColumn

import homotopy
from homotopy import Homotopy, LossModel, Path, Status, TraceError, TraceInterrupted
from homotopy.progress import heard_by
from homotopy_plugins.cli.answers import INTERRUPTED, CommandError, Voice, leave
from homotopy_plugins.cli.bars import Forecast, forecasting

__all__ = ["Keep", "told", "traced"]

Keep = Callable[[Path], str]
Tell = Callable[[homotopy.Progress], None]


def traced(
    model: LossModel,
    voice: Voice,
    keep: Keep | None,
    *,
    start: Path | None = None,
    max_breakpoints: int | None = None,
    max_seconds: float | None = None,
) -> Path:
    """The path of `model`; `keep` saves one and returns where."""
    engine = Homotopy(model, max_breakpoints=max_breakpoints, max_seconds=max_seconds)
    try:
        with _watching(model, voice) as tell:
            # Lines at intervals, where there is no terminal, cost the trace nothing.
            lines = tell is None and not voice.quiet
            path = engine.trace(start=start, callback=tell, progress=lines)
    except TraceInterrupted as error:
        _interrupted(error.path, voice, keep)
    except KeyboardInterrupt:
        _interrupted(None, voice, keep)
    except TraceError as error:
        if error.limit is not None:
            raise CommandError(
                f"--max-seconds {max_seconds:g} ran out before the path began; allow more time"
            ) from error
        raise CommandError(f"{error}{_saved(error.path, keep)}") from error
    if not path.complete:
        voice.note(told(repr(path), path, max_breakpoints, max_seconds))
    return path


def told(text: str, path: Path, max_breakpoints: int | None, max_seconds: float | None) -> str:
    """What is said about a path, with the limit at which it stopped."""
    if path.status is not Status.LIMIT:
        return text
    counted = max_breakpoints is not None and (
        max_seconds is None or path.breakpoints.size >= max_breakpoints
    )
    limit = f"--max-breakpoints {max_breakpoints}" if counted else f"--max-seconds {max_seconds:g}"
    return text.replace(path.ending, f"stopped at {limit}")


def _interrupted(path: object, voice: Voice, keep: Keep | None) -> None:
    said = " before the path began; nothing was saved"
    if path is not None:
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
    name, forecast = model.parameter, Forecast()
    more = (
        TextColumn("{task.fields[t]}"),
        TextColumn("{task.fields[counts]}"),
    )
    with forecasting(voice.errors, *more) as bar:
        task = bar.add_task("solving the start", total=None, forecast=forecast, t="", counts="")
        span: list[float] = []

        def begin(part: float) -> None:
            if not span:
                forecast.report(part)

        def tell(now: homotopy.Progress) -> None:
            if not span:
                start = model.span[0]
                span.append(float(start) if np.isfinite(start) else now.t)
                # The start says nothing about the speed of the path.
                forecast.restart()
            length = abs(float(model.span[1]) - span[0])
            forecast.report(abs(now.t - span[0]) / length if length > 0.0 else 1.0)
            bar.update(
                task,
                description="tracing",
                t=f"{name} = {now.t:.4g}",
                counts=f"{now.breakpoints} break-points, {now.jumps} jumps",
            )

        with heard_by(begin):
            yield tell
