"""Displays of a fitted search: what it found is drawn."""

import os

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, plotting

Figure = pytest.importorskip("matplotlib.figure").Figure

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))


def test_a_fitted_search_is_drawn_as_what_it_found():
    X, y = make_moons(60, noise=0.2, random_state=SEED)
    model = BayesPointClassifier("rbf", optimizer=None, random_state=SEED)
    for inner, name in [
        (model, "softness"),
        (make_pipeline(StandardScaler(), model), "bayespointclassifier__softness"),
    ]:
        search = GridSearchCV(inner, {name: [0.3, 1.0]}, cv=2)
        for display in (plotting.WallsDisplay, plotting.MarginDisplay, plotting.TuningDisplay):
            with pytest.raises(NotFittedError, match="This GridSearchCV instance is not fitted"):
                display.from_estimator(search, ax=Figure().add_subplot())
        with pytest.raises(NotFittedError, match="This GridSearchCV instance is not fitted"):
            plotting.DecisionDisplay.from_estimator(search, X, y, ax=Figure().add_subplot())
        found = search.fit(X, y).best_estimator_
        run = (found[-1] if hasattr(found, "named_steps") else found).billiard_
        walls = plotting.WallsDisplay.from_estimator(search, ax=Figure().add_subplot())
        np.testing.assert_array_equal(
            walls.impulse, plotting.WallsDisplay.from_result(run, ax=Figure().add_subplot()).impulse
        )
        np.testing.assert_array_equal(
            plotting.MarginDisplay.from_estimator(search, ax=Figure().add_subplot()).margins,
            plotting.MarginDisplay.from_estimator(found, ax=Figure().add_subplot()).margins,
        )
        decision = plotting.DecisionDisplay.from_estimator(search, X, y, ax=Figure().add_subplot())
        expected = plotting.DecisionDisplay.from_estimator(found, X, y, ax=Figure().add_subplot())
        np.testing.assert_array_equal(decision.response, expected.response)
        np.testing.assert_array_equal(decision.ringed, expected.ringed)
        assert decision.ringed.any()
    with pytest.raises(ValueError, match="estimator must have searched"):
        plotting.TuningDisplay.from_estimator(search, ax=Figure().add_subplot())
    search = clone(search).set_params(refit=False).fit(X, y)
    for display in (plotting.WallsDisplay, plotting.TuningDisplay):
        with pytest.raises(TypeError, match="fitted with refit=True; got a GridSearchCV"):
            display.from_estimator(search, ax=Figure().add_subplot())
