"""The command ``homotopy``, before anything is loaded.

Loading takes a second or more, and Ctrl-C in the middle of it would end in a traceback of whatever
is being imported.  So this module imports nothing of the toolkit until its own handler is there.
"""

import os
import signal
import sys

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """The entry point."""
    before = signal.signal(signal.SIGINT, _end)
    # What is bound to options is loaded as well: commands take over from there.
    from homotopy_plugins.cli import load

    run = load()
    signal.signal(signal.SIGINT, before)
    run()


def _end(*_: object) -> None:
    """End at once: an exception could be caught by a module that is being imported."""
    sys.stderr.write("homotopy: interrupted; nothing was done\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
