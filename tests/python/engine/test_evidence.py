"""Volumes and evidence against closed forms, brute force and repetition."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import special
from sklearn.exceptions import ConvergenceWarning

from bayespoint import Evidence, InfeasibleError, VersionSpace, _core, kernels
from bayespoint.papers.onion import onion
from helpers import seed

LADDER = [0.0, 0.4]
"""A rate of 0 beside another one is on the ladder of transparencies; alone it takes the bridge."""


def gaussian_process(m, index, softness=0.3):
    """A few examples of a Gaussian process with probit noise."""
    rng = np.random.default_rng(seed(index))
    inputs = rng.standard_normal((m, 2))
    labels = np.where(inputs[:, 0] + 0.5 * rng.standard_normal(m) > 0, 1, -1)
    labels[:2] = 1, -1
    return VersionSpace(kernels.RBF(1.0)(inputs), labels, softness=softness, offset=1.0)


def brute_force(space, first, second):
    """Return ln p(y | noise of either class) and its error, over draws of f from the prior."""
    matrix = space.gram + space.offset + np.diag(space.softness)
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    observed = np.where(space.y > 0, 1 - second, 1 - first)
    flipped = np.where(space.y > 0, first, second)
    rng = np.random.default_rng(seed(99))
    f = rng.standard_normal((1_000_000, len(root))) @ root.T
    likelihood = np.where(f * space.y > 0, observed, flipped).prod(axis=1)
    return math.log(likelihood.mean()), likelihood.std() / likelihood.mean() / 1000


def random_labels(m=14):
    """Labels at random: infeasible, with the fewest violations of any direction.

    All directions next to an edge, where two planes meet, are looked at: every piece that the
    planes cut out of space has edges. Labels are drawn until two violations are the fewest at
    least, and a thousandth of all directions has them, which no run can miss.
    """
    rng = np.random.default_rng(seed(4))
    while True:
        x = rng.standard_normal((m, 3))
        labels = rng.choice([-1, 1], m)
        w = rng.standard_normal((3, 200_000))
        i, j = np.triu_indices(m, 1)
        edges = np.cross(x[i], x[j])
        wrong = (edges @ x.T) * labels < 0
        wrong[np.arange(len(i)), i] = wrong[np.arange(len(i)), j] = False
        # The opposite end of an edge violates the other m - 2 examples.
        fewest = int(np.minimum(wrong.sum(axis=1), m - 2 - wrong.sum(axis=1)).min())
        share = (((x @ w) * labels[:, None] <= 0).sum(axis=0) == fewest).mean()
        if fewest >= 2 and share > 1e-3:
            return VersionSpace(x @ x.T, labels), fewest


# --- values ---


@pytest.mark.parametrize("gram", [np.outer([1, 2, -1], [1, 2, -1]), [[4.0]], np.ones((5, 5))])
def test_one_direction_is_refused(gram):
    space = VersionSpace(gram, np.ones(len(gram)))
    for run in (space.sample, space.evidence, lambda: space.evidence(0.2), lambda: onion(space)):
        with pytest.raises(ValueError, match="gram must be of two dimensions or more"):
            run()


@pytest.mark.parametrize("what", ["volume", "rate", "pair", "far pair", "rates", "ladder"])
def test_errors_are_honest(what):
    """The spread of repeated runs agrees with their errors, and the mean with the exact value."""
    space = gaussian_process(6, index=7)
    rates = {
        "rate": 0.03,
        "pair": (0.05, 0.2),
        "far pair": (0.0, 0.4),
        "rates": [0.03],
        "ladder": LADDER,
    }.get(what, 0.0)
    runs = [space.evidence(rates, tol=0.1, random_state=seed(index)) for index in range(60)]
    values = np.array([np.ravel(run.value)[0] for run in runs])
    reported = math.sqrt(np.mean([np.square(np.ravel(run.error)[0]) for run in runs]))
    ratio = values.std(ddof=1) / reported
    # The deviation of 60 has a relative error of 9 %.
    assert 1 / 1.5 < ratio < 1.5
    of_classes = rates if isinstance(rates, tuple) else np.ravel(rates)[:1]
    exact, error = brute_force(space, *np.broadcast_to(of_classes, 2).tolist())
    bias = values.mean() - exact
    allowed = 4 * math.hypot(error, values.std() / math.sqrt(60))
    assert abs(bias) < allowed + reported**2 / 2  # of the logarithm of a mean


# --- other results ---


def test_fields():
    space = gaussian_process(12, index=2)
    found = space.evidence(0.05, random_state=seed(0))
    assert isinstance(found, Evidence)
    assert repr(found).startswith(f"<Evidence: {found.value:.6g} ± {found.error:.2g} nats")
    assert "rungs" in found.summary()
    assert found.n_rungs == len(found.log_transparency) == len(found.mean_violations)
    assert found.log_transparency[0] == 0
    assert (np.diff(found.log_transparency) < 0).all()
    assert found.log_transparency[-1] >= math.log(0.05 / 0.95) - 1e-9
    assert found.mean_violations[0] == pytest.approx(6, abs=1.5)
    assert found.mean_violations[-1] < found.mean_violations[0]
    assert np.exp(found.log_share).sum() == pytest.approx(1.0)
    negative, positive = int((space.y < 0).sum()), int((space.y > 0).sum())
    assert (found.layers <= [negative, positive]).all()
    sums = np.bincount(found.layers.sum(axis=1), weights=found.layer_shares, minlength=13)
    np.testing.assert_allclose(sums, np.isfinite(found.log_share), atol=1e-9)
    # The value is a function of the shares.
    powers = np.arange(13) * math.log(0.05 / 0.95)
    z = special.logsumexp(found.log_share + powers) + 12 * math.log(0.95)
    assert found.value == pytest.approx(z)
    bridge = space.evidence(tol=0.2, random_state=seed(0))
    assert bridge.n_rungs >= 2
    assert len(bridge.log_transparency) == len(bridge.log_share) == len(bridge.layers) == 0
    several = space.evidence(np.linspace(0, 0.4, 9), tol=0.5, random_state=seed(0))
    assert "..." in repr(several)
    assert "ln kappa" in several.summary()


def test_same_seed_same_bits_for_any_number_of_threads():
    space = gaussian_process(20, index=3)
    for label_noise in ([0.0, 0.1], (0.1, 0.2)):
        one, two = (
            space.evidence(label_noise, tol=0.2, random_state=seed(5), n_jobs=jobs)
            for jobs in (1, 2)
        )
        for field in dataclasses.fields(one):
            values = getattr(one, field.name), getattr(two, field.name)
            np.testing.assert_array_equal(*values, err_msg=field.name)
        other = space.evidence(label_noise, tol=0.2, random_state=seed(6))
        assert not np.array_equal(other.value, one.value)


# --- infeasible labels ---


def check_certificate(space, error):
    """The combination of the examples with these weights has the length of the margin's bound."""
    weights = error.certificate
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)
    gram = space.gram + space.offset + np.diag(space.softness)
    combined = space.y * weights
    length = math.sqrt(max(combined @ gram @ combined, 0.0) / gram.diagonal().max())
    # The square root of a sum with a rounding error of 1e-16.
    assert error.margin_bound == pytest.approx(length, abs=5e-8)


def test_infeasible():
    space, fewest = random_labels()
    for rates in (0.0, [0.0, 0.0]):
        with pytest.raises(InfeasibleError, match=r"softness") as caught:
            space.evidence(rates, max_length=2000.0, random_state=seed(0))
        if rates == 0.0:  # by the search for a margin, which proves it
            assert caught.value.violations >= fewest
            assert 0 <= caught.value.margin_bound < 1e-6
        else:
            assert caught.value.violations == fewest
        check_certificate(space, caught.value)
    found = space.evidence(0.1, tol=0.03, random_state=seed(0))
    exact, error = brute_force(space, 0.1, 0.1)
    assert abs(found.value - exact) < 4 * math.hypot(found.error, error)
    with pytest.warns(ConvergenceWarning, match="standard error of inf nats"):
        both = space.evidence([0.0, 0.1], max_length=2000.0, random_state=seed(0))
    assert (both.value[0], both.error[0]) == (-math.inf, math.inf)
    assert not both.converged
    assert abs(both.value[1] - exact) < 4 * math.hypot(both.error[1], error)


def test_infeasible_with_noise_in_one_class():
    """Noise in one class explains a conflict, unless it has only labels of the other."""
    x = np.random.default_rng(seed(0)).standard_normal((3, 3))
    x = np.vstack([x, x.sum(axis=0)])
    space = VersionSpace(x @ x.T, [1, 1, 1, -1])  # the sum of three positive values, negative
    with pytest.raises(InfeasibleError, match="violated examples was 1 of 4"):
        space.evidence([0.0, 0.0], max_length=2000.0, random_state=seed(0))
    for pair in ((0.0, 0.2), (0.2, 0.0)):
        found = space.evidence(pair, tol=0.05, random_state=seed(0))
        exact, error = brute_force(space, *pair)
        assert abs(found.value - exact) < 4 * math.hypot(found.error, error)
    x[3] *= -1
    opposite = VersionSpace(x @ x.T, [1, 1, 1, 1])
    found = opposite.evidence((0.2, 0.0), tol=0.05, random_state=seed(0))
    exact, error = brute_force(opposite, 0.2, 0.0)
    assert abs(found.value - exact) < 4 * math.hypot(found.error, error)
    with pytest.raises(InfeasibleError) as caught:  # by the search for a margin, which proves it
        opposite.evidence((0.0, 0.2), max_length=2000.0, random_state=seed(0))
    assert caught.value.violations >= 1
    assert caught.value.margin_bound < 1e-6
    check_certificate(opposite, caught.value)


@pytest.mark.parametrize(("pair", "label"), [((0.0, 0.3), 1), ((0.3, 0.0), -1)])
def test_one_class_too_small_to_be_met(pair, label, monkeypatch):
    """A run that found no weight vector which satisfies the class with hard walls."""
    space = gaussian_process(8, index=2)
    run = _core.evidence

    def unlucky(*args, **settings):
        return run(*args, **settings) | {"value": np.array([-math.inf])}

    monkeypatch.setattr(_core, "evidence", unlucky)
    with pytest.raises(InfeasibleError, match="class without label noise was found") as caught:
        space.evidence(pair, random_state=0)
    assert caught.value.violations == 1
    np.testing.assert_array_equal(caught.value.certificate > 0, space.y == label)
    check_certificate(space, caught.value)


def test_proven_conflicts():
    """Equal inputs with different labels: minus infinity at a rate of 0, without a run."""
    gram = np.array([[1.0, 1.0, 0.3], [1.0, 1.0, 0.3], [0.3, 0.3, 1.0]])
    space = VersionSpace(gram, [1, -1, 1])
    for run in (space.evidence, lambda: space.evidence([0.0, 0.0])):
        with pytest.raises(InfeasibleError, match="examples 0 and 1"):
            run()
    several = space.evidence([0.0, 0.1, 0.0], random_state=seed(0))
    assert several.value[[0, 2]].tolist() == [-math.inf] * 2
    assert several.error[[0, 2]].tolist() == [0.0, 0.0]
    assert several.converged
    alone = space.evidence([0.1], random_state=seed(0))
    assert several.value[1] == alone.value[0]


def test_unfinished_runs_are_reported():
    space = gaussian_process(30, index=5)
    for label_noise in (0.0, [0.0, 0.2], (0.1, 0.2)):
        with pytest.warns(
            ConvergenceWarning,
            match=r"standard error of \S+ nats after \S+ radians per trajectory on \d+ rungs; "
            r"tol=0.0001 was asked for: raise max_length",
        ):
            found = space.evidence(label_noise, tol=1e-4, max_length=100.0, random_state=seed(0))
        assert not found.converged
        assert np.max(found.error) > 1e-4


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"label_noise": 0.5}, ValueError, r"label_noise must be .* \[0, 0.5\); got 0.5"),
        ({"label_noise": True}, TypeError, "label_noise must be"),
        ({"label_noise": None}, TypeError, "label_noise must be"),
        ({"label_noise": (0.1, 0.5)}, ValueError, r"label_noise\[1\] must be"),
        ({"label_noise": (0.1, 0.2, 0.3)}, ValueError, "one number or two; got 3"),
        ({"label_noise": [0.1, 0.7]}, ValueError, r"label_noise\[1\] must be .* got 0.7"),
        ({"label_noise": []}, ValueError, r"at least one rate; got an array of shape \(0,\)"),
        ({"label_noise": np.zeros((2, 2))}, ValueError, r"got an array of shape \(2, 2\)"),
        ({"tol": 0.0}, ValueError, "tol must be"),
        ({"random_state": -1}, ValueError, "random_state must be"),
    ],
)
def test_bad_settings(settings, error, text):
    space = VersionSpace(np.eye(3), [1, 1, -1])
    with pytest.raises(error, match=text):
        space.evidence(**settings)


@pytest.mark.parametrize("rates", [[0.0], LADDER])
@pytest.mark.parametrize("power", [-498, -330, 330, 490])
def test_a_scale_next_to_the_ends_of_the_range_changes_no_bit(rates, power):
    x = np.random.default_rng(2).standard_normal((12, 3))
    y, gram = np.where(x[:, 0] > 0, 1, -1), x @ x.T / 2.0 ** np.ceil(np.log2((x**2).sum(1).max()))
    gram += np.eye(12) / 4

    def found(scale):
        space = VersionSpace(gram * scale, y, softness=0.25 * scale, offset=0.5 * scale)
        return space.evidence(rates, tol=0.5, random_state=0)

    one, scaled = found(1.0), found(2.0**power)
    assert (abs(scaled.value - one.value) < 3 * np.hypot(one.error, scaled.error)).all()
    again = found(2.0 ** (power - 2 if power > 0 else power + 2))
    np.testing.assert_array_equal(scaled.value, again.value)


def test_singles_of_few_dimensions_have_no_factor():
    x = np.random.default_rng(4).standard_normal((30, 2))
    space = VersionSpace((x @ x.T).astype(np.float32), np.where(x[:, 0] > 0, 1, -1))
    with pytest.raises(FloatingPointError, match="softness > 0 helps"):
        space.evidence()
    softened = VersionSpace(space.gram, space.y, softness=1e-3)
    assert np.isfinite(softened.evidence(tol=0.5, random_state=0).value)
