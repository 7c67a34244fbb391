"""Perceptrons in primal and in dual form, and gradient descent on the hinge loss."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import VersionSpace, kernels
from bayespoint.papers.averaged import AveragedPerceptron, VotedPerceptron
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron, kernel_adatron
from bayespoint.papers.primal import HingeClassifier, Perceptron
from helpers import SHIFT as SEED

IRIS = load_iris(return_X_y=True)


@pytest.mark.long
@parametrize_with_checks(
    [
        Perceptron(),
        Perceptron(bias_update="R", order="random", learning_rate=0.1),
        HingeClassifier(),
        KernelPerceptron(),
        KernelPerceptron("linear", normalize=True, order="random"),
        AveragedPerceptron(n_perceptrons=5, max_epochs=20),
        VotedPerceptron(max_epochs=20),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def separable(index, intercept=True):
    """Return examples at some distance from a plane, of some scale, labeled by it."""
    rng = np.random.default_rng([SEED, index])
    d = int(rng.integers(1, 5))
    scale = np.exp(rng.uniform(-2, 2))
    x = scale * rng.standard_normal((int(rng.integers(3, 30)), d))
    w = rng.standard_normal(d)
    b = scale * rng.standard_normal() if intercept else 0.0
    values = x @ w + b
    keep = np.abs(values) > 0.1 * scale
    x, y = x[keep], np.where(values[keep] > 0, 1, -1)
    return (x, y) if len(np.unique(y)) == 2 else separable(index + 10_000, intercept)


@pytest.mark.long
def test_all_updates_keep_their_bound_on_1000_problems():
    """With the plane of the largest margin, and with the one that the perceptron found."""
    tightest = {"R": 0.0, "R2": 0.0}
    for index in range(1000):
        x, y = separable(index)
        plane = MaxMarginClassifier("linear", C=np.inf, fit_intercept="free").fit(x, y)
        w, b = plane.dual_coef_[0] @ x, plane.intercept_[0]
        for update in ("R", "R2"):
            model = Perceptron(bias_update=update, max_epochs=10**6).fit(x, y)
            mistakes = model.n_mistakes_[0]
            assert (model.predict(x) == y).all()
            bound = model.mistake_bound(x, y, w, b)
            assert 1 <= mistakes <= bound
            assert mistakes <= model.mistake_bound_[0]
            own = model.mistake_bound(x, y, model.coef_[0], model.intercept_[0])
            assert own == pytest.approx(model.mistake_bound_[0])
            tightest[update] = max(tightest[update], mistakes / bound)
            # The formulas of the papers.
            radius, margin = np.linalg.norm(x, axis=1).max(), (y * (x @ w + b)).min()
            factor, share = {"R": (radius**2 + radius, radius), "R2": (2 * radius**2, radius**2)}[
                update
            ]
            assert bound == pytest.approx(factor * (w @ w + b**2 / share) / margin**2)
        x, y = separable(index, intercept=False)
        model = Perceptron(bias_update=None, max_epochs=10**6).fit(x, y)
        widest = VersionSpace(x @ x.T, y).max_margin()
        assert model.intercept_[0] == 0.0
        bound = model.mistake_bound(x, y, widest.dual_coef @ x)
        assert 1 <= model.n_mistakes_[0] <= bound
        assert bound == pytest.approx((np.linalg.norm(x, axis=1).max() / widest.margin) ** 2)
    assert min(tightest.values()) > 0.1


@pytest.mark.parametrize("update", ["R", "R2", None])
def test_the_primal_one_is_the_dual_one(update):
    """With the constant added to the kernel that corresponds to the update of the bias."""
    for index in range(20):
        x, y = separable(3000 + index, intercept=update is not None)
        radius = np.linalg.norm(x, axis=1).max()
        constant = {"R": radius, "R2": radius**2, None: 0.0}[update]
        order = np.random.default_rng(index).permutation(len(x))
        primal = Perceptron(bias_update=update, order=order, max_epochs=10**6).fit(x, y)
        dual = KernelPerceptron(
            "precomputed", fit_intercept=False, order=order, max_epochs=10**6
        ).fit(x @ x.T + constant, y)
        assert primal.n_mistakes_ == dual.n_mistakes_
        assert primal.n_epochs_ == dual.n_epochs_
        np.testing.assert_allclose(primal.coef_, dual.dual_coef_ @ x, atol=1e-9)
        np.testing.assert_allclose(primal.intercept_, constant * dual.dual_coef_.sum())


def test_first_corrections_by_hand():
    """From zero every example is a mistake; the second is right after the first correction."""
    x, y = [[3.0, 4.0], [-3.0, -4.0], [0.0, 1.0]], [1, 0, 0]
    model = Perceptron(bias_update="R", max_epochs=1)
    with pytest.warns(ConvergenceWarning, match="still made mistakes after 1 passes"):
        model.fit(x, y)
    # + (3, 4), b + 5; (-3, -4): -25 + 5 < 0 is right; (0, 1): 4 + 5 > 0 is wrong.
    assert model.coef_.tolist() == [[3.0, 3.0]]
    assert model.intercept_.tolist() == [0.0]
    assert (model.radius_, model.n_mistakes_.tolist()) == (5.0, [2])
    assert model.functional_margin_[0] == -3.0
    assert model.geometric_margin_[0] == pytest.approx(-3 / np.sqrt(18))
    assert model.mistake_bound_[0] == np.inf


@pytest.mark.parametrize("make", [Perceptron, KernelPerceptron])
def test_orders(make):
    x, y = IRIS[0][:100], IRIS[1][:100]
    order = np.random.default_rng(5).permutation(100)
    inverse = np.argsort(order)
    given = make(order=order).fit(x[inverse], y[inverse])
    plain = make().fit(x, y).decision_function(x)
    np.testing.assert_array_equal(given.decision_function(x), plain)
    first, again, other = (
        make(order="random", random_state=seed).fit(x, y).decision_function(x) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("make", [Perceptron, KernelPerceptron])
def test_margins(make):
    x, y = IRIS[0][:100], IRIS[1][:100]
    model = make().fit(x, y)
    functional, geometric = model.margins(x, y), model.margins(x, y, geometric=True)
    assert functional.min() == pytest.approx(model.functional_margin_[0])
    assert geometric.min() == pytest.approx(model.geometric_margin_[0])
    assert functional.min() > 0
    np.testing.assert_allclose(np.abs(model.decision_function(x)), geometric)


def test_a_tie_is_a_mistake_and_predicts_the_first_class():
    model = Perceptron(bias_update=None).fit([[1.0], [-1.0]], ["b", "a"])
    assert model.n_mistakes_[0] == 1
    assert model.predict([[0.0]]).tolist() == ["a"]


def test_bad_questions():
    x, y = IRIS[0][:100], IRIS[1][:100]
    model = Perceptron(bias_update=None).fit(x, y)
    for arguments, text in [
        ((np.ones(3),), r"coef must have shape \(4,\); got \(3,\)"),
        ((np.ones(4), 1.0), "intercept must be 0 with bias_update=None; got 1.0"),
    ]:
        with pytest.raises(ValueError, match=text):
            model.mistake_bound(x, y, *arguments)
    assert model.mistake_bound(x, y, np.ones(4)) == np.inf
    with pytest.warns(ConvergenceWarning):
        several = Perceptron(max_epochs=3).fit(*IRIS)
    with pytest.raises(ValueError, match=r"needs two classes; .* was fitted to 3"):
        several.mistake_bound(*IRIS, np.ones(4))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"bias_update": "R3"}, "bias_update must be one of 'R', 'R2', None"),
        ({"learning_rate": 0.0}, "learning_rate must be"),
        ({"max_epochs": 0}, "max_epochs must be"),
        ({"order": "worst"}, "order must be one of 'data', 'random'"),
        ({"order": [0, 1]}, "order must be .*permutation"),
        ({"order": np.zeros(150)}, "order must be .*permutation"),
    ],
)
def test_bad_settings(settings, text):
    with pytest.raises(ValueError, match=text):
        Perceptron(**settings).fit(*IRIS)


@pytest.mark.parametrize("regularization", [0.1, 0.01])
def test_gradient_descent_reaches_the_exact_solution(regularization):
    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)[::2] + 3.0  # a shift changes nothing
    y = y[::2]
    model = HingeClassifier(regularization).fit(x, y)
    exact = MaxMarginClassifier(
        "linear", C=1 / (2 * regularization * len(y)), fit_intercept="free"
    ).fit(x, y)

    def loss(w, b):
        return np.maximum(0, 1 - (2 * y - 1) * (x @ w + b)).mean() + regularization * w @ w

    least = loss(exact.dual_coef_[0] @ x, exact.intercept_[0])
    reached = loss(model.coef_[0], model.intercept_[0])
    assert reached == pytest.approx(model.loss_[0], rel=1e-9)
    # The duality gap is a bound on the loss, and below the tolerance.
    assert least * (1 - 1e-9) <= reached <= least * (1 + 0.01)
    assert model.loss_[0] * (1 - model.duality_gap_[0]) <= least * (1 + 1e-9)
    assert 0 <= model.duality_gap_[0] <= 0.01


@pytest.mark.parametrize("model", [HingeClassifier(), Perceptron()])
def test_numbers_that_cannot_be_squared_are_refused(model):
    with pytest.raises(ValueError, match=r"X must hold numbers up to 1e\+140 in size; got 1e\+200"):
        model.fit([[1e200], [0.0]], [0, 1])


# --- new examples without the old ones ---


def test_parts_in_turn_are_a_pass():
    """If the first part holds the longest example, R is the same from the beginning."""
    x, y = IRIS
    order = np.argsort(-np.linalg.norm(x, axis=1))
    x, y = x[order], y[order]
    for settings in ({"bias_update": None}, {}, {"bias_update": "R", "learning_rate": 0.3}):
        whole = Perceptron(max_epochs=3, **settings)
        with pytest.warns(ConvergenceWarning):
            whole.fit(x, y)
        parts = Perceptron(**settings)
        for part in 3 * np.array_split(np.arange(len(y)), 7):
            parts.partial_fit(x[part], y[part], classes=[0, 1, 2])
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
        np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-12)
        np.testing.assert_array_equal(parts.n_mistakes_, whole.n_mistakes_)
        assert (parts.n_epochs_ == 21).all()
        assert parts.radius_ == whole.radius_
        last = parts.margins(x[part], y[part])
        assert parts.functional_margin_.min() <= last.min()


def test_stochastic_descent_comes_near_the_smallest_loss():
    rng = np.random.default_rng([SEED, 71])
    x, w = rng.standard_normal((20_000, 5)), rng.standard_normal(5)
    y = np.where(x @ w + 1 + rng.normal(size=len(x)) > 0, "yes", "no")
    full = HingeClassifier(0.1, tol=1e-3).fit(x, y)
    excess = []
    for size in (1000, 20_000):
        model = HingeClassifier(0.1)
        for part in np.array_split(np.arange(size), 9):
            model.partial_fit(x[part], y[part], classes=["no", "yes"])
        loss = np.maximum(0, 1 - model.margins(x, y)).mean() + 0.1 * model.norm_[0] ** 2
        excess.append(loss / full.loss_[0] - 1)
        assert not hasattr(model, "loss_")
    assert -1e-3 <= excess[1] < 0.005
    assert excess[1] < excess[0] / 2
    assert model.intercept_[0] == pytest.approx(full.intercept_[0], abs=0.05)
    # From the full solution on it stays there, and the loss is no longer known.
    full.partial_fit(x, y)
    assert np.linalg.norm(full.coef_ - model.coef_) < 0.05 * full.norm_[0]
    assert not hasattr(full, "loss_")


@pytest.mark.parametrize("make", [Perceptron, HingeClassifier])
def test_bad_parts(make):
    x, y = IRIS
    model = make().partial_fit(x[::3], y[::3])
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"y must hold labels among \[0, 1, 2\]; got 3"):
        model.partial_fit(x[:2], [0, 3])
    with pytest.raises(ValueError, match=r"classes must be those of the first call, \[0 1 2\]"):
        model.partial_fit(x, y, classes=[0, 1])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(x[:, :2], y)
    with pytest.raises(ValueError, match="at least two classes"):
        make().partial_fit(x[:5], y[:5])
    np.testing.assert_array_equal(model.coef_, before)


# --- averages and votes ---


def test_averaged_perceptrons_are_in_version_space_and_near_its_center():
    rng = np.random.default_rng([SEED, 72])
    x = rng.standard_normal((40, 5))
    y = np.where(x @ rng.standard_normal(5) > 0, 1, -1)
    settings = {"kernel": "linear", "fit_intercept": False, "random_state": SEED}
    average = AveragedPerceptron(n_perceptrons=60, **settings).fit(x, y)
    single = AveragedPerceptron(n_perceptrons=1, **settings).fit(x, y)
    assert average.separating_ == single.separating_ == 1
    assert average.margins(x, y).min() > 0  # version space is convex
    assert single.norm_[0] == pytest.approx(1)
    center = VersionSpace(x @ x.T, y).sample(random_state=SEED).center @ x

    def cosine(model):
        return model.dual_coef_[0] @ x @ center / np.linalg.norm(center) / model.norm_[0]

    assert cosine(average) > cosine(single)
    again = AveragedPerceptron(n_perceptrons=60, **settings).fit(x, y)
    np.testing.assert_array_equal(average.dual_coef_, again.dual_coef_)
    bounds = {row.name: row.value for row in average.risk_bounds(random_state=SEED)}
    assert 0 < bounds["point_mirror"] < 1.5
    assert np.isnan(bounds["margin"])  # of a single perceptron only


@pytest.mark.parametrize("offset", [False, True])
def test_votes_by_hand(offset):
    """Every weight vector of the plain algorithm votes as often as it survived."""
    rng = np.random.default_rng([SEED, 73])
    x = rng.standard_normal((25, 3))
    y = np.where(x @ rng.standard_normal(3) > 0.2 * offset, 1, -1)
    z = np.column_stack([x, np.full(len(x), float(offset))])
    w, votes, survived = np.zeros(4), np.zeros(len(x)), 0
    for _ in range(1000):
        mistakes = 0
        for one, label in zip(z, y, strict=True):
            if label * (w @ one) <= 0:
                votes += survived * np.sign(z @ w)
                w, survived, mistakes = w + label * one, 0, mistakes + 1
            else:
                survived += 1
        if not mistakes:
            break
    else:
        pytest.fail("not separable")
    # Ours ends as soon as all examples in a row were right.
    model = VotedPerceptron("linear", fit_intercept=offset).fit(x, y)
    rest = survived - model.votes_[0][-1]
    votes += (survived - rest) * np.sign(z @ w)
    np.testing.assert_allclose(model.decision_function(x), votes / model.votes_[0].sum())
    assert model.votes_[0][-1] == len(y)
    with pytest.warns(ConvergenceWarning, match="after 1 passes"):
        short = VotedPerceptron("linear", fit_intercept=offset, max_epochs=1).fit(x, y)
    assert short.votes_[0].sum() + len(short.mistakes_[0]) == len(y)


def test_averages_and_votes_of_several_classes():
    for model in (AveragedPerceptron(random_state=SEED), VotedPerceptron()):
        with pytest.warns(ConvergenceWarning, match="still made mistakes after 5 passes"):
            model.set_params(max_epochs=5).fit(*IRIS)
        assert model.decision_function(IRIS[0]).shape == (150, 3)
        assert model.score(*IRIS) > 0.7
    for model in (AveragedPerceptron(n_perceptrons=0), VotedPerceptron(max_epochs=0)):
        with pytest.raises(ValueError, match="must be an integer of at least 1; got 0"):
            model.fit(*IRIS)


# --- the perceptron with a kernel ---


@pytest.mark.long
def test_kernel_perceptron_keeps_its_bound_and_is_sparse_on_1000_problems():
    """The bound by the largest margin never rises with a normalized kernel."""
    tightest = {False: 0.0, True: 0.0}
    fallen = 0
    for index in range(1000):
        linear = index % 2 == 0
        x, y = separable(2000 + index, intercept=not linear)
        kernel = kernels.Linear() if linear else kernels.Polynomial(2, 1.0)
        gram = kernel(x)
        bounds = []
        for normalize in (False, True):
            model = KernelPerceptron(
                kernel,
                normalize=normalize,
                fit_intercept=False,
                max_epochs=10**6,
                order="random",
                random_state=index,
            ).fit(x, y)
            lengths = np.sqrt(gram.diagonal()) if normalize else np.ones(len(x))
            normalized = gram / np.outer(lengths, lengths)
            margin = VersionSpace(normalized, y).max_margin().margin
            mistakes = model.n_mistakes_[0]
            bounds.append(normalized.diagonal().max() / margin**2)
            assert 1 <= len(model.support_) <= mistakes <= bounds[-1] * (1 + 1e-9)
            assert mistakes <= model.mistake_bound_[0]
            np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_coef_[0]))
            assert np.abs(model.dual_coef_).sum() == mistakes
            assert (model.predict(x) == y).all()
            assert model.mistake_bound_[0] >= bounds[-1] * (1 - 1e-9)
            tightest[normalize] = max(tightest[normalize], mistakes / bounds[-1])
        assert bounds[1] <= bounds[0] * (1 + 1e-9)
        fallen += bounds[1] < 0.9 * bounds[0]
    assert min(tightest.values()) > 0.3
    assert fallen > 500  # and most fall


def test_strings_and_softness():
    texts = ["abab", "baba", "aabb", "bbaa", "abab"]
    labels = ["alternating", "alternating", "not", "not", "not"]
    with pytest.warns(ConvergenceWarning):  # the first and the last are the same string
        KernelPerceptron(kernels.Spectrum(2), max_epochs=20).fit(texts, labels)
    model = KernelPerceptron(kernels.Spectrum(2), normalize=True, softness=0.5).fit(texts, labels)
    assert model.geometric_margin_[0] > 0
    assert model.predict(["aaabbb", "bababa"]).tolist() == ["not", "alternating"]
    assert model.kernel_ == kernels.normalize(kernels.Spectrum(2))


def test_with_an_intercept_normalizing_may_raise_the_bound():
    """On a line all normalized examples are one of two points, which no intercept separates."""
    x, y = np.array([[1.0], [2.0], [4.0], [5.0]]), np.array([-1, -1, 1, 1])
    plain = KernelPerceptron("linear", max_epochs=10**4).fit(x, y)
    assert plain.n_mistakes_[0] <= plain.mistake_bound_[0] < np.inf
    with pytest.warns(ConvergenceWarning, match="still made mistakes"):
        normalized = KernelPerceptron("linear", normalize=True, max_epochs=100).fit(x, y)
    assert normalized.mistake_bound_[0] == np.inf


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Linear()])
def test_blocks_give_what_the_whole_matrix_gives(kernel):
    settings = {"softness": 0.1, "max_epochs": 30, "order": "random", "random_state": SEED}
    whole, parts = (
        KernelPerceptron(kernel, block_size=n, **settings).fit(*IRIS) for n in (150, 40)
    )
    for name in ("dual_coef_", "n_mistakes_", "n_epochs_"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    for name in ("functional_margin_", "norm_", "radius_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)


def test_the_adatron_approaches_the_largest_margin():
    for index in range(10):
        x, y = separable(5000 + index)
        space = VersionSpace(kernels.RBF(2.0)(x), y, offset=1.0, softness=0.1)
        best = space.max_margin()
        found = kernel_adatron(space, learning_rate=1.5, max_epochs=10**5)
        assert space.margins(found).min() == pytest.approx(best.margin, rel=2e-3)
        assert space.margins(found) @ (found * y) == pytest.approx(1)
    with pytest.warns(ConvergenceWarning):
        kernel_adatron(space, max_epochs=1)
    with pytest.raises(ValueError, match=r"learning_rate must be in \(0, 2\); got 2"):
        kernel_adatron(space, learning_rate=2.0)


def test_the_perceptrons_own_margin_is_much_smaller_than_the_largest():
    """Section 4 of Graepel et al."""
    X, digits = load_digits(return_X_y=True)
    gram = kernels.normalize(kernels.Polynomial(4, 1.0))(X[:300] / 16)
    for digit in range(10):
        y = np.where(digits[:300] == digit, 1, -1)
        model = KernelPerceptron("precomputed", fit_intercept=False).fit(gram, y)
        assert 0 < model.geometric_margin_[0] < 0.5 * VersionSpace(gram, y).max_margin().margin
