"""Displays of fitted searches and pipelines draw their classifier."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, plotting
from bayespoint.kernels import RBF
from bayespoint.papers import displays
from helpers import SHIFT as SEED

Figure = pytest.importorskip("matplotlib.figure").Figure


@pytest.mark.long
def test_a_fitted_search_is_drawn_as_what_it_found():
    X, y = make_moons(60, noise=0.2, random_state=SEED)
    model = BayesPointClassifier(RBF(1.5), random_state=SEED)
    for inner, name in [
        (model, "softness"),
        (make_pipeline(StandardScaler(), model), "bayespointclassifier__softness"),
    ]:
        search = GridSearchCV(inner, {name: [0.3, 1.0]}, cv=2)
        with pytest.raises(NotFittedError, match="This GridSearchCV instance is not fitted"):
            plotting.TuningDisplay.from_estimator(search, ax=Figure().add_subplot())
        found = search.fit(X, y).best_estimator_
        last = found[-1] if hasattr(found, "named_steps") else found
        drawn, expected = (
            displays.WallsDisplay.from_estimator(one, ax=Figure().add_subplot())
            for one in (search, last)
        )
        np.testing.assert_array_equal(drawn.impulse, expected.impulse)
    search = clone(search).set_params(refit=False).fit(X, y)
    with pytest.raises(TypeError, match="fitted with refit=True; got a GridSearchCV"):
        plotting.TuningDisplay.from_estimator(search, ax=Figure().add_subplot())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_ladder_of_a_classifier():
    X, y = make_moons(30, noise=0.2, random_state=SEED)
    model = BayesPointClassifier(RBF(1.5), softness=0.5, label_noise=0.05, random_state=SEED)
    pipeline = make_pipeline(StandardScaler(), model)
    with pytest.raises(NotFittedError):
        displays.EvidenceDisplay.from_estimator(pipeline)
    pipeline.fit(X, y)
    ax = Figure().add_subplot()
    drawn = displays.EvidenceDisplay.from_estimator(pipeline, tol=0.3, random_state=1, ax=ax)
    assert drawn.ax_ is ax
    found = pipeline[-1].evidence(tol=0.1, random_state=0)
    assert abs(found.value - drawn.value) < 5 * np.hypot(found.error, drawn.error)
    plain = BayesPointClassifier(RBF(1.5), softness=0.5, random_state=SEED).fit(X, y)
    drawn = displays.EvidenceDisplay.from_estimator(plain, tol=0.3, random_state=1)
    found = plain.evidence(tol=0.1, random_state=0)
    assert abs(found.value - drawn.value) < 5 * np.hypot(found.error, drawn.error)
