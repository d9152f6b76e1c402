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

BIG = 10**400
FAR = [
    ({"C": 1e300}, ModelError, r"C=1e\+300 is out of range .*between 1e-100 and 1e\+100; choose"),
    ({"C": 1e-320}, ModelError, r"C=9.99989e-321 is out of range"),
    ({"C": 1e60, "sample_weight": [1, 1e60, 0, 1]}, ModelError, r"sample_weight from 1 to 1e\+60"),
    ({"C": 1e-60, "sample_weight": [1, 1e-60, 0, 1]}, ModelError, "is out of range"),
    ({"C": BIG}, ModelError, "C must be finite, got an integer of that size"),
    ({"C": -BIG}, ModelError, "C must be finite, got an integer of that size"),
    ({"C": "1.5"}, ModelError, "C must be a number, got '1.5'"),
    ({"C": True}, ModelError, "C must be a number, got True"),
    ({"C": np.array([1.0])}, ModelError, r"C must be a number, got array\(\[1.\]\)"),
    ({"C": [1.0]}, ModelError, r"C must be a number, got \[1.0\]"),
    ({"C": 1 + 2j}, ModelError, r"C must be a number, got \(1\+2j\)"),
    ({"gamma": 1e-320}, ModelError, "gamma=9.99989e-321 underflows: .*every kernel value rounds"),
    ({"gamma": 1e-18}, ModelError, "gamma=1e-18 underflows: squared distances .* at most 5"),
    ({"gamma": 1e308}, ModelError, r"gamma=1e\+308 overflows with squared distances up to 5"),
    ({"gamma": BIG}, ModelError, "gamma must be finite"),
    ({"gamma": 1e-320, "kernel": "poly"}, ModelError, "poly kernel underflows with gamma=9.9"),
    ({"gamma": 1e-320, "kernel": "poly", "coef0": 1.0}, ModelError, "every kernel value is the"),
    ({"gamma": 1e300, "kernel": "poly"}, ModelError, "poly kernel overflows with .*degree=3"),
    ({"gamma": 1e300, "kernel": "sigmoid"}, ModelError, "sigmoid kernel overflows with gamma"),
    ({"gamma": 1e-300, "kernel": "sigmoid"}, ModelError, "sigmoid kernel underflows with gamma"),
    ({"coef0": 1e300, "kernel": "poly"}, ModelError, r"coef0=1e\+300 on rows of X"),
    ({"coef0": 1e30, "kernel": "poly"}, ModelError, r"beside coef0=1e\+30 it leaves nothing"),
    ({"degree": 1000, "kernel": "poly", "gamma": 2.0}, ModelError, "overflows .*degree=1000"),
    ({"degree": BIG, "kernel": "poly"}, ModelError, "degree must be at most 1000000"),
    ({"degree": True, "kernel": "poly"}, ModelError, "degree must be a positive integer, got True"),
    ({"degree": np.array([2]), "kernel": "poly"}, ModelError, "degree must be a positive integer"),
    ({"theta": BIG, "path": "s"}, ModelError, "theta must be finite"),
    ({"theta": True, "path": "s"}, ModelError, "theta must be a number, got True"),
    ({"s": -BIG}, ModelError, "s must be finite"),
    ({"cache_size": 0}, ModelError, "cache_size must be positive and finite, got 0"),
    ({"cache_size": BIG}, ModelError, "cache_size must be finite"),
    ({"fit_intercept": "a"}, ModelError, "fit_intercept must be True or False, got 'a'"),
    ({"fit_intercept": None}, ModelError, "fit_intercept must be True or False, got None"),
    ({"fit_intercept": np.ones(2)}, ModelError, "fit_intercept must be True or False"),
    ({"X": spoiled(1e160)}, DataError, r"X holds numbers of size 1e\+160, .*at most 1e\+100"),
    ({"X": sp.csr_matrix(spoiled(-1e160))}, DataError, r"X holds numbers of size 1e\+160"),
    ({"X": 1e-160 * X, "kernel": "linear"}, ModelError, "linear kernel underflows on rows of X"),
    ({"X": 1e-160 * X}, ModelError, "gamma=0.5 underflows"),
    ({"X": 1e160 * K, "kernel": "precomputed"}, DataError, r"X holds numbers of size 5e\+160"),
    ({"X": np.where(K > 2, np.nan, K), "kernel": "precomputed"}, DataError, r"X\[2, 2\] is nan"),
    ({"kernel": lambda A, B: 1e200 * A @ B.T}, ModelError, r"kernel values up to 5e\+200"),
    ({"kernel": ["rbf"]}, ModelError, r"kernel must be one of .*got \['rbf'\]"),
    ({"path": ["s"]}, ModelError, r"path must be 'theta' or 's', got \['s'\]"),
    ({"sample_weight": [1, 1e200, 1, 1]}, DataError, "sample_weight holds numbers of size 1e"),
]

HINGE = [
    ({"s": -1e300}, ModelError, r"s=-1e\+300 is beyond what can be computed with"),
    ({"y": np.ones(4)}, DataError, r"y has one class \(1.0\)"),
    ({"y": [0, 1, 2, 1]}, DataError, r"y has 3 classes \(0, 1, 2\); HingeRamp separates two"),
    ({"y": ["a", "b", "c", "d"]}, DataError, "y has 4 classes"),
    ({"y": np.array(["a", 1, None, 2.0], dtype=object)}, DataError, "y mixes labels"),
    ({"s": 1.5}, ModelError, r"s must be at most 1 .*got 1.5"),
    ({"s": 1.5, "path": "s"}, ModelError, r"s must be at most 1 .*got 1.5"),
]

LAD = [
    ({"s": 1e160}, ModelError, r"s=1e\+160 is beyond what can be computed with; .*at most 1e\+100"),
    ({"path": "s", "s_stop": 1e160}, ModelError, r"s_stop=1e\+160 is beyond"),
    ({"y": [1e160, 0.0, 0.0, 0.0]}, DataError, r"y holds numbers of size 1e\+160"),
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
@pytest.mark.parametrize(("changes", "error", "message"), BOTH + FAR, ids=identify)
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
@pytest.mark.parametrize(
    "changes",
    [
        {"C": np.float32(0.5)},
        {"C": np.int64(3)},
        {"C": np.array(2.0)},
        {"gamma": 1e300, "X": np.zeros((4, 2))},
        {"gamma": 1e-300, "X": np.ones((4, 2))},
        {"gamma": 1e300},
        {"kernel": "linear", "X": np.zeros((4, 2))},
        {"kernel": "poly", "coef0": 1e-300},
        {"kernel": "poly", "degree": np.int32(2)},
        {"fit_intercept": np.True_},
        {"fit_intercept": 1},
        {"sample_weight": [1e-6, 1e6, 0.0, 1.0]},
        {"cache_size": 1e-320},
    ],
    ids=identify,
)
def test_what_is_odd_and_can_be_computed(plugin, changes):
    assert Homotopy(build(plugin, changes)).trace().certify().ok


def test_another_c_is_checked_too():
    with pytest.raises(ModelError, match=r"C=1e\+300 is out of range"):
        build(HingeRamp, {}).varied(C=1e300)


def test_new_rows_so_far_out_that_a_kernel_overflows_are_refused():
    path = Homotopy(build(HingeRamp, {"kernel": "poly", "degree": 4, "coef0": 1.0})).trace()
    with pytest.raises(DataError, match="poly kernel of degree 4 overflows on rows so far out"):
        path.decision_function([[1e99, 1e99]], 0.5)
    with pytest.raises(DataError, match=r"X holds numbers of size 1e\+200"):
        path.decision_function([[1e200, 0.0]], 0.5)


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
