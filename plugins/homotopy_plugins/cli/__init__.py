"""The command line ``homotopy``: a table goes in, a path, a machine or a list of rows comes out.

What a command does is in a file of its own name or of what it is about: `files`
reads tables (`texts` and `formats` of one kind each, `cells` what people write into them), `kinds`
looks at columns, `encoding` makes numbers of them, `recipes` builds models and says how, `tracing`
follows a path, `bars` shows how far things are, `sizes` what to expect, `machines` keeps what
predicts, `answers` is what is said and how a command ends. `app` only binds them to options.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

__all__ = ["load", "main"]

NEEDED = ("typer", "rich", "pandas", "sklearn")


def main() -> None:
    """Run the command that the arguments of the process name."""
    load()()


def load() -> Callable[[], None]:
    """What runs the command; without the packages of the extra it says so and ends."""
    try:
        from homotopy_plugins.cli.app import app
    except KeyboardInterrupt:
        sys.stderr.write("homotopy: interrupted; nothing was done\n")
        sys.exit(130)
    except ImportError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in NEEDED:
            raise
        sys.stderr.write(
            f"homotopy: the command line needs {missing}, which is not installed; "
            "install homotopy-qp[cli]\n"
        )
        sys.exit(2)
    return partial(app, prog_name="homotopy")
