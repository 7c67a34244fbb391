"""`VersionSpace`: geometry, settings, diagnostics, invariances."""

import dataclasses
import functools
import math
import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import BilliardResult, InfeasibleError, SampleOptions, VersionSpace, kernels
from bayespoint.datasets import load_banana
from bayespoint.papers.onion import onion
from bayespoint.results import billiard, diagnostics
from helpers import seed


def cone(m=20, r=5, index=0):
    """Examples labeled by a teacher in r dimensions, as Gram matrix and labels."""
    rng = np.random.default_rng(seed(index))
    x = rng.standard_normal((m, r))
    return x @ x.T, np.where(x @ rng.standard_normal(r) > 0, 1, -1)


def norms(space, duals):
    matrix = space.gram + space.offset + np.diag(space.softness)
    return np.sqrt(np.einsum("...i,ij,...j->...", duals, matrix, duals))


# --- margins and membership ---


def test_margins():
    gram, labels = cone()
    softness = np.linspace(0, 1, 20)
    space = VersionSpace(gram, labels, softness=softness, offset=1.0)
    duals = np.random.default_rng(seed(1)).standard_normal((3, 4, 20))
    expected = labels * (duals @ (gram + 1 + np.diag(softness)))
    np.testing.assert_allclose(space.margins(duals), expected, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match=r"dual_coef must have shape \(\.\.\., 20\)"):
        space.margins(np.ones((20, 3)))


def test_contains():
    space = VersionSpace(np.eye(3), [1, -1, 1])
    assert space.contains([1e-9, -5.0, 2.0])
    assert not space.contains([1.0, 0.0, 1.0])  # on a plane is not inside
    with pytest.raises(ValueError, match=r"dual_coef must have shape \(3,\)"):
        space.contains(np.ones((2, 3)))
    with pytest.raises(ValueError, match="dual_coef must be finite"):
        space.contains([1.0, np.nan, 1.0])


# --- feasible points and the largest margin ---


@pytest.mark.parametrize("method", ["light_trap", "max_margin"])
@pytest.mark.parametrize("settings", [{}, {"softness": 0.3}, {"offset": 1.0}])
@pytest.mark.filterwarnings("ignore:method='light_trap' did not find")  # the fallback is allowed
def test_feasible_points(method, settings):
    gram, labels = cone(m=60, r=12)
    space = VersionSpace(gram, labels, **settings)
    point = space.feasible_point(method, random_state=seed(0))
    assert point.shape == (60,)
    assert space.contains(point)
    assert norms(space, point) == pytest.approx(1.0, rel=1e-8)


def infeasible():
    """Random labels of points in five dimensions, no two of them on a line."""
    gram, labels = cone(m=60, r=5)
    return gram, np.random.default_rng(seed(3)).permutation(labels)


@pytest.mark.parametrize("attempt", ["sample", "feasible_point", "max_margin"])
def test_infeasible(attempt):
    gram, labels = infeasible()
    space = VersionSpace(gram, labels)
    arguments = {} if attempt == "max_margin" else {"random_state": seed(0)}
    with pytest.raises(InfeasibleError, match=r"softness|noise") as caught:
        getattr(space, attempt)(**arguments)
    error = caught.value
    assert isinstance(error, ValueError)
    assert 1 <= error.violations <= 30
    if error.certificate is not None:
        weights = np.asarray(error.certificate)
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0)
        combination = weights * labels
        length = math.sqrt(max(combination @ gram @ combination, 0.0))
        assert length / math.sqrt(gram.diagonal().max()) == pytest.approx(
            error.margin_bound, abs=1e-7
        )
    again = pickle.loads(pickle.dumps(error))
    assert (again.violations, str(again)) == (error.violations, str(error))
    # With softness any labels are feasible.
    assert VersionSpace(gram, labels, softness=0.1).max_margin().margin > 0


@pytest.mark.parametrize("settings", [{}, {"softness": 0.2}, {"offset": 1.0}])
def test_largest_margin_is_optimal(settings):
    """The dual is the shortest vector of a convex hull: the bound and the margin meet."""
    gram, labels = cone(m=40, r=8)
    space = VersionSpace(gram, labels, **settings)
    found = space.max_margin(tol=1e-8)
    margins = space.margins(found.dual_coef)
    assert norms(space, found.dual_coef) == pytest.approx(1.0, rel=1e-9)
    assert margins.min() == pytest.approx(found.margin, rel=1e-9)
    assert (found.dual_coef * labels >= 0).all()
    weights = found.dual_coef * labels / (found.dual_coef * labels).sum()
    assert found.margin == pytest.approx(norms(space, weights * labels), rel=1e-6)


def test_unfinished_search_is_reported():
    rng = np.random.default_rng(seed(0))
    # 25 steps find a positive margin, but not the largest, which needs more active examples.
    x = rng.standard_normal((40, 100))
    labels = np.where(x[:, 0] > 0, 1, -1)
    x[:, 0] += 3.0 * labels
    with pytest.warns(ConvergenceWarning, match=r"by .* margins after 25 steps; tol=1e-08"):
        found = VersionSpace(x @ x.T, labels).max_margin(max_iter=25)
    assert not found.converged
    assert "not converged" in repr(found)


# --- the billiard ---


@pytest.fixture(scope="module")
def long_run():
    gram, labels = cone()
    space = VersionSpace(gram, labels)
    return space, space.sample(length=3000.0, n_draws=250, random_state=seed(1))


def test_result(long_run):
    space, result = long_run
    assert isinstance(result, BilliardResult)
    assert repr(result).startswith("<BilliardResult: m=20, 4 x 250 draws")
    assert "3000 rad per trajectory" in result.summary()
    assert result.draws.shape == (4, 250, 20)
    assert (space.margins(result.draws) > 0).all()
    np.testing.assert_allclose(norms(space, result.draws), 1.0, rtol=1e-8)
    np.testing.assert_allclose(norms(space, result.center), 1.0, rtol=1e-8)
    assert space.contains(result.center)
    assert 0 < result.center_norm <= 1
    assert result.crossings.sum() == 0
    assert result.hits.sum() == result.bounces.sum() > 0
    np.testing.assert_array_equal(result.support, np.flatnonzero(result.hits))
    assert result.length == pytest.approx(3000.0, rel=1e-6)
    assert result.stop_reason == "length"
    assert result.mean_violations == 0
    assert 100 < result.ess < 2000
    assert 0.98 < result.r_hat < 1.05
    assert 0 < result.center_error < 0.1
    assert result.drift < 1e-8


def test_warnings():
    space = VersionSpace(*cone())
    with pytest.warns(
        ConvergenceWarning,
        match=r"the estimated center_error is \S+ radians \(tol=0.0001 was asked for\)",
    ):
        space.sample(tol=1e-4, options=SampleOptions(max_bounces=20_000), random_state=seed(0))
    result = space.sample(length=1000.0, n_draws=100, random_state=seed(0))
    assert result.convergence_messages(None) == []
    assert result.convergence_messages(0.5) == []
    # One trajectory far from the others.
    apart = {"functionals": result.functionals + np.array([0, 0, 0, 9.0])[:, None, None]}
    for change, text in [
        (apart, "the trajectories disagree: R-hat is"),
        ({"drift": 1e-5}, "drifted by 1e-05"),
    ]:
        (message,) = dataclasses.replace(result, **change).convergence_messages(None)
        assert text in message
    # A run that met its tolerance needs no warning.
    met = dataclasses.replace(result, **apart, stop_reason="tol", center_error=0.01)
    assert met.convergence_messages(0.1) == []
    assert len(dataclasses.replace(met, center_error=np.nan).convergence_messages(0.1)) == 1


def test_allowed_r_hat():
    """1.01, or more for few draws, of which R-hat exceeds it by chance."""

    def allowed(n_trajectories, ess):
        return billiard.allowed_r_hat(n_trajectories, ess, billiard.MAX_R_HAT, billiard.CHANCE)

    assert allowed(4, 4000) == 1.01
    assert 1.05 < allowed(4, 200) < 1.1
    assert allowed(1, 50) > allowed(2, 100) > 1.1
    # Independent draws hardly ever exceed it.
    draws = np.random.default_rng(seed(0)).standard_normal((4, 50, 1000))
    above = diagnostics.r_hat(draws) > allowed(4, 200)
    assert above.mean() < 2e-3
    draws[3] += 3.0
    assert (diagnostics.r_hat(draws) > allowed(4, 200)).all()


def test_few_draws_are_told():
    space = VersionSpace(*cone())
    with pytest.warns(ConvergenceWarning, match=r"draws are worth \d+ independent ones \(below"):
        space.sample(length=20.0, n_trajectories=1, n_draws=1000, random_state=seed(0))
    few = space.sample(length=1000.0, n_draws=3, random_state=seed(0))  # as few as were asked for
    assert math.isnan(few.r_hat)
    assert math.isnan(few.ess)
    assert few.summary()
    (message,) = few.convergence_messages(None, 100)
    assert "3 of 100 draws are too few to tell" in message


def test_a_trap_that_does_not_catch_says_so():
    """Margins of 1e-7 of the feature vectors' length."""
    x = np.random.default_rng(seed(0)).standard_normal((200, 3))
    y = np.sign(x[:, 0] + 0.3 * x[:, 1] ** 2)
    space = VersionSpace(kernels.RBF(1000.0)(x), y, offset=1.0)
    with pytest.warns(ConvergenceWarning, match="method='light_trap' did not find a point"):
        assert space.contains(space.feasible_point(random_state=seed(0)))


def test_start():
    space = VersionSpace(*cone())
    inside = space.max_margin().dual_coef
    result = space.sample(length=200.0, options=SampleOptions(start=inside), random_state=seed(0))
    assert result.start == ("given",) * 4
    outside = -inside
    with pytest.raises(ValueError, match=r"start must be in version space.* violates 20 of 20"):
        space.sample(length=200.0, options=SampleOptions(start=outside))
    mixed = space.sample(
        length=200.0, options=SampleOptions(start=outside, transparency=0.5), random_state=seed(0)
    )
    assert mixed.mean_violations > 0


def test_same_seed_same_bits_for_any_number_of_threads():
    space = VersionSpace(*cone(m=60, r=12), softness=0.1)
    run = {"n_trajectories": 5, "tol": 0.05, "random_state": seed(11)}
    reference = space.sample(**run)
    for n_jobs in (1, 2, 8, -1):
        result = space.sample(n_jobs=n_jobs, **run)
        for field in dataclasses.fields(result):
            value, expected = getattr(result, field.name), getattr(reference, field.name)
            if field.name == "state":
                value, expected = value["bytes"], expected["bytes"]
            np.testing.assert_array_equal(value, expected, err_msg=field.name)
    other = space.sample(**run | {"random_state": seed(12)})
    assert not np.array_equal(other.draws, reference.draws)


def test_generators_as_seeds():
    space = VersionSpace(*cone())
    for make in (np.random.default_rng, np.random.RandomState):
        one, two = (space.sample(length=200.0, random_state=make(seed(3))).center for _ in range(2))
        np.testing.assert_array_equal(one, two)
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed(3))  # noqa: NPY002
    one = space.sample(length=200.0).center
    np.random.seed(seed(3))  # noqa: NPY002
    np.testing.assert_array_equal(one, space.sample(length=200.0).center)
    np.random.set_state(state)  # noqa: NPY002


def test_diagnostics_are_those_of_the_watched_coordinates(long_run):
    (K, _), result = cone(), long_run[1]
    q = result.functionals.shape[2]
    watched = np.arange(q) * len(K) // q
    expected = result.draws @ K[:, watched] / np.sqrt(np.diag(K)[watched])
    np.testing.assert_allclose(result.functionals, expected, atol=1e-8)
    assert result.ess == diagnostics.ess_bulk(result.functionals).min()
    many = dataclasses.replace(result, functionals=np.repeat(result.functionals, 50, axis=1))
    thinned = many.functionals[:, :: -(-many.functionals.shape[1] // 1000)]
    assert many.r_hat == diagnostics.r_hat(thinned).max()


@pytest.mark.parametrize("index", [1, 2])
def test_a_corner_is_not_taken_for_the_whole(index):
    """All trajectories start in a corner of version space, which they take long to leave.

    Meanwhile they agree on the center of the corner, closely.
    """
    X, y = load_banana(return_X_y=True)
    some = np.random.default_rng(seed(index)).permutation(len(X))[:400]
    space = VersionSpace(kernels.RBF(0.5)(X[some]), y[some])
    with pytest.warns(ConvergenceWarning) as told:
        result = space.sample(
            tol=0.05, options=SampleOptions(max_bounces=30_000), random_state=seed(index)
        )
    assert result.stop_reason == "max_bounces"
    assert any("the trajectories disagree: R-hat is" in str(w.message) for w in told)


def test_a_callback_is_one_from_the_beginning():
    """A callback is checked even if the run ends before calling it."""
    space = VersionSpace(np.eye(3), [1, 1, -1], softness=0.1)
    for call in (
        space.sample,
        space.evidence,
        space.feasible_point,
        space.max_margin,
        functools.partial(onion, space, (1, 1)),
    ):
        with pytest.raises(TypeError, match="callback must be a callable or None; got 3"):
            call(callback=3)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300])
def test_a_start_is_a_direction(size):
    space = VersionSpace(np.eye(2), [1, -1])
    one, other = (
        space.sample(
            length=100.0,
            options=SampleOptions(start=scale * np.array([1.0, -2.0])),
            random_state=seed(0),
        )
        for scale in (1.0, size)
    )
    np.testing.assert_allclose(other.center, one.center, rtol=1e-9)
