"""Tables on terminals of any width: no number is broken, no text is squeezed."""

from __future__ import annotations

import io
import re
import sys

import pytest

from homotopy_plugins.cli.answers import Voice

GRID = ["C", "gamma", "robustness", "from", "to", "accuracy", "+-"]
ROWS = [
    [0.01, 0.0003291, 0.1234, 0.0004458, 0.0009337, 0.8833, 0.01054],
    [100.0, 0.1, 0.6898, 0.4458, 0.9337, 0.9, 0.02108],
]
SPARE = (("+-",), ("from", "to"), ("gamma",))
REASON = "the path predicts 'stayed' (91%); 10 of the 10 nearest rows are 'stayed'; an outlier"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def drawn(monkeypatch):
    """The lines of a table on a terminal of some width."""

    def draw(width, columns, rows, **options):
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", str(width))
            patch.setenv("TERM", "xterm")
            patch.setattr(sys, "stdout", Terminal())
            text = Voice().table(columns, rows, **options)
        return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()

    return draw


@pytest.mark.parametrize(
    ("width", "left_out"), [(80, ""), (60, "+-"), (45, "+- from to"), (30, "+- from to gamma")]
)
def test_columns_are_left_out_before_a_number_is_broken(drawn, width, left_out):
    lines = drawn(width, GRID, ROWS, spare=SPARE)
    kept = [k for k, name in enumerate(GRID) if name not in left_out.split()]
    assert all(len(line) <= width for line in lines)
    assert [line.split() for line in lines] == [
        [GRID[k] for k in kept],
        *([f"{row[k]:.4g}" for k in kept] for row in ROWS),
    ]


def test_a_long_text_stands_under_its_row_where_there_is_no_room_beside(drawn):
    columns, rows = ["line", "label_quality", "reason"], [[120, 0.04716, REASON], [7, 0.5, "short"]]
    beside = drawn(100, columns, rows, below="reason")
    assert beside[1].endswith(REASON.removesuffix(" outlier"))
    assert drawn(60, columns, rows, below="reason") == [
        "line  label_quality",
        " 120        0.04716",
        "  the path predicts 'stayed' (91%); 10 of the 10 nearest",
        "  rows are 'stayed'; an outlier",
        "   7            0.5",
        "  short",
    ]


def test_short_texts_stay_beside_their_rows(drawn):
    lines = drawn(30, ["line", "reason"], [[1, "short"]], below="reason")
    assert lines == ["line  reason", "   1  short"]
