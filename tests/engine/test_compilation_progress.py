"""How far a compilation is: the number of reports that the bar counts on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import homotopy
from homotopy.compilation import compilation_heard
heard = []
with compilation_heard(heard.append):
    homotopy.compile_now(progress=False)
print(len(heard), heard[-1])
"""


@pytest.mark.slow
def test_a_full_compilation_fills_the_bar(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    reports, last = done.stdout.split()
    # A few functions more or less are not seen on a bar.
    assert int(reports) > 300
    assert 0.9 <= float(last) <= 1.0
