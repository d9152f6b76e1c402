"""Bad input is refused by our own errors, which name the object and the value."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from homotopy import DataError, Homotopy, HomotopyError, ModelError
from homotopy_plugins import HingeRamp, LADRamp

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 0.5]])
Y = np.array([1.0, -1.0, 1.0, -1.0])
K = X @ X.T


def spoiled(value, i=2, j=1):
    bad = X.copy()
    bad[i, j] = value
    return bad


def lopsided():
    bad = K.copy()
    bad[0, 1] += 0.5
    return bad


BOTH = [
    ({"X": spoiled(np.nan)}, DataError, r"X\[2, 1\] is nan"),
    ({"X": spoiled(np.inf)}, DataError, r"X\[2, 1\] is inf"),
    ({"X": sp.csr_matrix(spoiled(np.nan))}, DataError, "X holds values that are not finite"),
    ({"X": X[0]}, DataError, r"X must be two-dimensional .*got shape \(2,\)"),
    ({"X": X[None]}, DataError, r"two-dimensional .*got shape \(1, 4, 2\)"),
    ({"X": [["a", "b"]] * 4}, DataError, "X must be numeric"),
    ({"X": np.empty((0, 2)), "y": []}, DataError, r"X is empty, shape \(0, 2\)"),
    ({"X": np.empty((4, 0))}, DataError, r"X is empty, shape \(4, 0\)"),
    ({"X": X[:3]}, DataError, r"X has 3 rows but y has shape \(4,\)"),
    ({"y": Y[:3]}, DataError, r"X has 4 rows but y has shape \(3,\)"),
    ({"y": Y[:, None]}, DataError, r"X has 4 rows but y has shape \(4, 1\)"),
    ({"y": np.array([1.0, -1.0, np.nan, 1.0])}, DataError, r"y\[2\] is nan"),
    ({"C": 0.0}, ModelError, "C must be positive and finite, got 0.0"),
    ({"C": -1.0}, ModelError, "C must be positive and finite, got -1.0"),
    ({"C": np.inf}, ModelError, "C must be positive and finite, got inf"),
    ({"C": np.nan}, ModelError, "C must be positive and finite, got nan"),
    ({"C": "big"}, ModelError, "C must be a number, got 'big'"),
    ({"C": None}, ModelError, "C must be a number, got None"),
    ({"gamma": 0.0}, ModelError, "gamma must be positive and finite, got 0.0"),
    ({"gamma": -2.0}, ModelError, "gamma must be positive and finite, got -2.0"),
    ({"gamma": np.inf}, ModelError, "gamma must be positive and finite, got inf"),
    ({"gamma": "scale"}, ModelError, "gamma must be a number, got 'scale'"),
    ({"kernel": "cosine"}, ModelError, "kernel must be one of .*got 'cosine'"),
    ({"kernel": None}, ModelError, "kernel must be one of .*got None"),
    ({"kernel": "poly", "degree": 0}, ModelError, "degree must be a positive integer, got 0"),
    ({"kernel": "poly", "degree": 1.5}, ModelError, "degree must be a positive integer, got 1.5"),
    ({"kernel": "poly", "coef0": np.nan}, ModelError, "coef0 must be .*finite, got nan"),
    ({"path": "C"}, ModelError, "path must be 'theta' or 's', got 'C'"),
    ({"theta": 1.5}, ModelError, r"theta must lie in \[0, 1\], got 1.5"),
    ({"theta": -0.1}, ModelError, r"theta must lie in \[0, 1\], got -0.1"),
    ({"theta": np.nan}, ModelError, r"theta must lie in \[0, 1\], got nan"),
    ({"theta": "x"}, ModelError, "theta must be a number, got 'x'"),
    ({"s": np.nan}, ModelError, "s must be .*got nan"),
    ({"s": np.inf}, ModelError, "s must be .*got inf"),
    ({"s": None}, ModelError, "s must be a number, got None"),
    ({"sample_weight": [1, 1, -1, 1]}, DataError, r"sample_weight\[2\] is -1"),
    ({"sample_weight": [1, 1, np.nan, 1]}, DataError, r"sample_weight\[2\] is nan"),
    ({"sample_weight": [1, 1, 1]}, DataError, r"sample_weight has shape \(3,\)"),
    ({"sample_weight": [0, 0, 0, 0]}, DataError, "every sample_weight is 0"),
    ({"sample_weight": "balanced"}, HomotopyError, "sample_weight"),
    ({"X": K[:, :3], "kernel": "precomputed"}, DataError, r"must be square, got shape \(4, 3\)"),
    ({"X": lopsided(), "kernel": "precomputed"}, DataError, "not symmetric .*0.5"),
    (
        {"X": K - 3 * np.eye(4), "kernel": "precomputed"},
        DataError,
        r"kernel matrix is indefinite \(eigenvalues from -3",
    ),
    ({"X": -K, "kernel": "precomputed"}, DataError, "kernel matrix is indefinite"),
    (
        {"X": 3.0 * X, "kernel": "sigmoid", "gamma": 1.0, "coef0": -2.0},
        DataError,
        "kernel matrix is indefinite",
    ),
    ({"kernel": lambda A, B: A @ B.T - 9.0}, DataError, "kernel matrix is indefinite"),
    ({"kernel": lambda A, B: np.ones(3)}, DataError, r"kernel returned shape \(3,\)"),
    ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, DataError, "not finite"),
    ({"kernel": lambda A, B: A[:, :1] + 0 * (A @ B.T)}, DataError, "not symmetric"),
]

HINGE = [
    ({"y": np.ones(4)}, DataError, r"y has one class \(1.0\)"),
    ({"y": [0, 1, 2, 1]}, DataError, r"y has 3 classes \(0, 1, 2\); hinge-ramp separates two"),
    ({"y": ["a", "b", "c", "d"]}, DataError, "y has 4 classes"),
    ({"y": np.array(["a", 1, None, 2.0], dtype=object)}, DataError, "y mixes labels"),
    ({"s": 1.5}, ModelError, r"s must be at most 1 .*got 1.5"),
    ({"s": 1.5, "path": "s"}, ModelError, r"s must be at most 1 .*got 1.5"),
]

LAD = [
    ({"y": ["a", "b", "c", "d"]}, DataError, "y must be numeric"),
    ({"y": [1.0, np.inf, 0.0, 0.0]}, DataError, r"y\[1\] is inf"),
    ({"s": 0.0}, ModelError, "s must be positive and finite, got 0.0"),
    ({"s": -1.0}, ModelError, "s must be positive and finite, got -1.0"),
    ({"path": "s", "s_stop": 0.0}, ModelError, "s_stop must be positive and finite, got 0.0"),
    ({"path": "s", "s_stop": -2.0}, ModelError, "s_stop must be positive and finite, got -2.0"),
    ({"path": "s", "s_stop": np.nan}, ModelError, "s_stop must be positive and finite, got nan"),
    ({"path": "s", "s_stop": "low"}, ModelError, "s_stop must be"),
]


def build(plugin, changes):
    arguments = {"X": X, "y": Y, "C": 1.0} | changes
    return plugin(arguments.pop("X"), arguments.pop("y"), **arguments)


def identify(value):
    if isinstance(value, dict):
        return "-".join(value)
    return None


@pytest.mark.parametrize("plugin", [HingeRamp, LADRamp])
@pytest.mark.parametrize(("changes", "error", "message"), BOTH, ids=identify)
def test_what_no_plugin_takes(plugin, changes, error, message):
    with pytest.raises(error, match=message) as caught:
        build(plugin, changes)
    assert isinstance(caught.value, HomotopyError)
    assert isinstance(caught.value, ValueError)
    text = str(caught.value)
    assert plugin.__name__ in text or "kernel" in text


@pytest.mark.parametrize(("changes", "error", "message"), HINGE, ids=identify)
def test_what_hinge_ramp_does_not_take(changes, error, message):
    with pytest.raises(error, match=message):
        build(HingeRamp, changes)


@pytest.mark.parametrize(("changes", "error", "message"), LAD, ids=identify)
def test_what_lad_ramp_does_not_take(changes, error, message):
    with pytest.raises(error, match=message):
        build(LADRamp, changes)


@pytest.mark.parametrize("plugin", [HingeRamp, LADRamp])
def test_c_must_be_given_and_options_named(plugin):
    with pytest.raises(TypeError):
        plugin(X, Y)
    with pytest.raises(TypeError):
        plugin(X, Y, 1.0)


def test_the_input_arrays_are_neither_changed_nor_shared():
    rows, values = X.copy(), Y.copy()
    weights = np.ones(4)
    model = LADRamp(rows, values, C=1.0, sample_weight=weights)
    before = Homotopy(model).trace()
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(values, Y)
    rows[:], values[:], weights[:] = 7.0, 8.0, 9.0
    after = Homotopy(model).trace()
    np.testing.assert_array_equal(before.breakpoints, after.breakpoints)
    assert after.certify().ok


def test_a_slightly_indefinite_kernel_is_rounding():
    """A Gram matrix of rank two has eigenvalues of -1e-16: fine."""
    noisy = K - 1e-14 * np.eye(4)
    path = Homotopy(HingeRamp(noisy, Y, C=1.0, kernel="precomputed")).trace()
    assert path.certify().ok
