"""Labels as contrasts of latent values: their probabilities, walls and sizes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from bayespoint.engine.laws import largest_probabilities
from bayespoint.labels import Labels
from helpers import seed

ALL = {
    "two": Labels.two_classes(),
    "several": Labels.several(4),
    "ordered": replace(Labels.ordered(4, "median"), variance=2.0),
    "choices": Labels.choices(4),
}
KINDS = pytest.mark.parametrize("labels", ALL.values(), ids=ALL)


def plain(labels, u, shared):
    """Return the probabilities of all outcomes with latent values u and noise of variance 1."""
    if labels.n_functions > 1 or labels.n_inputs > 1:
        return largest_probabilities(u.max() - u)
    ends = np.concatenate([[-np.inf], shared if len(shared) else [0.0], [np.inf]])
    return np.diff(special.ndtr(ends - u[0]))


def outcomes(labels, u):
    """Yield the values and the label of each outcome: of choices the chosen one is first."""
    if labels.n_inputs == 1:
        yield from ((u, y) for y in range(labels.n_classes))
        return
    for k in range(len(u)):
        values = np.append(u[k], np.delete(u, k))
        yield np.append(values, np.zeros(labels.n_inputs - len(u))), len(u) - 2


NOISES = [(labels, rates) for labels in ALL.values() for rates in ((0.0, 0.0), (0.1, 0.1))]


@pytest.mark.parametrize(("labels", "noise"), [*NOISES, (ALL["two"], (0.05, 0.2))])
def test_observed_labels_have_the_exact_probabilities(labels, noise):
    """Their sum is 1; a wrong label is as probable as each other wrong one."""
    labels, rng = labels.with_noise(noise), np.random.default_rng(seed(0))
    for size in (2, 3, 4) if labels.n_inputs > 1 else (labels.n_functions,):
        u = rng.standard_normal(size)
        shared = np.sort(rng.standard_normal(labels.n_shared))
        p = plain(labels, u, shared)
        n = len(p)
        rates = np.broadcast_to(noise, 2) if n == 2 else np.full(n, noise[0])
        if labels.n_inputs > 1:  # each other item has the odds of the rate
            rates = np.full(n, (n - 1) * noise[0] / (1 + (n - 2) * noise[0]))
        seen = np.where(np.eye(n) > 0, 1 - rates[:, None], rates[:, None] / (n - 1))
        found = []
        for values, label in outcomes(labels, u):
            contrasts = labels.contrasts[label] @ np.append(values, shared)
            contrasts = contrasts + labels.constants[label]
            observed = labels.observations(np.array([label]))
            found.append(math.exp(observed.derivatives(contrasts[:, None])[0][0]))
        np.testing.assert_allclose(found, p @ seen, rtol=1e-6)
        assert sum(found) == pytest.approx(1.0, rel=1e-6)
        if n == labels.n_classes:  # of choices those out of two
            np.testing.assert_allclose(np.exp(labels.observed(np.log(p))), found, rtol=1e-6)
            assert labels.observed(p) is p or any(noise)


@KINDS
def test_contrasts_of_weights_are_those_of_functions(labels):
    basis, rng = labels.basis, np.random.default_rng(seed(1))
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    if labels.n_functions > 1:
        np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)
    u, t = (
        rng.standard_normal((labels.n_inputs, basis.shape[1])),
        rng.standard_normal(labels.n_shared),
    )
    values = np.append(u @ basis.T, math.sqrt(labels.variance or 1.0) * t)
    np.testing.assert_allclose(
        labels.of_weights @ np.append(u, t), labels.contrasts @ values, atol=1e-12
    )
    assert labels.dimension(5) == 5 * basis.shape[1] + labels.n_shared
    weights = labels.first_weights(5, np.arange(30) % len(labels.contrasts))
    assert len(weights) == labels.dimension(5)
    assert (np.diff(weights[len(weights) - labels.n_shared :]) > 0).all()


@KINDS
@pytest.mark.parametrize("offset", [0.0, 1.5])
def test_walls_are_positive_where_the_label_is_the_true_one(labels, offset):
    """Margins of the engine's problem are contrasts, whose covariance is that of the values."""
    rng, n = np.random.default_rng(seed(2)), 9
    label = np.arange(n) % len(labels.contrasts)
    m = int(labels.present(label).sum()) // labels.n_functions
    root = rng.standard_normal((m, m))
    problem = labels.problem(root @ root.T, label, np.full(m, 0.3), offset)
    dual = rng.standard_normal(problem.shape)
    if labels.n_functions > 1:
        dual -= dual.mean(axis=0)
    f = np.atleast_2d(problem.coordinates(dual))
    if problem.walls is None:
        expected = [(labels.contrasts[y] @ f[:, i]).min() for i, y in enumerate(label)]
        np.testing.assert_allclose(problem.margins(dual), expected)
        return
    values = np.zeros((n, labels.n_inputs))
    values[labels.present(label)[:, : labels.n_inputs]] = f[0, :m]
    shared = f[0, m:]
    expected = root @ root.T @ dual[:m] + 0.3 * dual[:m] + offset * dual[:m].sum()
    np.testing.assert_allclose(f[0, :m], expected)
    if labels.n_shared:
        np.testing.assert_allclose(shared, 2.0 * dual[m:])
    of_each = [
        labels.contrasts[y] @ np.append(v, shared) for v, y in zip(values, label, strict=True)
    ]
    there = np.isfinite(labels.constants[label])
    margins, observations = problem.margins(dual), problem.walls.observations
    for i in range(n):
        np.testing.assert_allclose(margins[observations == i], of_each[i][there[i]])
    np.testing.assert_allclose(margins[observations == -1], np.diff(shared))
    assert len(margins) == there.sum() + max(0, labels.n_shared - 1)


def test_evidence_has_the_constant_of_orders_and_of_large_sets():
    """The engine's P(label) is a share of walls that hold, or that of others times the odds."""
    label = np.array([0, 0, 1, 2])
    for noise in (0.0, 0.1):
        rates = noise, noise
        labels = {name: one.with_noise(rates) for name, one in ALL.items()}
        of_choices = -np.log((1 - noise) + (label + 1) * noise).sum()
        assert labels["choices"].log_constant(label) == pytest.approx(of_choices)
        of_orders = math.log(6) + 4 * math.log(1 - noise + noise / 3)
        assert labels["ordered"].log_constant(label) == pytest.approx(of_orders)
        assert labels["several"].log_constant(label) == 0.0
        assert labels["two"].with_noise((noise, 0.2)).log_constant(label // 2) == 0.0
        for one in (labels["ordered"], labels["choices"]):
            assert one.noise / (1 - one.noise) == pytest.approx(one.transparencies[0])


def test_problems_are_signs_or_intervals_of_one_value():
    problems = ALL["two"].problems(np.array([0, 1, 1]))
    assert problems.share == 1.0
    assert problems.positive.tolist() == [[False, True, True]]
    problems = ALL["several"].problems(np.arange(4))
    np.testing.assert_array_equal(problems.positive, np.eye(4) > 0)
    entropy = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert problems.share == pytest.approx(math.log(4) / (4 * entropy))
    assert problems.rates((0.3, 0.3)) == pytest.approx((0.1, 0.3))
    problems = ALL["ordered"].problems(np.arange(4))
    np.testing.assert_allclose(problems.ends[:, 1], [*special.ndtri([0.25, 0.5, 0.75]), np.inf])


@pytest.mark.parametrize("wrong", [{"rule": "mode"}, {"n_inputs": 9}, {"n_functions": 0}])
def test_parts_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match="labels of the rule"):
        replace(ALL["several"], **wrong).check_parts()
