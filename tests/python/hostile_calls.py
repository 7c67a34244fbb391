"""Good arguments for every public callable of the package (hostile_public.py)."""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayespoint import (
    BayesPointClassifier,
    BayesPointOrdinalClassifier,
    BayesPointRanker,
    SampleOptions,
    VersionSpace,
    kernels,
)
from bayespoint.papers import bounds, learning_curves, planar
from bayespoint.papers.averaged import AveragedPerceptron, VotedPerceptron
from bayespoint.papers.centers import closest_to_vote, largest_ellipsoid
from bayespoint.papers.dynamics import Chord, Flipper, Scattered
from bayespoint.papers.machine import BayesPointMachine
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import onion
from bayespoint.papers.perceptron import KernelPerceptron, kernel_adatron
from bayespoint.papers.reweighting import reweight
from bayespoint.posterior import Mixture
from helpers import flown, sample
from hostile_public import objects


@dataclass
class Call:
    """A call with good arguments."""

    covers: tuple[str, ...]
    function: Any
    arguments: dict[str, Any]
    names: tuple[str, ...] = field(default=())
    """What errors may name beside the arguments."""
    check: Any = None
    """Called with the result and the arguments, where the call succeeds."""

    @property
    def id(self):
        return self.covers[0]


RNG = np.random.default_rng(12)
X = RNG.standard_normal((12, 3))
Y = np.where(X @ [1.0, 0.5, -0.2] > 0, 1, -1)
LEVELS = np.digitize(X @ [1.0, 0.5, -0.2], [-0.4, 0.6])
CHOICES = np.array([[0, 1, 2], [3, 4, -1], [5, 1, 0], [7, 9, 11]])
NEW = RNG.standard_normal((4, 3))
GRAM = X @ X.T
RBF = kernels.RBF(1.5)
GROWING = (kernels.Linear(), kernels.Polynomial(2, 1.0))
"""Kernels whose values are as large as the inputs are."""
QUICK = {"softness": 0.2, "tol": 0.5, "n_draws": 8, "random_state": 0}

TEXTS = np.array(["abba", "ab", "cab", "bbb"], dtype=object)
SETS = np.array([{1, 2}, {2}, frozenset({3, 1}), {4}], dtype=object)


@functools.cache
def space(softness=0.3):
    return VersionSpace(GRAM, Y, softness=softness)


@functools.cache
def result():
    return space().sample(options=SampleOptions(max_bounces=50), random_state=0)


@functools.cache
def fitted(kind=BayesPointClassifier, kernel=RBF):
    of_points = issubclass(kind, (BayesPointClassifier, BayesPointRanker))
    model = kind(kernel, **QUICK) if of_points else kind()
    labels = {BayesPointOrdinalClassifier: LEVELS, BayesPointRanker: CHOICES}
    return model.fit(X, labels.get(kind, Y))


@functools.cache
def table():
    return onion(
        VersionSpace(GRAM, Y),
        max_errors=(1, 1),
        tol=0.5,
        max_length=20.0,
        n_trajectories=1,
        random_state=0,
    )


def posterior(kernel=RBF):
    return fitted(kernel=kernel).posterior_


def flat(margins):
    return np.ones(len(margins))


def method(owner, name):
    """Return a method of an object that is made when it is first called."""

    def call(**arguments):
        return getattr(owner(), name)(**arguments)

    return call


def fit_of(kind):
    def fit(X, y, sample_weight=None, groups=None, **parameters):
        more = {"sample_weight": sample_weight, "groups": groups}
        more = {name: value for name, value in more.items() if value is not None}
        return kind(**parameters).fit(X, y, **more)

    return fit


def chances(p, _):
    p = np.asarray(p)
    assert ((p >= 0) & (p <= 1)).all()
    if p.ndim == 2:
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)


def shares(x, _):
    assert ((np.asarray(x) >= 0) & (np.asarray(x) <= 1)).all()


def finite(x, _):
    assert np.isfinite(x).all()


def of_the_center(model):
    """Return a check of decision values by the classes that the center predicts."""

    def check(values, arguments):
        finite(values, arguments)
        known = model()
        classes = known.classes if isinstance(known, Mixture) else known.classes_
        second = known.predict(**arguments) == classes[1]
        np.testing.assert_array_equal(values > 0, second)

    return check


def not_nan(x, _):
    assert not np.isnan(x).any()


def run_is_right(run, arguments):
    assert np.isfinite(run.center).all()
    assert np.isfinite(run.draws).all()
    assert 0 <= run.center_norm <= 1 + 1e-6


def classifies(model, arguments):
    labels = model.predict(arguments["X"])
    assert set(np.unique(labels)) <= set(model.classes_)
    if hasattr(model, "predict_proba"):
        chances(model.predict_proba(arguments["X"]), arguments)


RUN = {"max_bounces": 40, "n_trajectories": 2, "n_draws": 4, "random_state": 0}
SHORT = {"tol": 0.5, "max_length": 4.0, "n_trajectories": 1, "random_state": 0}

ESTIMATORS = {
    BayesPointClassifier: "BayesPointClassifier",
    BayesPointOrdinalClassifier: "BayesPointOrdinalClassifier",
    BayesPointRanker: "BayesPointRanker",
    BayesPointMachine: "papers.machine.BayesPointMachine",
    MaxMarginClassifier: "papers.max_margin.MaxMarginClassifier",
    KernelPerceptron: "papers.perceptron.KernelPerceptron",
    AveragedPerceptron: "papers.averaged.AveragedPerceptron",
    VotedPerceptron: "papers.averaged.VotedPerceptron",
}
"""Their public names."""

ELSEWHERE = {
    "load",
    *(f"{name}.set_params" for name in ESTIMATORS.values()),
    *(
        f"BayesPointOrdinalClassifier.{name}"
        for name in (
            "evidence",
            "leave_one_out",
            "log_labeling_probability",
            "predict_log_proba",
            "refine",
            "update",
        )
    ),
}
"""Tested with files (test_io.py), takes nothing, keeps any value, inherited with its checks."""


KERNEL_METHODS = (
    "diag",
    "diag_with_pullback",
    "get_params",
    "parameters",
    "set_params",
    "with_pullback",
    "with_values",
)

AT_POINTS = {
    "sample_functions": (finite, {"random_state": 0}),
    "reject": (None, {"cost": 0.2}),
    "suggest_query": (None, {"n": 2}),
    "predict_set": (None, {"alpha": 0.2}),
    "predict_proba_interval": (shares, {"level": 0.8}),
}
"""Checks and settings of what a posterior of classes answers at points."""


def calls():
    """Return good calls of all of them."""
    parts = of_spaces, of_fits, of_models, of_posteriors, of_kernels, of_functions, of_papers
    return [call for part in parts for call in part()]


def good(name, check=None, function=None, /, *, covers=(), texts=(), **arguments):
    """Return a good call of a public callable, or of a function that stands for it and others."""
    return Call((name, *covers), function or objects()[name], arguments, texts, check)


def of_model(name, check=None, kind=BayesPointClassifier, kernel=RBF, **arguments):
    function = method(lambda: fitted(kind, kernel), name)
    return good(f"{ESTIMATORS[kind]}.{name}", check, function, **arguments)


def of_spaces():
    def of_space(name, check=None, **arguments):
        return good(f"VersionSpace.{name}", check, method(space, name), **arguments)

    yield good("VersionSpace", gram=GRAM, y=Y, softness=0.1, offset=1.0)
    yield good(
        "Walls",
        coordinates=np.array([[0, 1], [2, 1]]),
        coefficients=np.array([[1.0, -1.0], [0.5, 2.0]]),
        observations=np.array([0, -1]),
    )
    yield good(
        "VersionSpace.sample",
        run_is_right,
        lambda **more: sample(space(), **more),
        **RUN,
        length=5.0,
        tol=0.3,
        transparency=0.1,
        refresh="pair",
        refresh_rate=2.0,
        average="arc",
    )
    for motion in (Chord(1e3), Flipper(1e3), Scattered("cosine", 0.01)):
        fly = functools.partial(flown, motion=motion, tol=0.3)  # soon, also without a limit
        run = functools.partial(lambda fly, **settings: fly(space(), **settings), fly)
        yield good("papers.dynamics.sample", None, run, **RUN)
    yield of_space("margins", finite, dual_coef=np.arange(12.0))
    yield of_space("contains", dual_coef=np.arange(12.0))
    yield of_space("feasible_point", finite, method="max_margin", random_state=1)
    yield of_space("max_margin", tol=1e-6, max_iter=1000)
    yield of_space("evidence", **SHORT, label_noise=np.array([0.0, 0.2]))


def of_fits():
    few = {**QUICK, "label_noise": 0.1, "n_trajectories": 2}
    relevance = {"y": np.arange(12) % 4, "groups": np.arange(12) % 2, **QUICK}
    for kind, settings in (
        (BayesPointClassifier, {**few, "sample_weight": np.arange(len(X)) % 3 + 0.5}),
        (BayesPointOrdinalClassifier, {**few, "y": LEVELS, "decision": "median"}),
        (BayesPointRanker, {**few, "y": CHOICES}),
        (BayesPointRanker, relevance),
        (MaxMarginClassifier, {"C": 1.0, "softness": 0.1, "tol": 1e-6, "max_iter": 1000}),
        (KernelPerceptron, {"softness": 0.1, "learning_rate": 0.5, "block_size": 7}),
        (AveragedPerceptron, {"softness": 0.1, "n_perceptrons": 3, "random_state": 0}),
        (
            BayesPointMachine,
            {"motion": "flipper", "softness": 0.1, "tau_max": 1e3, "N_max": 20, "random_state": 0},
        ),
        (
            BayesPointMachine,
            {"motion": "geodesic", "TOL": 0.5, "errors": np.ones((2, 2)), "N_max": 9},
        ),
        (VotedPerceptron, {"fit_intercept": False, "max_epochs": 5}),
    ):
        own, data = ESTIMATORS[kind], {"X": X, "y": Y} | settings
        check = None if kind is BayesPointRanker else classifies
        yield good(f"{own}.fit", check, fit_of(kind), covers=(own,), **data)

    def fresh(**settings):
        return BayesPointClassifier(RBF, **QUICK, **settings).fit(X, Y)

    yield good(
        "BayesPointClassifier.leave_one_out",
        chances,
        lambda **more: fresh(approximation="landmarks", n_components=5).leave_one_out(**more),
        X=X,
        y=Y,
    )
    labels = np.array([1, -1, 1, 1])
    yield good("BayesPointClassifier.refine", None, lambda **more: fresh().refine(**more), tol=0.3)
    yield good(
        "BayesPointClassifier.update", None, lambda **more: fresh().update(**more), X=NEW, y=labels
    )
    yield of_model("log_labeling_probability", X=NEW, y=labels, random_state=0)


def of_models():
    for kind in ESTIMATORS:
        if kind is not BayesPointRanker:
            yield of_model("decision_function", finite, kind, X=NEW)
            yield of_model("predict", None, kind, X=NEW)
        if not issubclass(kind, BayesPointClassifier | BayesPointRanker):
            yield of_model("margins", finite, kind, X=X, y=Y)
    for kind in (BayesPointMachine, MaxMarginClassifier, KernelPerceptron, AveragedPerceptron):
        yield of_model("risk_bounds", None, kind, delta=0.1)
    of_center = [of_the_center(functools.partial(fitted, kernel=kernel)) for kernel in GROWING]
    for kernel, check in zip((RBF, *GROWING), (finite, *of_center), strict=True):
        of_kernel = functools.partial(of_model, kernel=kernel, X=NEW)
        yield of_kernel("decision_function", check)
        yield of_kernel("predict", None, method="vote")
        yield of_kernel("predict_proba", chances, method="moments")
        yield of_kernel("predict_proba", chances, method="mixture")
        for name, (check_at_points, settings) in AT_POINTS.items():
            yield of_kernel(name, check_at_points, **settings)
    yield of_model("predict_log_proba", X=NEW, method="moments")
    ordered = BayesPointOrdinalClassifier
    yield of_model("predict_proba", chances, ordered, X=NEW, method="mixture")
    for name, (check, settings) in AT_POINTS.items():
        yield of_model(name, check, ordered, X=NEW, **settings)
    yield of_model("score", shares, ordered, X=X, y=LEVELS)
    ranks = BayesPointRanker
    yield of_model("predict", None, ranks, X=NEW, return_std=True)
    yield of_model("predict_proba", shares, ranks, X=NEW, pairs=np.array([[0, 1], [3, 1]]))
    yield of_model("probability_best", shares, ranks, X=NEW)
    yield of_model("sample_functions", finite, ranks, X=NEW, random_state=0)
    yield of_model("suggest_query", None, ranks, X=NEW)
    yield of_model("score", shares, ranks, X=X, y=CHOICES)
    for kind in (BayesPointClassifier, ranks):
        yield of_model("evidence", None, kind, tol=0.5, max_length=4.0, random_state=0)


def of_posteriors():
    def of_model_alone(name, check=None):
        function = method(lambda: fitted().models_[0], name)
        return good(f"posterior.Model.{name}", check, function, X=NEW)

    def of_mixture(name, check=None, kernel=RBF, **settings):
        function = method(functools.partial(posterior, kernel), name)
        return good(f"posterior.Mixture.{name}", check, function, X=NEW, **settings)

    for of in (of_model_alone, of_mixture):
        yield of("decision_function", finite)
        yield of("predict")
        yield of("predict_proba", chances)
    yield of_model_alone("moments")
    yield of_mixture("predict_log_proba")
    yield of_mixture("gibbs", random_state=0)
    yield of_mixture("votes", finite)
    yield of_mixture("sample_functions", finite, random_state=0)
    for kernel in GROWING:
        check = of_the_center(functools.partial(posterior, kernel))
        yield of_mixture("decision_function", check, kernel)
        yield of_mixture("predict_proba", chances, kernel)


def of_kernels():
    for name, parameters in {
        "Linear": {},
        "RBF": {"sigma": 1.5},
        "Laplacian": {"sigma": 1.5},
        "Matern": {"sigma": 1.5, "nu": 2.5},
        "RationalQuadratic": {"sigma": 1.5, "alpha": 2.0},
        "Polynomial": {"degree": 2, "coef0": 0.5},
        "Constant": {"value": 2.0},
        "Spectrum": {"length": 2},
        "SetIntersection": {"base": 2.0},
    }.items():
        inputs = {"Spectrum": TEXTS, "SetIntersection": SETS}.get(name, X)
        of_vectors, kind = inputs is X, getattr(kernels, name)

        def evaluated(X, Y, kind=kind, **parameters):
            return kind(**parameters)(X, Y)

        def diagonal(X, kind=kind, **parameters):
            return kind(**parameters).diag(X)

        own = f"kernels.{name}"
        yield good(
            own,
            not_nan if of_vectors else None,
            evaluated,
            covers=[f"{own}.{m}" for m in KERNEL_METHODS],
            X=inputs,
            Y=NEW if of_vectors else inputs[:2],
            **parameters,
        )
        if of_vectors:
            yield good(f"{own}.diag", not_nan, diagonal, X=X, **parameters)

    def with_weights(X, Y, weights, groups, limits):
        kernel = kernels.Weighted(kernels.RBF(), weights, groups=groups, limits=limits)
        return kernel.with_values({"kernel.sigma": 1.5})(X, Y)

    yield good(
        "kernels.Weighted",
        None,
        with_weights,
        covers=[f"kernels.Weighted.{m}" for m in KERNEL_METHODS],
        X=X,
        Y=NEW,
        weights=(0.5, 1.25, 2.0),
        groups=(0, 1, 2),
        limits=(np.inf, np.inf, 1.0),
    )
    compound = [f"kernels.{k}" for k in ("Sum", "Product", "Scaled", "Normalized", "Kernel")]
    yield good(
        compound[0],
        None,
        lambda kernel, factor, X: (kernels.normalize(factor * RBF + kernel) * RBF)(X),
        covers=[
            "kernels.normalize",
            *compound[1:],
            *(f"{k}.{m}" for k in compound for m in KERNEL_METHODS),
        ],
        texts=("a number + or * a kernel",),
        kernel=kernels.Linear(),
        factor=2.0,
        X=X,
    )
    yield good(
        "kernels.at_start",
        None,
        lambda kernel, X: kernels.at_start(kernel, X)(X),
        kernel=kernels.Scaled(kernels.RBF(per_feature=True)),
        X=X,
    )
    yield good("kernels.gram_matrix", X=X, kernel=RBF, dtype="float32")
    yield good("kernels.class_distance", X=X, y=Y)


def of_functions():
    draws, seeded = RNG.standard_normal((2, 20, 3)), {"random_state": 0}
    yield good("results.diagnostics.r_hat", draws=draws)
    yield good("results.diagnostics.ess_bulk", draws=draws)
    for name in objects():
        if name.startswith("datasets.load_"):
            yield good(name, return_X_y=True, as_frame=False)
    few = {"n_samples": 9, "noise": 0.1, **seeded}
    yield good("datasets.make_teacher", n_features=2, **few)
    yield good("datasets.make_sets", n_items=5, size=(2, 3), **few)
    yield good("datasets.make_words", length=(5, 6), alphabet="ab", motif="ab", **few)
    yield good(
        "posterior.rejection_curve",
        y_true=np.array([0, 1, 1, 0]),
        proba=np.array([0.1, 0.8, 0.4, 0.3]),
        labels=np.array([0, 1]),
    )


def of_papers():
    yield good(
        "papers.reweighting.reweight",
        None,
        lambda weight, log: reweight(space(), result(), weight, log=log),
        weight=flat,
        log=False,
    )
    yield good(
        "papers.centers.closest_to_vote",
        None,
        lambda **more: closest_to_vote(fitted().models_[0], **more),
        X=NEW,
    )
    yield good(
        "papers.centers.largest_ellipsoid",
        finite,
        lambda y: largest_ellipsoid(VersionSpace(np.eye(12), y)),
        y=Y,
    )
    yield good(
        "papers.perceptron.kernel_adatron",
        finite,
        lambda **more: kernel_adatron(space(), **more),
        **{"learning_rate": 0.5, "tol": 0.1, "max_epochs": 9},
    )
    yield from of_bounds()
    for name in learning_curves.__all__:
        check = None if name == "asymptote" else shares
        yield good(f"papers.learning_curves.{name}", check, alpha=np.array([0.5, 5.0]))
    yield good("papers.elongated.make_elongated", n_train=5, n_test=5, n_features=3, random_state=0)
    yield good("papers.soft_boundary.parameter_space", gram=GRAM, softness=0.1, offset=0.0)
    yield from of_polygons()
    layers = {"space": space(), "method": "exact", **SHORT}
    yield good("papers.onion.onion", **layers, max_errors=(1, 1), volume_tol=0.5)
    for name, arguments in {
        "center": {"n_neg": 1, "n_pos": 0},
        "combine": {"weights": np.ones((2, 2))},
        "test_errors": {"K_test": NEW @ X.T, "y_test": np.array([1, -1, 1, 1])},
    }.items():
        yield good(f"papers.onion.OnionTable.{name}", None, method(table, name), **arguments)


def of_bounds():
    pair = np.array([5, 7])
    plain, sizes = {"m": np.array([100, 1000]), "delta": 0.05}, {"n": np.array([3, 10])}
    for name, arguments in {
        "sparsity": {**plain, "d": pair},
        "margin": {**plain, "kappa": pair},
        "pac_margin": {**plain, "kappa": pair},
        "luckiness": {**plain, "margin": 0.5, "radius": 1.0},
        "mistakes": {"margin": np.array([0.5, 1.0]), "radius": 1.0},
        "volume_gibbs": {**plain, "log_volume": -5.0},
        "volume_bayes": {**plain, "log_volume": -5.0},
        "linear_svm": {**plain, "n": 3, "margin": 0.5},
        "pac_bayes_kl": {**plain, "kl": 5.0, "empirical_error": 0.1},
        "cap_log_fraction": {**sizes, "angle": np.array([0.5, 1.0])},
        "hoeffding_samples": {**sizes, "epsilon": 0.1, "eta": 0.05, "low": -1.0, "high": 1.0},
    }.items():
        check = shares if name == "pac_bayes_kl" else not_nan
        yield good(f"papers.bounds.{name}", check, **arguments)
    center = np.full(12, 0.1) * Y
    for name, check, settings in (
        ("normalized_margins", finite, {}),
        ("mirrored_space", None, {}),
        ("point_mirror", None, {"delta": 0.1, **SHORT}),
    ):
        of_space = functools.partial(getattr(bounds, name), space())
        yield good(f"papers.bounds.{name}", check, of_space, dual_coef=center, **settings)
    yield good(
        "papers.bounds.table",
        gram=GRAM,
        y=Y,
        dual_coef=center,
        softness=0.3,
        offset=0.0,
        delta=0.1,
        candidates=1,
        tol=0.5,
        max_length=4.0,
        random_state=0,
    )
    yield good(
        "papers.bounds.risk_bounds",
        None,
        lambda **more: bounds.risk_bounds(fitted(), **more),
        delta=0.1,
        random_state=0,
    )


def of_polygons():
    corners, middle = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]), np.full(2, 0.5)
    square = planar.Polygon(corners)
    yield good("papers.planar.Polygon", vertices=corners)
    for name, arguments in {
        "clearance": {"point": middle},
        "contains": {"point": middle},
        "sample": {"n_points": 3, "random_state": 0},
    }.items():
        yield good(f"papers.planar.Polygon.{name}", None, getattr(square, name), **arguments)
    for name, arguments in {
        "area_difference": {"point": middle, "angles": np.array([0.1, 2.0])},
        "bayes_line": {"angle": 0.3},
        "bayes_lines": {"n_directions": 5},
        "bayes_objective": {"point": middle},
        "billiard": {"n_bounces": 20, "start": middle, "angle": 0.3, "random_state": 0},
    }.items():
        of_square = functools.partial(getattr(planar, name), square)
        yield good(f"papers.planar.{name}", None, of_square, **arguments)
    for name in ("bayes_point", "largest_circle", "largest_ellipse"):
        of_polygon = getattr(planar, name)
        yield good(
            f"papers.planar.{name}",
            None,
            lambda vertices, of_polygon=of_polygon: of_polygon(planar.Polygon(vertices)),
            vertices=corners,
        )
