"""Stratified samples of examples."""

import numpy as np

from bayespoint.data.examples import subset
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
