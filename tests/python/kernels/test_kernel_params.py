"""Kernels within scikit-learn: parameters by name, copies, and scikit-learn's own kernels."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GridSearchCV

from bayespoint import BayesPointClassifier, kernels
from helpers import seed
from objects import log_evidence, tune

RNG = np.random.default_rng(seed(0))
X = RNG.standard_normal((60, 3))
Y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * RNG.standard_normal(60) > 0, 1.0, -1.0)
NEW = RNG.standard_normal((20, 3))
# Five standard deviations above the accuracy of guessing.
LEARNED = 0.5 + 5 * 0.5 / np.sqrt(len(Y))

ALL = [
    kernels.Constant(2.0),
    kernels.Linear(),
    kernels.Polynomial(2, 0.5),
    kernels.RBF(2.0),
    kernels.RBF([1.0, 2.0, 3.0]),
    kernels.Laplacian(2.0),
    kernels.Matern(2.0, nu=2.5),
    kernels.RationalQuadratic(2.0, 0.5),
    kernels.SetIntersection(1.5),
    kernels.Spectrum(2),
    0.5 * (kernels.RBF(2.0) + kernels.Linear()),
    kernels.normalize(kernels.Polynomial(2, 1.0)) * kernels.RBF(2.0) + 1,
    kernels.Scaled(kernels.RationalQuadratic(alpha=2.0, bounds=(0.5, 9.0))),
    kernels.RBF(per_feature=True) + kernels.Constant(),
]


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_kernels_are_values(kernel):
    """Copies of every kind are equal and have the same hash and the same text."""
    copies = [
        clone(kernel, safe=False),
        type(kernel)(**kernel.get_params(deep=False)),
        clone(kernel, safe=False).set_params(**kernel.get_params()),
        pickle.loads(pickle.dumps(kernel)),
        eval(repr(kernel), vars(kernels)),
    ]
    for one in copies:
        assert one is not kernel
        assert one == kernel
        assert hash(one) == hash(kernel)
        assert repr(one) == repr(kernel)
    changed = clone(kernel, safe=False)
    for name, value in kernel.get_params().items():
        if isinstance(value, (int, float)) and name.split("__")[-1] not in ("nu", "per_feature"):
            changed.set_params(**{name: value * 2})
            assert changed != kernel
            assert changed.get_params()[name] == value * 2


def test_numbers_of_numpy_are_plain():
    """So the repr of a kernel from a grid is readable, and equal kernels have equal hashes."""
    for made, plain in [
        (kernels.Polynomial(np.int64(2), np.float32(0.5)), kernels.Polynomial(2, 0.5)),
        (kernels.RBF(np.array([1, 2])), kernels.RBF([1.0, 2.0])),
    ]:
        assert made == plain
        assert hash(made) == hash(plain)
        assert repr(made) == repr(plain)


def test_parameters_by_name():
    part = kernels.RBF(2.0)
    kernel = 0.5 * (part + kernels.normalize(kernels.Polynomial(2, 1.0)))
    assert kernel.get_params()["kernel__1__kernel__degree"] == 2
    found = kernel.set_params(factor=3, kernel__0__sigma=5, kernel__1__kernel__degree=4)
    assert found is kernel
    assert kernel == 3.0 * (kernels.RBF(5.0) + kernels.normalize(kernels.Polynomial(4, 1.0)))
    assert part == kernels.RBF(2.0)  # it may be part of other kernels too
    kernel.set_params(**{"kernel__0": kernels.Matern(1.0), "kernel__0__nu": 2.5})
    assert kernel.kernel.parts[0] == kernels.Matern(1.0, nu=2.5)
    both = kernels.Sum((part, part)).set_params(**{"0__sigma": 9.0})
    assert [one.sigma for one in both.parts] == [9.0, 2.0]
    mixed = kernels.RBF(1.0) + gp.DotProduct(1.0)
    given = mixed.parts[1]
    mixed.set_params(**{"1__sigma_0": 3.0})
    assert (mixed.parts[1].sigma_0, given.sigma_0) == (3.0, 1.0)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"gamma": 1.0}, r"the parameters of .* are: bounds, factor, kernel; got 'gamma'"),
        ({"kernel__2__sigma": 1.0}, r"are: 0, 1, parts; got '2'"),
        ({"kernel__1__degree": 1.0}, r"the parameters of Linear\(\) are: none; got 'degree'"),
        ({"factor__sigma": 1.0}, r"factor of .* has no parameters to set; got sigma"),
        ({"kernel__0__sigma": 3.0, "factor": 0.0}, "factor must be a finite number"),
    ],
)
def test_bad_parameters_change_nothing(params, text):
    kernel = 0.5 * (kernels.RBF(2.0) + kernels.Linear())
    with pytest.raises(ValueError, match=text):
        kernel.set_params(**params)
    assert kernel == 0.5 * (kernels.RBF(2.0) + kernels.Linear())


class Shifted(kernels.Kernel):
    """A user's kernel that is not a dataclass."""

    def __init__(self, shift):
        self.shift = [shift]

    def __call__(self, a, b=None):
        return a @ (a if b is None else b).T + self.shift[0]

    def diag(self, a):
        return (a * a).sum(axis=1) + self.shift[0]


def test_a_kernel_without_declared_fields():
    kernel = Shifted(2.0)
    assert kernel.get_params() == {}
    assert kernel.set_params() is kernel
    copied = clone(kernel, safe=False)
    assert copied.shift == kernel.shift
    assert copied.shift is not kernel.shift
    with pytest.raises(ValueError, match="are: none; got 'shift'"):
        kernel.set_params(shift=1.0)
    model = BayesPointClassifier(2.0 * kernel, random_state=seed(0))
    assert clone(model).set_params(kernel__factor=3.0).fit(X, Y).score(X, Y) > 0.7


@pytest.mark.parametrize(
    "kernel", [kernels.RBF(1.0), gp.RBF(1.0, "fixed")], ids=["ours", "scikit-learn's"]
)
def test_a_fitted_model_does_not_see_later_parameters(kernel):
    copied = clone(kernel, safe=False)
    model = BayesPointClassifier(copied, softness=1.0, random_state=seed(0)).fit(X, Y)
    before = model.decision_function(NEW)
    name = "sigma" if isinstance(kernel, kernels.RBF) else "length_scale"
    model.set_params(**{f"kernel__{name}": 9.0})
    np.testing.assert_array_equal(model.decision_function(NEW), before)
    assert np.abs(model.fit(X, Y).decision_function(NEW) - before).max() > 1e-3


# --- kernels of scikit-learn's Gaussian processes ---


def test_their_hyper_parameters_are_searched():
    """The evidence found is that of our equivalent kernel."""
    ours = tune(kernels.Scaled(kernels.RBF()), X, Y, offset=1.0)
    theirs = tune(gp.ConstantKernel() * gp.RBF(), X, Y, offset=1.0)
    assert theirs.names[:3] == ("k1__constant_value", "k2__length_scale", "softness")
    assert theirs.log_evidence == pytest.approx(ours.log_evidence, abs=0.05)
    model = BayesPointClassifier(kernel=gp.ConstantKernel() * gp.RBF(), random_state=seed(0))
    model.fit(X, Y)
    assert model.kernel_ == model.tuning_.kernel != model.kernel
    relevance = tune(gp.RBF(np.ones(3)), X, Y, offset=1.0)
    assert relevance.names[:3] == ("length_scale[0]", "length_scale[1]", "length_scale[2]")
    assert relevance.kernel.length_scale[2] > 2 * relevance.kernel.length_scale[:2].max()


class Alike(gp.GenericKernelMixin, gp.StationaryKernelMixin, gp.Kernel):
    """A kernel of numbers or arrays: the exponential of the mean absolute difference."""

    def __init__(self, width=1.0):
        self.width = width

    def __call__(self, X, Y=None, eval_gradient=False):
        assert not eval_gradient
        pairs = [[np.mean(np.abs(np.subtract(a, b))) for b in (X if Y is None else Y)] for a in X]
        return np.exp(-np.array(pairs) / self.width)

    def diag(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize(
    ("kernel", "score"),
    [
        (gp.ConstantKernel() + gp.WhiteKernel(), 0.4),
        (kernels.RBF(1.0) + gp.ConstantKernel(), LEARNED),
        (Alike(), LEARNED),
    ],
    ids=["constant", "mixed", "own"],
)
def test_kernels_of_any_inputs_take_rows_of_numbers(kernel, score):
    """Kernels of scikit-learn declare that they need no vectors."""
    model = BayesPointClassifier(kernel, random_state=seed(0), softness=0.1)
    model.fit(X, Y)
    assert model.n_features_in_ == 3
    assert model.score(X, Y) > score
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("kernel", [Alike(), kernels.Constant(1.0) * Alike()])
def test_kernels_of_any_inputs_take_other_inputs(kernel):
    model = BayesPointClassifier(kernel, random_state=seed(0), softness=0.1, standardize=False)
    expected = model.fit(X[:, :1], Y).decision_function(X[:, :1])
    for inputs in (X[:, 0], X[:, 0].tolist()):
        np.testing.assert_array_equal(model.fit(inputs, Y).decision_function(inputs), expected)
        assert not hasattr(model, "n_features_in_")
    ragged = [[value] * (1 + k % 2) for k, value in enumerate(X[:, 0])]
    np.testing.assert_array_equal(model.fit(ragged, Y).decision_function(ragged), expected)


def test_bounds_of_a_user_that_are_reached_are_told():
    """Also where the evidence is flat: so short length scales tell no examples apart."""
    model = BayesPointClassifier(kernel=gp.RBF(1.0, (1e-5, 1e-3)), random_state=seed(0))
    with pytest.warns(ConvergenceWarning, match=r"length_scale=0\.001, a bound .* changes by"):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("name", "hint"), [("matern", r"write Matern\(\)"), ("sigmoid", "not pos")]
)
def test_names_of_other_kernels_have_a_hint(name, hint):
    with pytest.raises(ValueError, match=f"got '{name}': .*{hint}"):
        BayesPointClassifier(kernel=name).fit(X, Y)


@pytest.mark.parametrize(("name", "hint"), [("C", "softness takes"), ("gamma", "RBF")])
def test_parameters_of_svc_have_a_hint(name, hint):
    with pytest.raises(TypeError, match=f"no parameter '{name}', as SVC has: .*{hint}"):
        BayesPointClassifier(**{name: 1.0})
    with pytest.raises(TypeError, match=hint):
        GridSearchCV(BayesPointClassifier(), {name: [1.0]}).fit(X, Y)


def test_their_bounds_and_fixed_parameters():
    kernel = gp.ConstantKernel(0.7, "fixed") * gp.Matern(0.35, (0.3, 0.4)) + gp.RBF(5.0, "fixed")
    found = BayesPointClassifier(kernel=kernel, random_state=seed(0), standardize=False)
    with pytest.warns(ConvergenceWarning, match="ended at k1__k2__length_scale=0.4, a bound"):
        found.fit(X, Y)
    assert found.tuning_.names[:2] == ("k1__k2__length_scale", "softness")
    assert 0.3 <= found.kernel_.k1.k2.length_scale <= 0.4
    assert found.kernel_.k1.k1.constant_value == 0.7
    assert found.kernel_.k2.length_scale == 5.0
    given = BayesPointClassifier(
        gp.RBF(2.0, "fixed"), softness=0.1, random_state=seed(0), standardize=False
    )
    assert given.fit(X, Y).kernel_ == gp.RBF(2.0, "fixed")
    assert given.tuning_ is None


def test_white_noise_is_softness():
    """In the examples, in probabilities of new ones, and in functions drawn at them."""
    given = {"random_state": seed(0)}
    rbf = gp.RBF(1.5, "fixed")
    white = BayesPointClassifier(
        rbf + gp.WhiteKernel(0.3, "fixed"), softness=0.0, **given, standardize=False
    )
    soft = BayesPointClassifier(rbf, softness=0.3, **given, standardize=False)
    white.fit(X, Y), soft.fit(X, Y)
    np.testing.assert_allclose(white.dual_coef_, soft.dual_coef_, rtol=1e-8, atol=1e-12)
    for points in (NEW, X):  # at the place of an example, too, noise is new
        np.testing.assert_allclose(
            white.predict_proba(points), soft.predict_proba(points), rtol=1e-6
        )
        draws = [one.sample_functions(points, random_state=seed(0)) for one in (white, soft)]
        np.testing.assert_allclose(*draws, rtol=1e-4, atol=1e-5)
    for level in (0.1, 0.7):
        white, soft = rbf + gp.WhiteKernel(level, "fixed"), level + 1e-3
        both = (log_evidence(white, X, Y, 1e-3), log_evidence(rbf, X, Y, soft))
        assert both[0] == pytest.approx(both[1], abs=1e-6)


class Halved(gp.RBF):
    """A kernel that declares more than its ``theta`` holds."""

    @property
    def theta(self):
        return super().theta[:0]

    @theta.setter
    def theta(self, value):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kernel", "error", "text"),
    [
        (gp.RBF() + kernels.RBF(1.0), TypeError, r"k2__constant_value .* got RBF\(sigma=1.0\)"),
        (gp.RBF(1.0, (0.0, 1.0)), ValueError, r"the bounds of length_scale .* got \[0.0, 1.0\]"),
        (gp.RBF(1.0, (2.0, 1.0)), ValueError, "the bounds of length_scale must be positive, fin"),
        (gp.CompoundKernel([gp.RBF(), gp.RBF()]), TypeError, "one kernel, .* got 2 in a Comp"),
        (Halved(), ValueError, "must have as many entries of theta as it declares .* 1; got 0"),
    ],
    ids=["unknown part", "bound of zero", "order of bounds", "compound", "theta"],
)
def test_invalid_kernels(kernel, error, text):
    with pytest.raises(error, match=text):
        BayesPointClassifier(kernel=kernel, random_state=seed(0)).fit(X, Y)
