"""The papers' machine with fit and predict: its motions, layers, errors on data, and refusals."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayespoint
from bayespoint import InfeasibleError, SampleOptions, VersionSpace, kernels
from bayespoint.papers import dynamics
from bayespoint.papers.experiments import sets
from bayespoint.papers.experiments.table_1 import PRINTED
from bayespoint.papers.machine import BayesPointMachine
from helpers import cone, seed

OCTANT = np.eye(3), [1, 1, -1]


@parametrize_with_checks(
    [
        BayesPointMachine(),
        BayesPointMachine("linear", motion="flipper", softness=1.0, errors=0, N_max=100),
        BayesPointMachine(motion="geodesic", softness=0.3, TOL=0.3, threshold=True),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def machine(motion, **parameters):
    return BayesPointMachine(
        "precomputed", **{"motion": motion, "softness": 0, "random_state": seed(0)} | parameters
    )


@pytest.mark.parametrize(("motion", "most"), [("chord", 0.1), ("flipper", 0.1), ("geodesic", 0.02)])
def test_the_center_is_that_of_the_run(motion, most):
    """Of an octant that of the definition, but for the bias of the papers' motions."""
    model = machine(motion, n_balls=4, N_max=20_000).fit(*OCTANT)
    np.testing.assert_allclose(model.dual_coef_[0] * [1, 1, -1], 3**-0.5, atol=most)
    x, y = cone(m=30, r=5, seed=seed(1))
    found = machine(motion, softness=0.3, threshold=True, n_balls=2, N_max=500).fit(x @ x.T, y)
    space = VersionSpace(x @ x.T, y, softness=0.3, offset=1.0)
    known = {"n_trajectories": 2, "n_draws": 1, "random_state": seed(0)}
    known["options"] = SampleOptions(max_bounces=500)
    if motion == "geodesic":
        center = space.sample(**known).center
    else:
        center = dynamics.sample(space, getattr(dynamics, motion.title())(), **known).run.center
    np.testing.assert_array_equal(found.dual_coef_[0], center)
    assert found.decision_function((x @ x.T)[:1]) == pytest.approx(
        (x @ x.T)[0] @ center + center.sum()
    )


@pytest.mark.parametrize("motion", ["flipper", "geodesic"])
def test_layers(motion):
    """One error on the example labeled -1 leads into the next octant."""
    layered = machine(motion, errors=(1, 0), N_max=3000, n_balls=4).fit(*OCTANT)
    np.testing.assert_allclose(layered.dual_coef_[0], 3**-0.5, atol=0.2)
    for errors, weights in ((1, [[0, 1], [1, 0]]), ((0, 1), [[0, 1]]), ([[2.0]], [[1]])):
        layered.set_params(errors=errors).fit(*OCTANT)
        np.testing.assert_array_equal(layered.dual_coef_[0], layered.runs_[0].combine(weights))


def test_ends():
    by_share = machine("chord", TOL=0.01, N_max=10**6).fit(*OCTANT).runs_[0].run
    assert by_share.stop_reason == "weight_tol"
    assert machine("geodesic", TOL=0.01, N_max=10**6).fit(*OCTANT).runs_[0].center_error <= 0.01
    with pytest.warns(ConvergenceWarning, match="center_error"):
        machine("geodesic", TOL=0.01, N_max=10).fit(*OCTANT)
    often = machine("flipper", tau_max=1.0).fit(*OCTANT).runs_[0].escapes.sum()
    assert often > machine("flipper").fit(*OCTANT).runs_[0].escapes.sum()


@pytest.mark.parametrize("name", ["sonar", "heart"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of a corner
def test_errors_are_those_of_the_paper(name):
    kernel = kernels.RBF(sets.SETS[name].sigma)
    model = BayesPointMachine(kernel, softness=0, N_max=1000, random_state=0)
    errors = []
    for split in range(20):
        X, X_test, y, y_test = sets.split(name, seed(split))
        errors.append(100 * np.mean(model.fit(X, y).predict(X_test) != y_test))
    error = np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - PRINTED[name][2]) < 4 * np.hypot(error, PRINTED[name][3])


def test_copies_and_files(tmp_path):
    x, y = cone(m=30, r=3, seed=seed(2))
    three = np.where(y > 0, "a", np.where(x[:, 0] > 0, "b", "c"))
    model = BayesPointMachine(motion="flipper", errors=0, N_max=100, random_state=0).fit(x, three)
    assert [len(model.runs_), *model.dual_coef_.shape] == [3, 3, 30]
    model.save(tmp_path / "machine.skops")
    for again in (pickle.loads(pickle.dumps(model)), bayespoint.load(tmp_path / "machine.skops")):
        np.testing.assert_array_equal(again.decision_function(x), model.decision_function(x))


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"motion": "round"}, "motion must be one of 'chord', .*; got 'round'"),
        ({"errors": 1}, "errors must be None with motion='chord', which has none; got 1"),
        ({"motion": "flipper", "TOL": 0.1}, "TOL must be None .*; got 0.1"),
        ({"motion": "geodesic", "tau_max": 9.0}, "tau_max must be None .*; got 9.0"),
        ({"TOL": 1.0}, r"TOL must be a finite number in \(0, 1\); got 1.0"),
        ({"tau_max": -2.0}, "tau_max must be positive; got -2"),
        ({"N_max": 0}, "N_max must be .* at least 1; got 0"),
        ({"n_balls": 0}, "n_balls must be .* at least 1; got 0"),
        ({"softness": -1.0}, "softness must be .*; got -1.0"),
        ({"motion": "flipper", "errors": -1}, "errors must be .* at least 0; got -1"),
        ({"motion": "flipper", "errors": (0, 1, 2)}, "errors must be .*two; got 3"),
        ({"motion": "flipper", "errors": [[0.0, 0.0]]}, "errors must be .* not all 0; got"),
        ({"motion": "flipper", "errors": (2, 0)}, r"errors must .* crossed; got \(2, 0\)"),
        ({"motion": "geodesic", "errors": (0, 3)}, r"errors must .* crossed; got \(0, 3\)"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_refusals(parameters, match):
    with pytest.raises(ValueError, match=match):
        machine(**{"motion": "chord", "N_max": 50} | parameters).fit(*OCTANT)


def test_examples_that_are_not_separable():
    X, y = [[1.0, 0.0], [1.0, 0.0], [2.0, 1.0]], [0, 1, 1]
    with pytest.raises(InfeasibleError, match="Use softness > 0"):
        BayesPointMachine("linear", softness=0).fit(X, y)
    assert BayesPointMachine("linear", random_state=0).fit(X, y).score(X, y) > 0.5
