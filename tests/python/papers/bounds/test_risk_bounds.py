"""The table of bounds: its rows, its refusals, and whether the bounds hold."""

import math
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from bayespoint import (
    BayesPointClassifier,
    BayesPointOrdinalClassifier,
    SampleOptions,
    VersionSpace,
)
from bayespoint.kernels import RBF, Linear, Polynomial
from bayespoint.papers import bounds
from bayespoint.papers.perceptron import KernelPerceptron
from helpers import SLOW, seed, without_evidence


def taught(m, r, rng, *, noise=0.0):
    """Gaussian examples, labels of a teacher with some of them flipped, and the teacher."""
    x, teacher = rng.standard_normal((m, r)), rng.standard_normal(r)
    y = np.where(x @ teacher > 0, 1, -1) * np.where(rng.uniform(size=m) < noise, -1, 1)
    return x, y, teacher / np.linalg.norm(teacher)


# --- rows ---


@pytest.fixture(scope="module")
def example():
    rng = np.random.default_rng(seed(0))
    x, y, _ = taught(120, 4, rng)
    space = VersionSpace(x @ x.T, y)
    return x, y, space, space.sample(tol=0.05, random_state=seed(0))


def test_rows_are_the_functions(example):
    _, y, space, result = example
    found = bounds.table(space.gram, y, 5 * result.center, delta=0.02, random_state=0)
    m = len(y)
    whole = found.find("volume_gibbs")
    part = found.find("point_mirror")
    log_volume = whole.quantities["log_volume"]
    assert whole.value == bounds.volume_gibbs(m, log_volume, 0.02)
    assert found.find("volume_bayes", of="vote").value == bounds.volume_bayes(m, log_volume, 0.02)
    assert part.value == bounds.volume_bayes(m, part.quantities["log_volume"], 0.02)
    for of, factor, region in (("one draw", 1, whole), ("vote", 2, whole), ("center", 2, part)):
        row = found.find("pac_bayes_kl", of=of)
        kl = -region.quantities["log_volume"]
        assert row.value == pytest.approx(factor * bounds.pac_bayes_kl(m, kl, 0.02), rel=1e-13)
        moved = kl + region.quantities["log_volume_error"]
        expected = factor * bounds.pac_bayes_kl(m, moved, 0.02) - row.value
        assert row.standard_error == pytest.approx(expected, rel=1e-6)
        assert 0 < row.standard_error < 0.02
    error = whole.quantities["log_volume_error"]
    assert 0 < error <= 0.3
    assert whole.standard_error == pytest.approx(error / m)
    assert part.standard_error == pytest.approx(2 * part.quantities["log_volume_error"] / m)

    margin = bounds.normalized_margins(space, result.center).min()
    ball = found.find("volume_bayes", region="largest ball")
    cap = bounds.cap_log_fraction(4, math.asin(margin))
    assert ball.value == pytest.approx(bounds.volume_bayes(m, cap, 0.02), rel=1e-12)
    assert ball.standard_error == 0
    svm = found.find("linear_svm")
    assert svm.value == pytest.approx(bounds.linear_svm(m, 4, margin, 0.02), rel=1e-12)
    assert svm.quantities["n"] == 4
    lucky = found.find("luckiness")
    assert lucky.value == pytest.approx(bounds.luckiness(m, margin, 0.02), rel=1e-12)
    kappa = bounds.mistakes(margin)
    assert found.find("pac_margin").value == bounds.pac_margin(m, kappa, 0.02)
    assert [row.name for row in found if row.refused] == ["sparsity", "margin"]
    assert found.m == m
    assert found.delta == 0.02
    assert all(row.quantities["delta"] == 0.02 for row in found if not row.refused)


def test_candidates_cost_the_logarithm_of_their_number(example):
    _, y, space, result = example
    one = bounds.table(space.gram, y, result.center, tol=1.0, random_state=1)
    many = bounds.table(space.gram, y, result.center, tol=1.0, random_state=1, candidates=50)
    for name, factor in (("volume_gibbs", 1), ("point_mirror", 2), ("linear_svm", 2)):
        difference = many.find(name).value - one.find(name).value
        assert difference == pytest.approx(factor * math.log(50) / len(y), rel=1e-9)
    assert many.delta == 0.05
    assert many.find("luckiness").quantities["delta"] == pytest.approx(0.001)


# --- refusals ---


def test_a_support_vector_may_be_wrong():
    """The bound by sparsity needs only the examples left out to be classified correctly."""
    x = np.array([[1.0], [2.0], [-1.0], [-2.0], [0.5]])
    y = np.array([1, 1, -1, -1, -1])
    c = np.array([1.0, 0, -1, 0, -0.1])
    found = bounds.table(x @ x.T, y, c, rule="max_margin")
    assert found.find("sparsity").value == bounds.sparsity(5, 3)
    assert found.find("linear_svm").refused


def test_version_space_that_is_empty():
    x = np.array([[1.0, 0.0], [1.5, 0.0], [0.0, -1.0]])
    with np.errstate(all="raise"):
        found = bounds.table(x @ x.T, [1, -1, -1], [1.0, 0.0, 0.0], random_state=0)
    assert all(row.refused for row in found)
    assert "because of examples 0 and 1 alone" in found.find("volume_gibbs").reason


def test_label_noise_is_bounded_by_relative_entropy():
    """Orthogonal planes, for which the posterior is known."""
    m = 40
    y = np.resize([1, -1, 1], m)
    space = VersionSpace(np.eye(m), y)
    for noise in (0.1, (0.05, 0.2)):
        first, second = noise if isinstance(noise, tuple) else (noise, noise)
        # By Bayes' theorem: the probability that a plane is violated, given the label.
        odds = np.where(y > 0, first / (1 - second), second / (1 - first))
        flipped = odds / (1 + odds)
        entropy = flipped * np.log(flipped) + (1 - flipped) * np.log(1 - flipped)
        exact = float((math.log(2) + entropy).sum())
        kappa = tuple(float(odds[y == sign][0]) for sign in (-1, 1))
        result = space.sample(
            length=2000.0,
            n_draws=500,
            options=SampleOptions(transparency=kappa),
            random_state=seed(2),
        )
        found = bounds.table(
            np.eye(m),
            y,
            result.center,
            label_noise=noise,
            draws=result.draws,
            tol=0.1,
            random_state=seed(3),
        )
        row = found.find("pac_bayes_kl", of="one draw")
        known = row.quantities
        assert abs(known["kl"] - exact) < 4.5 * known["kl_error"] < 2.0
        wrong = flipped.mean()
        assert abs(known["empirical_error"] - wrong) < 4.5 * known["empirical_error_error"] < 0.1
        expected = bounds.pac_bayes_kl(m, known["kl"], empirical_error=known["empirical_error"])
        assert row.value == pytest.approx(expected, rel=1e-12)
        assert row.value > known["empirical_error"]
        assert row.standard_error > 0
        vote = found.find("pac_bayes_kl", of="vote")
        assert vote.value == pytest.approx(2 * row.value)
        assert row.region == vote.region == "posterior"
        for other in found:
            if other not in (row, vote):
                assert other.refused


GIVEN = {"softness": 0.1, "random_state": 0}


def moons():
    return make_moons(60, noise=0.1, random_state=0)


def classifier(**settings):
    X, y = moons()
    given = {"kernel": RBF(1.0), **GIVEN} | settings
    return BayesPointClassifier(**given, standardize=False).fit(X, y), X, y


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"kernel": None}, "chosen by the evidence"),
        ({"kernel": "rbf"}, "chosen by the evidence"),
        ({"softness": None}, "chosen by the evidence"),
        ({"label_noise": None}, "chosen by the evidence"),
        ({"class_weight": {0: 1.0, 1: 2.0}}, "the bounds are those of the rule without"),
    ],
)
def test_a_prior_made_from_the_examples(settings, reason):
    model, _, _ = classifier(**settings)
    for candidates in (1, 10):
        found = bounds.risk_bounds(model, candidates=candidates)
        assert len(found) == 12
        for row in found:
            assert row.refused
            assert reason in row.reason
    # The settings of the fit decide.
    model.set_params(kernel=RBF(1.0), class_weight=None)
    assert all(row.refused for row in bounds.risk_bounds(model))


def reasons(model):
    """Return the reasons of refused bounds, "" for a bound that holds."""
    return {row.reason for row in bounds.risk_bounds(model, tol=2.0, random_state=seed(0))}


def test_what_else_the_prior_takes_from_the_examples(monkeypatch):
    [reason] = reasons(BayesPointClassifier(RBF(1.0), **GIVEN).fit(*moons()))
    assert "standardize=False" in reason
    pandas = pytest.importorskip("pandas")
    X, y = moons()
    table = pandas.DataFrame(X, columns=["a", "b"])
    model = BayesPointClassifier(RBF(1.0), **GIVEN, standardize=False)
    assert "" in reasons(model.fit(table, y))
    table.loc[3, "a"] = np.nan  # the median takes its place
    [reason] = reasons(model.fit(table, y))
    assert "missing values" in reason
    without_evidence(monkeypatch)
    model = BayesPointClassifier("rbf", softness=0.0, label_noise=0.2, standardize=False)
    with pytest.warns(ConvergenceWarning, match="the search for hyperparameters found no"):
        model.set_params(random_state=seed(0)).fit(X, y)
    [reason] = reasons(model)
    assert "length scale" in reason


def test_examples_that_are_repeated():
    X, y = moons()
    weights = np.arange(len(y)) % 3
    model = BayesPointClassifier(RBF(1.0), **GIVEN, standardize=False)
    for sample_weight in (weights + 1, weights + 0.5):
        [reason] = reasons(model.fit(X, y, sample_weight))
        assert "sample weights" in reason
    assert "" in reasons(model.fit(X, y, weights > 0))


def test_classifiers_without_a_table():
    X, y = moons()
    landmarks = BayesPointClassifier(RBF(1.0), approximation="landmarks", n_components=20, **GIVEN)
    with pytest.raises(ValueError, match="approximation=None"):
        bounds.risk_bounds(landmarks.fit(X, y))
    X, y = load_iris(return_X_y=True)
    three = BayesPointClassifier(RBF(1.0), **GIVEN).fit(X[::5], y[::5])
    with pytest.raises(ValueError, match=r"of several classes jointly there is none.*fit one to"):
        bounds.risk_bounds(three)
    ordered = BayesPointOrdinalClassifier(RBF(1.0), **GIVEN).fit(X[::5], y[::5])
    with pytest.raises(ValueError, match="classes"):
        bounds.risk_bounds(ordered)
    with pytest.raises(NotFittedError):
        bounds.risk_bounds(BayesPointClassifier())


def test_a_prior_that_was_given():
    for settings in (
        {},
        {"class_weight": {0: 2.0, 1: 2.0}},
        {"kernel": Polynomial(3, 1.0), "softness": 1.0},
        {"kernel": "linear", "softness": 1.0},
        {"label_noise": (0.1, 0.2)},
    ):
        model, _, _ = classifier(**settings)
        found = bounds.risk_bounds(model, random_state=seed(4), tol=1.0)
        held = [row for row in found if not row.refused]
        assert len(held) == (2 if "label_noise" in settings else 10)
        for row in held:
            assert "with softness" in row.condition
            assert row.value > 0


def test_classifier_and_table_agree():
    model, X, y = classifier(fit_intercept=True)
    found = bounds.risk_bounds(model, 0.1, random_state=5, candidates=3)
    softness = 0.1
    expected = bounds.table(
        RBF(1.0)(X),
        y,
        model.dual_coef_[0],
        softness=softness,
        offset=1.0,
        delta=0.1,
        candidates=3,
        random_state=5,
    )
    for row, other in zip(found, expected, strict=True):
        assert (row.name, row.of, row.region, row.refused) == (
            other.name,
            other.of,
            other.region,
            other.refused,
        )
        if not row.refused:
            error = row.standard_error + other.standard_error
            assert abs(row.value - other.value) <= 4 * error + 1e-9 * row.value


def test_precomputed_kernel():
    model, X, y = classifier()
    gram = RBF(1.0)(X)
    other = BayesPointClassifier("precomputed", **GIVEN).fit(gram, y)
    found = bounds.risk_bounds(other, gram=gram, random_state=0, tol=1.0)
    expected = bounds.risk_bounds(model, random_state=0, tol=1.0)
    row, same = (table.find("linear_svm") for table in (found, expected))
    assert row.value == pytest.approx(same.value, rel=1e-6)
    with pytest.raises(ValueError, match=r"gram must be the .* matrix given to fit"):
        bounds.risk_bounds(other)
    with pytest.raises(ValueError, match=r"gram must have shape \(60, 60\); got shape \(3, 3\)"):
        bounds.risk_bounds(other, gram=np.eye(3))
    for wrong in (2 * gram, np.eye(len(gram))):
        with pytest.raises(ValueError, match="gram must be the matrix given to fit"):
            bounds.risk_bounds(other, gram=wrong)
    with pytest.raises(ValueError, match="gram must be None unless"):
        bounds.risk_bounds(model, gram=gram)


def test_a_volume_that_is_too_inaccurate(example):
    _, y, space, result = example
    with pytest.warns(ConvergenceWarning, match="raise max_length"):
        bounds.table(
            space.gram,
            y,
            result.center,
            rule="max_margin",
            tol=1e-3,
            max_length=1.0,
            random_state=0,
        )


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"delta": 0.0}, "delta"),
        ({"rule": "bayes"}, "rule"),
        ({"candidates": 0}, "candidates"),
        ({"label_noise": 0.6}, "label_noise"),
        ({"label_noise": 0.1}, "draws"),
        ({"label_noise": 0.1, "rule": "perceptron"}, "label_noise"),
        ({"label_noise": 0.1, "draws": np.ones((2, 3))}, "draws"),
        ({"label_noise": (0.1, 0.0), "draws": np.ones((1, 4, 3))}, "draws"),
        ({"dual_coef": np.ones(4)}, "dual_coef"),
        ({"y": [1, 2, 3]}, "y"),
        ({"gram": np.ones((2, 3))}, "gram"),
    ],
)
def test_bad_settings(settings, name):
    given = {"gram": np.eye(3), "y": [1, 1, -1], "dual_coef": [1.0, 1.0, -1.0]} | settings
    with pytest.raises(ValueError, match=f"{name} must "):
        bounds.table(**given)


# --- whether the bounds hold ---


def true_risks(x, teacher, center, draws, rng, noise=0.0):
    """Risk of the center, of one draw on average, and of the vote of the draws."""

    def angle(w):
        cosine = w @ teacher / np.linalg.norm(w, axis=-1)
        return np.arccos(np.clip(cosine, -1, 1)) / np.pi

    weights = draws.reshape(-1, len(x)) @ x
    tests = rng.standard_normal((4000, len(teacher)))
    wrong = np.sign(tests @ weights.T).sum(axis=1) * (tests @ teacher) <= 0
    risks = {"center": angle(center @ x), "one draw": angle(weights).mean(), "vote": wrong.mean()}
    return {of: noise + (1 - 2 * noise) * risk for of, risk in risks.items()}


def holds(failures, problems, delta):
    """Return whether this many failures are compatible with a probability of at most delta."""
    return stats.binom.sf(failures - 1, problems, delta) > 1e-4


@pytest.mark.long
@pytest.mark.slow
def test_bounds_hold_for_teachers():
    """In r = 10 dimensions; the test rejects a bound without the volume."""
    delta, problems = 0.05, 500 if SLOW else 60
    largest = 500 if SLOW else 120
    failures, values = defaultdict(int), defaultdict(list)
    for k in range(problems):
        rng = np.random.default_rng(seed(1000 + k))
        m = round(50 * (largest / 50) ** rng.uniform())
        x, y, teacher = taught(m, 10, rng)
        softness = float(rng.choice([0.0, 0.0, 0.5]))
        space = VersionSpace(x @ x.T, y, softness=softness)
        result = space.sample(tol=0.1, n_draws=50, random_state=rng)
        risks = true_risks(x, teacher, result.center, result.draws, rng)
        weights = {
            "bayes_point": result.center,
            "max_margin": space.max_margin(tol=1e-3).dual_coef,
            "perceptron": KernelPerceptron("precomputed", fit_intercept=False)
            .fit(space.gram, y)
            .dual_coef_[0],
        }
        for rule, c in weights.items():
            # The perceptron was run without softness.
            soft = 0.0 if rule == "perceptron" else softness
            found = bounds.table(
                space.gram, y, c, rule=rule, softness=soft, delta=delta, tol=1.0, random_state=rng
            )
            mine = true_risks(x, teacher, c, result.draws[:, :1], rng)["center"]
            for row in found:
                # With softness a draw has new noise at a new input, and w has none.
                if row.refused or (softness and row.of in ("one draw", "vote")):
                    continue
                risk = mine if row.of in ("center", "weight vector") else risks[row.of]
                key = rule, row.name, row.of, row.region
                failures[key] += bool(risk > row.value)
                values[key].append(row.value)
        if not softness:
            failures["wrong"] += bool(risks["one draw"] > bounds.pac_bayes_kl(m, 0.0, delta))
            values["wrong"].append(0.0)
    assert len(values) == 10 + 7 + 8 + 1
    for key, found in values.items():
        assert len(found) >= problems / 2
        if key == "wrong":
            assert not holds(failures[key], len(found), delta)
        else:
            assert holds(failures[key], len(found), delta), key
    # The modern form is tighter than that of 1999, and both than the margin's.
    mean = {key: np.mean(row) for key, row in values.items()}
    center = [
        mean["bayes_point", name, "center", region]
        for name, region in (
            ("pac_bayes_kl", "symmetric part"),
            ("point_mirror", "symmetric part"),
            ("volume_bayes", "largest ball"),
            ("linear_svm", ""),
            ("luckiness", ""),
        )
    ]
    assert center == sorted(center)
    assert center[0] < 0.8


@pytest.mark.slow
def test_bounds_hold_with_label_noise():
    delta, problems, noise = 0.05, 60 if SLOW else 12, 0.1
    failures = defaultdict(int)
    for k in range(problems):
        rng = np.random.default_rng(seed(5000 + k))
        x, y, teacher = taught(150, 5, rng, noise=noise)
        model = BayesPointClassifier(
            Linear(),
            softness=0.0,
            label_noise=noise,
            fit_intercept=False,
            random_state=k,
        ).fit(x, y)
        risks = true_risks(x, teacher, model.dual_coef_[0], model.billiard_.draws, rng, noise)
        for row in bounds.risk_bounds(model, delta, tol=1.0, random_state=k):
            if not row.refused:
                assert noise < row.value < 1
                failures[row.of] += bool(risks[row.of] > row.value)
    for of in ("one draw", "vote"):
        assert holds(failures[of], problems, delta)


def test_rows_are_found_by_their_names(example):
    _, y, space, result = example
    found = bounds.table(space.gram, y, result.center, tol=1.0, random_state=0)
    assert len(found) == 12 == len(list(found))
    for name, of in (("mistakes", None), ("point_mirror", "vote")):
        with pytest.raises(KeyError, match="must be those of a row"):
            found.find(name, of=of)
