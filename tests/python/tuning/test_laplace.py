"""Laplace's approximation for several classes, and the search by it."""

import itertools

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, kernels
from bayespoint.data.examples import subset
from bayespoint.tuning import expectation_propagation, laplace, maximum
from helpers import seed
from objects import assert_slopes, examples, log_evidence, objective, tune


def problem(m=40, n_classes=3, index=0, wrong=0.0):
    """Return inputs, the class of the largest coordinate, partly wrong, and uneven weights."""
    rng = np.random.default_rng(seed(index))
    X = rng.normal(size=(m, n_classes))
    y = X.argmax(axis=1)
    y = np.where(rng.uniform(size=m) < wrong, (y + rng.integers(1, n_classes, m)) % n_classes, y)
    return X, y, rng.uniform(0.5, 2.0, m)


def drawn(m, sigma, softness, index=0, n_classes=3):
    """Return inputs and labels drawn from the joint model."""
    rng = np.random.default_rng(seed(index))
    X = rng.normal(size=(m, 2))
    gram = kernels.RBF(sigma)(X) + softness * np.eye(m)
    return X, (np.linalg.cholesky(gram) @ rng.normal(size=(m, n_classes))).argmax(axis=1)


@pytest.fixture
def exact(monkeypatch):
    """Let the iterations end at rounding errors: finite differences need it."""
    monkeypatch.setattr(laplace, "_CHANGE", 1e-13)
    monkeypatch.setattr(laplace, "_ROUND_CHANGE", 1e-9)
    monkeypatch.setattr(laplace, "_ROUNDS", 1000)


def test_the_curvature_is_that_of_the_dense_matrix():
    rng = np.random.default_rng(seed(0))
    C, m = 4, 7
    gram = kernels.RBF(1.0)(rng.normal(size=(m, 2))) + 1.0
    d = rng.uniform(1e-3, 2.0, (C, m))
    dense = np.zeros((C, m, C, m))
    for i in range(m):
        dense[:, i, :, i] = np.diag(d[:, i]) - np.outer(d[:, i], d[:, i]) / d[:, i].sum()
    precision, prior = dense.reshape(C * m, C * m), np.kron(np.eye(C), gram)
    determinant = np.eye(C * m) + prior @ precision
    middle = precision @ np.linalg.inv(determinant)
    covariance = (prior - prior @ middle @ prior).reshape(C, m, C, m)
    blocks = np.einsum("aiaj->ij", middle.reshape(C, m, C, m))
    share = d / d.sum(axis=0)

    found = laplace._Curvature(gram, d)
    right = rng.normal(size=(C, m))
    np.testing.assert_allclose(found.times(right).ravel(), middle @ right.ravel(), atol=1e-9)
    assert found.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(determinant)[1])
    variance, product, total = found.details()
    np.testing.assert_allclose(variance, np.einsum("aiai->ai", covariance), rtol=1e-7)
    np.testing.assert_allclose(product, np.einsum("aibi,bi->ai", covariance, share), rtol=1e-7)
    np.testing.assert_allclose(total, blocks, atol=1e-9)


@pytest.mark.parametrize(
    ("softness", "noise"), [(0.3, 0.0), (0.003, 0.0), (0.1, 0.05), (0.01, 0.2)]
)
def test_slopes_are_derivatives(softness, noise, exact):
    X, y, weights = problem(wrong=0.1)

    def at(sigma=1.5, softness=softness, noise=noise):
        return laplace.approximate(
            kernels.RBF(sigma)(X) + 1.0, y, 3, softness / weights, noise=noise
        )

    def slope(h=1e-4, **center):
        [(name, value)] = center.items()
        ahead, behind = (at(**{name: value * np.exp(s)}).log_evidence for s in (h, -h))
        return (ahead - behind) / (2 * h)

    found = at()
    assert found.converged
    by_sigma = kernels.RBF(1.5).derivatives(X, kernels.RBF(1.5)(X))["sigma"]
    assert np.vdot(found.by_gram, by_sigma) == pytest.approx(slope(sigma=1.5), rel=1e-3, abs=1e-3)
    by_softness = found.by_softness @ (softness / weights)
    assert by_softness == pytest.approx(slope(softness=softness), rel=1e-3, abs=1e-3)
    if noise:
        by_noise = found.by_noise.sum() * noise
        assert by_noise == pytest.approx(slope(noise=noise), rel=1e-3, abs=1e-3)
    else:
        assert not found.by_noise.any()


def counted(gram, softness, noise, n_classes=3, n=400_000):
    """Return the evidences of all labels, counted among draws from the prior."""
    m = len(gram)
    rng = np.random.default_rng(seed(1))
    root = np.linalg.cholesky(gram + softness * np.eye(m))
    best = np.einsum("ij,ncj->nci", root, rng.normal(size=(n, n_classes, m))).argmax(axis=1)
    places = best @ n_classes ** np.arange(m)[::-1]
    shares = np.bincount(places, minlength=n_classes**m) / n
    wrong = noise / (n_classes - 1)
    change = np.full((n_classes, n_classes), wrong) + (1 - noise - wrong) * np.eye(n_classes)
    for axis in range(m):
        table = np.moveaxis(shares.reshape((n_classes,) * m), axis, -1) @ change
        shares = np.moveaxis(table, -1, axis).ravel()
    return shares


@pytest.mark.parametrize(
    ("softness", "noise", "nats"), [(1.0, 0.0, 0.25), (0.1, 0.0, 0.6), (0.3, 0.1, 1.3)]
)
def test_the_approximation_is_near_the_evidence_of_all_labels(softness, noise, nats):
    # The joint model with normal noise, and any labels of four examples. Laplace's approximation
    # is too small by more, the smaller the softness; with label noise it is a lower bound.
    gram = kernels.RBF(1.0)(np.array([[0.0], [0.4], [1.0], [3.0]])) + 1.0
    shares = counted(gram, softness, noise)
    labels = list(itertools.product(range(3), repeat=4))
    found = np.array(
        [
            laplace.approximate(
                gram, np.array(y), 3, np.full(4, softness), noise=noise
            ).log_evidence
            for y in labels
        ]
    )
    seen = shares > 1e-3
    assert seen.sum() > 20
    assert np.abs(found - np.log(shares))[seen].max() < nats
    assert np.exp(-nats) < np.exp(found).sum() < 1.05
    assert np.corrcoef(found[seen], np.log(shares[seen]))[0, 1] > 0.99


def test_where_functions_matter_little_the_labels_are_alike():
    X, y, _ = problem(20, n_classes=4)
    found = laplace.approximate(kernels.RBF(1.0)(X), y, 4, np.full(20, 1e5))
    assert found.log_evidence == pytest.approx(20 * np.log(1 / 4), abs=1e-2)


@pytest.mark.parametrize("softness", [0.05, 0.3, 2.0])
def test_two_classes_are_near_expectation_propagation(softness):
    # The difference of the two functions and its noise have twice the variances.
    X, y, _ = problem(60, n_classes=2, wrong=0.1)
    gram, levels = kernels.RBF(1.5)(X) + 1.0, np.full(60, softness)
    joint = laplace.approximate(gram, y, 2, levels)
    binary = expectation_propagation.approximate(
        gram, np.where(y == 1, 1.0, -1.0), levels, derivatives=True
    )
    assert joint.log_evidence == pytest.approx(binary.log_evidence, abs=1.0)
    assert joint.by_softness @ levels == pytest.approx(binary.by_softness @ levels, abs=1.0)


def test_the_start_and_the_order_of_classes_do_not_matter(exact):
    X, y, _ = problem(60)
    gram, levels = kernels.RBF(1.5)(X) + 1.0, np.full(60, 0.05)
    first = laplace.approximate(gram, y, 3, levels)
    near = laplace.approximate(1.3 * gram, y, 3, levels).end
    far = laplace.approximate(kernels.RBF(0.1)(X), y, 3, 0.01 * levels).end
    others = [
        laplace.approximate(gram, y, 3, levels, start=near),
        laplace.approximate(gram, y, 3, levels, start=far),
        laplace.approximate(gram, (y + 1) % 3, 3, levels),
    ]
    for other in others:
        assert other.log_evidence == pytest.approx(first.log_evidence, abs=1e-4)
        np.testing.assert_allclose(other.by_gram, first.by_gram, atol=1e-2)


def test_the_search_finds_the_parameters_of_drawn_labels():
    X, y = drawn(300, sigma=1.0, softness=0.05)
    found = tune(kernels.RBF(), X, y)
    assert 0.5 < found.kernel.sigma < 2.0
    assert 0.005 < found.softness < 0.25
    at_truth = log_evidence(kernels.RBF(1.0), X, y, 0.05)
    assert at_truth - 0.2 < found.log_evidence < at_truth + 10
    assert found.label_noise == (0.0, 0.0)
    grid = [
        log_evidence(kernels.RBF(s), X, y, v)
        for s in np.geomspace(0.5, 2.0, 5)
        for v in np.geomspace(0.005, 0.5, 5)
    ]
    assert found.log_evidence > max(grid) - 0.2


def test_the_gradient_of_the_search(exact):
    X, y, weight = problem()
    for kernel in (1.0 * kernels.RBF(), kernels.Polynomial(2)):
        for softness, rates in [(None, 0), (0, 0), (None, 1)]:
            one = objective(kernel, X, y, weight=weight, offset=1.0, softness=softness, rates=rates)
            theta = np.append(one.start(1.5, 0.1), [np.log(0.1)] * rates)
            some = examples(X, y, weight)
            assert_slopes(one, some, theta, noisy=bool(rates), rel=1e-2, abs=1e-2)


def test_label_noise_of_several_classes_is_found():
    X, y, _ = problem(240, index=3, wrong=0.15)
    found = tune(kernels.RBF(), X, y, offset=1.0, rates=1)
    none = tune(kernels.RBF(), X, y, offset=1.0)
    assert found.label_noise[0] == found.label_noise[1]
    assert 0.07 < found.label_noise[0] < 0.25
    assert found.log_evidence > none.log_evidence + 1.0
    X, y, _ = problem(200, index=3)
    assert tune(kernels.RBF(), X, y, offset=1.0, rates=1).label_noise == (0.0, 0.0)


def test_a_part_of_the_examples_leads_to_the_same_maximum():
    X, y = drawn(400, sigma=1.0, softness=0.05)
    found = tune(kernels.RBF(), X, y)
    looked = found.tried[:, found.names.index("n_examples")]
    assert set(looked) == {maximum.COARSE_OF_SEVERAL, 400}
    grid = [
        log_evidence(kernels.RBF(found.kernel.sigma * s), X, y, found.softness * v)
        for s in (0.8, 1.0, 1.25)
        for v in (0.5, 1.0, 2.0)
    ]
    assert found.log_evidence > max(grid) - 1.0


def test_several_classes_have_one_rate_of_label_noise():
    X, y, _ = problem()
    for noise in ((None, None), (0.1, 0.2)):
        with pytest.raises(ValueError, match="label_noise must be one rate"):
            BayesPointClassifier(label_noise=noise).fit(X, y)


def test_without_softness_the_smallest_is_used(exact):
    X, y, _ = problem(60)
    found = tune(kernels.RBF(), X, y, softness=0.0)
    assert found.softness == 0.0
    gram = found.kernel(X)
    least = 1e-3 * (gram.diagonal().mean() - gram.mean())
    assert found.log_evidence == pytest.approx(log_evidence(found.kernel, X, y, least), abs=0.01)
    assert BayesPointClassifier(softness=0.0, random_state=0).fit(X, y).softness_ == 0.0


def with_label(y, k, label):
    return np.where(np.arange(len(y)) == k, label, y)


def test_with_many_classes_one_may_be_missing_in_the_part_that_is_searched_first(monkeypatch):
    monkeypatch.setattr(maximum, "COARSE_OF_SEVERAL", 40)
    X, y = drawn(120, sigma=1.0, softness=0.05, n_classes=24)
    left_out = np.setdiff1d(np.arange(120), subset(y, 40, 0))
    alone = next(k for k in left_out if k not in subset(with_label(y, k, 24), 40, 0))
    y = with_label(y, alone, 24)
    found = tune(kernels.RBF(), X, y)
    assert set(found.tried[:, -2]) == {40, 120}
    assert np.isfinite(found.log_evidence)
    assert 0.3 < found.kernel.sigma < 3.0


def test_limits_of_the_search_hold_for_several_classes():
    X, y, _ = problem(60)
    seen = []
    with pytest.warns(UserWarning, match="max_iter ended the search"):
        found = tune(kernels.RBF(), X, y, max_iter=3, trial=seen.append)
    assert len(found.tried) == len(seen) == 3
    assert found.log_evidence == max(row["log_evidence"] for row in seen)
