"""Stratified samples of examples."""

import numpy as np

from bayespoint.data.examples import Examples, subset
from helpers import seed


def test_a_sample_keeps_rare_classes():
    rare = (np.arange(5000) % 50 == 0).astype(int)
    chosen = subset(rare, 500, seed(0))
    assert len(chosen) == len(np.unique(chosen)) == 500
    assert rare[chosen].sum() == 62
    few = (np.arange(5000) < 20).astype(int)
    assert set(range(20)) <= set(subset(few, 500, seed(0)))
    # Other classes are in proportion.
    common = (np.arange(5000) % 4 == 0).astype(int)
    assert common[subset(common, 500, seed(0))].sum() == 125


def test_every_class_is_in_a_sample_of_any_table():
    rng = np.random.default_rng(seed(1))
    for _ in range(500):
        n_classes = rng.integers(2, 12)
        sizes = np.ceil(rng.pareto(0.5, n_classes).clip(max=200))
        label = np.repeat(np.arange(n_classes), (sizes + 1).astype(int))
        m, size = len(label), int(rng.integers(1, 100))
        examples = Examples(np.arange(m)[:, None], label, np.ones(m))
        some = examples.sample(size, int(rng.integers(2**30)))
        least = n_classes if size >= n_classes else 0
        assert len(np.unique(some.label)) >= least
        assert len(some) == min(m, max(size, least))
