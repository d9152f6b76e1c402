"""One thread for BLAS, OpenMP and numba, here and in child processes: import this before NumPy.

Workers that share cores would fight for them, and peers would be measured with other thread pools
than ours.
"""

import os

THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

for _name in THREADS:
    os.environ[_name] = "1"
