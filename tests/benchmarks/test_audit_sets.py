"""What the benchmark of the audit plants is what it says it plants."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
# Behind the tests themselves: some modules share a name.
sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import _audit_grown as grown
import _audit_sets as sets
from _audit_tables import Trials
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler


@pytest.mark.parametrize("data", sets.LABELS)
def test_sets_are_drawn_and_flipped_as_said(data):
    X, truth, _ = sets.drawn("", data, 0, 200, False)
    assert X.shape[0] == truth.size <= 200
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(np.unique(truth), np.arange(truth.max() + 1))
    for noise in ("10%", "class 20%", "0%"):
        y = sets.flipped(X, truth, noise, np.random.default_rng(0))
        wrong = y != truth
        assert set(y) <= set(truth)
        if noise.startswith("class"):
            assert np.unique(truth[wrong]).size == 1
            share = wrong.sum() / np.sum(truth == truth[wrong][0])
            assert share == pytest.approx(0.2, abs=0.05)
        else:
            assert wrong.sum() == round(sets.share_of(noise) * truth.size)


def test_boundary_errors_are_hard_and_clusters_hang_together():
    X, truth, _ = sets.drawn("", "circles", 0, 300, False)
    near = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(return_distance=False)
    mixed = np.mean(truth[near] != truth[:, None], axis=1)
    wrong = sets.flipped(X, truth, "boundary 15%", np.random.default_rng(0)) != truth
    assert wrong.sum() == 45
    assert mixed[wrong].mean() > 2.0 * mixed[~wrong].mean()
    wrong = sets.flipped(X, truth, "clusters 10%", np.random.default_rng(0)) != truth
    assert 20 <= wrong.sum() <= 45
    assert wrong[near[wrong]].mean() > 0.6


@pytest.mark.parametrize("noise", sets.MOVES)
def test_targets_are_moved_as_said(noise):
    X, truth, rng = sets.drawn("", "swiss roll", 0, 200, True)
    y = sets.moved(X, truth, noise, rng)
    assert np.sum(y != truth) <= round(sets.share_of(noise) * 200)
    assert np.sum(y != truth) >= 0.8 * round(sets.share_of(noise) * 200)
    if noise.startswith("region"):
        rows = np.flatnonzero(y != truth)
        assert np.ptp(y[rows] - truth[rows]) < 1e-9
        scaled = StandardScaler().fit_transform(X)
        assert scaled[rows].std(axis=0).mean() < 0.7 * scaled.std(axis=0).mean()


def test_no_table_is_learned_from_and_measured_on():
    measured = {*sets.SIGNED, *sets.ABOVE, *sets.AMOUNTS, *sets.LABELS, *sets.TARGETS}
    assert not measured & {*grown.LABELS, *grown.TARGETS}


@pytest.mark.parametrize("noise", grown.FLIPS)
def test_what_trees_are_grown_on(noise):
    rng = np.random.default_rng(0)
    X, truth = grown.LABELS["three"]("", 200, rng)
    y = grown.planted_labels(X, truth, noise, rng)
    share = float(noise.split()[1]) / 100.0
    assert (np.mean(y != truth) > 0.3 * share) or share == 0.0
    assert np.mean(y != truth) <= 2.5 * share


@pytest.mark.parametrize("number", range(8))
def test_tables_drawn_at_random(number):
    X, y = grown.LABELS[f"random {number}"]("", 100, np.random.default_rng(0))
    assert X.shape[0] == y.size == 300
    assert np.isfinite(X).all()
    assert 2 <= np.unique(y).size <= 3


def test_differences_are_paired_over_sets():
    results = {
        f"labels | {data} | 5% | {seed}": {"audit": {"ap": a + seed}, "other": {"ap": b + seed}}
        for data, a, b in (("one", 0.5, 0.4), ("two", 0.9, 0.6))
        for seed in (0, 1)
    }
    trials = Trials(results, "labels")
    gap, error = trials.gap("audit", "other", "ap")
    assert gap == pytest.approx(0.2)
    assert error == pytest.approx(0.1)
    assert trials.mean("audit", "ap", ("5%",)) == pytest.approx(1.2)
