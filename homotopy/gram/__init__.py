"""The quadratic form Q as an operator.

The engine only uses columns, blocks and products of Q, so a plugin chooses how much of it to
store: `DenseGram` holds the matrix, `KernelGram` computes columns when first needed, `LinearGram`
works on the features and never forms an n x n matrix.
"""

from homotopy.gram.base import Gram
from homotopy.gram.dense import DenseGram
from homotopy.gram.kernel import MEMORY, KernelGram, with_rows
from homotopy.gram.linear import LinearGram

__all__ = ["MEMORY", "DenseGram", "Gram", "KernelGram", "LinearGram", "with_rows"]
