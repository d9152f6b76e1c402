"""``python -m homotopy_plugins.cli``."""

from homotopy_plugins.cli import main

main()
