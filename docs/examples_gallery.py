"""How sphinx-gallery orders and runs the examples: what one saves into out/ is its picture."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from sphinx_gallery.scrapers import figure_rst

# What most come for, then one example per plugin by name, then those that are not run.
FIRST = (
    "robust_classification.py",
    "robust_regression.py",
    "my_first_loss.py",
    "own_plugin.py",
    "gallery.py",
)
LAST = (
    "demo.py",
    "robust_estimators.py",
    "wrong_labels.py",
    "multiclass.py",
    "dask_cluster.py",
)


class Order:
    """The key that examples are sorted by."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, int, str]:
        if name in FIRST:
            return 0, FIRST.index(name), name
        if name in LAST:
            return 2, LAST.index(name), name
        return 1, 0, name


class Run:
    """What is kept while an example runs."""

    began = 0.0
    exit = sys.exit


def saved_pictures(block: Any, block_vars: dict[str, Any], conf: dict[str, Any]) -> str:
    """Every PNG that the example has saved into out/ since the block before this one ended."""
    folder = Path(block_vars["src_file"]).parent / "out"
    saved = [file for file in folder.glob("*.png") if file.stat().st_mtime >= Run.began]
    names = []
    for file in sorted(saved, key=lambda file: file.stat().st_mtime):
        names.append(next(block_vars["image_path_iterator"]))
        shutil.copy(file, names[-1])
    Run.began = time.time()
    plt.close("all")
    return figure_rst(names, conf["src_dir"])


def finished(code: Any = None) -> None:
    """In place of `sys.exit` while an example runs: the end of an example is not that of Sphinx."""
    if code:
        raise RuntimeError(f"the example ended with exit code {code}")


def reset(conf: dict[str, Any], name: str, when: str) -> None:
    """Before an example nothing has been saved; after it `sys.exit` is Python's own again."""
    Run.began = time.time()
    sys.exit = finished if when == "before" else Run.exit  # type: ignore[assignment]
