"""Peak memory of a fit and of predictions."""

import sys
import tracemalloc

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, kernels
from bayespoint.landmarks import basis
from helpers import new_process

FIT = """
import resource, sys
import numpy as np
from bayespoint import BayesPointClassifier, kernels

def fit(m):
    X = np.random.default_rng(0).normal(size=(m, 10))
    model = BayesPointClassifier(
        kernels.RBF(2.0), softness=0.5, tol=0.5, n_draws=5, random_state=0
    )
    return model.fit(X, X[:, 0] > 0)

fit(50)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fit(int(sys.argv[1]))
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_a_fit_holds_the_matrix_and_its_factor():
    m = 2500
    run = new_process(FIT, m)
    # Blocks of columns and draws are 25 MB; a third matrix would be 50.
    assert int(run.stdout) < 2 * 8 * m**2 + 35e6


@pytest.mark.long
def test_predictions_take_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = BayesPointClassifier(kernels.RBF(2.0), softness=0.1, n_draws=10, random_state=0).fit(
        X, X[:, 0] > 0
    )
    points = rng.normal(size=(20_000, 3))
    whole = 8 * len(points) * len(X)
    expected = model.decision_function(points)
    monkeypatch.setattr(basis, "_BLOCK_BYTES", 2**20)
    calls = [
        lambda: model.decision_function(points),
        lambda: model.predict(points),
        lambda: model.predict(points, method="vote"),
        lambda: model.predict(points, method="gibbs"),
        lambda: model.predict_proba(points),
        lambda: model.predict_proba(points, method="mixture"),
    ]
    np.testing.assert_allclose(calls[0](), expected, rtol=1e-9, atol=1e-12)
    for call in calls:
        tracemalloc.start()
        call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < whole / 8
