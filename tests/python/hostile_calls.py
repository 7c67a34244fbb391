"""Good arguments for every public callable of the package (hostile_public.py)."""

import functools

import numpy as np

from bayespoint import (
    BayesPointClassifier,
    BayesPointOrdinalClassifier,
    BayesPointRanker,
    VersionSpace,
    Walls,
    kernels,
)
from bayespoint.papers import bounds, learning_curves
from bayespoint.papers.averaged import AveragedPerceptron, VotedPerceptron
from bayespoint.papers.centers import closest_to_vote
from bayespoint.papers.dynamics import Chord, Flipper, Scattered
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.papers.reweighting import reweight
from bayespoint.posterior import questions
from fitted_models import (
    CHOICES,
    GRAM,
    GROWING,
    LEVELS,
    NEW,
    QUICK,
    RBF,
    RNG,
    RUN,
    SETS,
    SHORT,
    TEXTS,
    Call,
    X,
    Y,
    a_kernel_matrix,
    chances,
    classifies,
    finite,
    fit_of,
    fitted,
    flat,
    method,
    not_nan,
    of_the_center,
    posterior,
    result,
    run_is_right,
    shares,
    space,
    table,
)
from helpers import flown, sample

ESTIMATORS = {
    BayesPointClassifier: "BayesPointClassifier",
    BayesPointOrdinalClassifier: "BayesPointOrdinalClassifier",
    BayesPointRanker: "BayesPointRanker",
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


def calls():
    """Return good calls of all of them."""
    return list(_calls())


def _calls():
    def one(covers, function, check=None, names=(), **arguments):
        covers = (covers,) if isinstance(covers, str) else covers
        return Call(covers, function, arguments, tuple(names), check)

    def of_space(name, check=None, **arguments):
        own = f"VersionSpace.{name}"
        return one(own, method(space, name), check, **arguments)

    def of_model(name, check=None, kind=BayesPointClassifier, kernel=RBF, **arguments):
        return one(
            f"{ESTIMATORS[kind]}.{name}",
            method(lambda: fitted(kind, kernel), name),
            check,
            **arguments,
        )

    yield one(
        "VersionSpace",
        VersionSpace,
        gram=GRAM,
        y=Y,
        softness=0.1,
        offset=1.0,
    )
    yield one(
        "Walls",
        Walls,
        coordinates=np.array([[0, 1], [2, 1]]),
        coefficients=np.array([[1.0, -1.0], [0.5, 2.0]]),
        observations=np.array([0, -1]),
    )
    run = functools.partial(one, "VersionSpace.sample", lambda **more: sample(space(), **more))
    yield run(
        run_is_right,
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
        yield one("papers.dynamics.sample", lambda fly=fly, **more: fly(space(), **more), **RUN)
    yield of_space("margins", finite, dual_coef=np.arange(12.0))
    yield of_space("contains", dual_coef=np.arange(12.0))
    yield of_space("feasible_point", finite, method="max_margin", random_state=1)
    yield of_space("max_margin", tol=1e-6, max_iter=1000)
    yield of_space("evidence", **SHORT, label_noise=np.array([0.0, 0.2]))
    yield one(
        "papers.reweighting.reweight",
        lambda weight, log: reweight(space(), result(), weight, log=log),
        weight=flat,
        log=False,
    )

    few = {**QUICK, "label_noise": 0.1, "n_trajectories": 2}
    for kind, extra in (
        (BayesPointClassifier, {**few, "sample_weight": np.arange(len(X)) % 3 + 0.5}),
        (BayesPointOrdinalClassifier, {**few, "y": LEVELS, "decision": "median"}),
        (MaxMarginClassifier, {"C": 1.0, "softness": 0.1, "tol": 1e-6, "max_iter": 1000}),
        (KernelPerceptron, {"softness": 0.1, "learning_rate": 0.5, "max_epochs": 5}),
        (AveragedPerceptron, {"softness": 0.1, "n_perceptrons": 3, "random_state": 0}),
        (VotedPerceptron, {"fit_intercept": False, "max_epochs": 5}),
    ):
        own = ESTIMATORS[kind]
        yield one((f"{own}.fit", own), fit_of(kind), classifies, **{"X": X, "y": Y} | extra)
        yield of_model("decision_function", finite, kind, X=NEW)
        yield of_model("predict", None, kind, X=NEW)
        if not issubclass(kind, BayesPointClassifier):
            yield of_model("margins", finite, kind, X=X, y=Y)
    ordered = BayesPointOrdinalClassifier
    yield of_model("predict_proba", chances, ordered, X=NEW, method="mixture")
    yield of_model("sample_functions", finite, ordered, X=NEW, random_state=0)
    yield of_model("reject", None, ordered, X=NEW, cost=0.2)
    yield of_model("suggest_query", None, ordered, X=NEW, n=2)
    yield of_model("predict_set", None, ordered, X=NEW, alpha=0.2)
    yield of_model("predict_proba_interval", shares, ordered, X=NEW, level=0.8)
    ranks = BayesPointRanker
    choosing = {"X": X, "y": CHOICES, **QUICK, "label_noise": 0.1, "n_trajectories": 2}
    yield one(("BayesPointRanker.fit", "BayesPointRanker"), fit_of(ranks), **choosing)
    relevance = {"X": X, "y": np.arange(12) % 4, "groups": np.arange(12) % 2, **QUICK}
    yield one("BayesPointRanker.fit", fit_of(ranks), **relevance)
    yield of_model("predict", None, ranks, X=NEW, return_std=True)
    yield of_model("predict_proba", shares, ranks, X=NEW, pairs=np.array([[0, 1], [3, 1]]))
    yield of_model("probability_best", shares, ranks, X=NEW)
    yield of_model("sample_functions", finite, ranks, X=NEW, random_state=0)
    yield of_model("suggest_query", None, ranks, X=NEW)
    yield of_model("score", shares, ranks, X=X, y=CHOICES)
    yield of_model("evidence", None, ranks, tol=0.5, max_length=4.0, random_state=0)
    yield of_model("risk_bounds", None, MaxMarginClassifier, delta=0.1)
    yield one(
        "papers.bounds.risk_bounds",
        lambda **more: bounds.risk_bounds(fitted(), **more),
        delta=0.1,
        random_state=0,
    )
    yield of_model("risk_bounds", None, KernelPerceptron, delta=0.1)
    yield of_model("risk_bounds", None, AveragedPerceptron, delta=0.1)
    yield of_model("predict_proba", chances, X=NEW, method="mixture")
    yield of_model("predict_log_proba", None, X=NEW, method="moments")
    yield of_model("predict", None, X=NEW, method="vote")
    yield of_model("sample_functions", finite, X=NEW, random_state=0)
    yield of_model("reject", None, X=NEW, cost=0.2)
    yield of_model("predict_set", None, X=NEW, alpha=0.2)
    yield of_model("predict_proba_interval", shares, X=NEW, level=0.8)
    yield one(
        "BayesPointClassifier.leave_one_out",
        lambda **more: (
            BayesPointClassifier(RBF, approximation="landmarks", n_components=5, **QUICK)
            .fit(X, Y)
            .leave_one_out(**more)
        ),
        chances,
        X=X,
        y=Y,
    )
    yield one(
        "papers.centers.closest_to_vote",
        lambda **more: closest_to_vote(fitted().models_[0], **more),
        X=NEW,
    )
    yield of_model("evidence", None, tol=0.5, max_length=4.0, random_state=0)
    yield of_model(
        "log_labeling_probability", None, X=NEW, y=np.array([1, -1, 1, 1]), random_state=0
    )
    yield of_model("suggest_query", None, X=NEW, n=2)
    yield one(
        "BayesPointClassifier.refine",
        lambda **more: BayesPointClassifier(kernels.RBF(1.5), **QUICK).fit(X, Y).refine(**more),
        tol=0.3,
    )
    yield one(
        "BayesPointClassifier.update",
        lambda **more: BayesPointClassifier(kernels.RBF(1.5), **QUICK).fit(X, Y).update(**more),
        X=NEW,
        y=np.array([1, -1, 1, 1]),
    )
    own = "posterior.Mixture"
    for name, check in (
        ("decision_function", finite),
        ("predict", None),
        ("predict_proba", chances),
        ("predict_log_proba", None),
    ):
        yield one(f"{own}.{name}", method(posterior, name), check, X=NEW)

    for name, check in (
        ("decision_function", finite),
        ("predict", None),
        ("predict_proba", chances),
    ):
        of_one = method(lambda: fitted().models_[0], name)
        yield one(f"posterior.Model.{name}", of_one, check, X=NEW)
    yield one("posterior.Model.moments", method(lambda: fitted().models_[0], "moments"), X=NEW)

    for name, check, arguments in (
        ("gibbs", None, {"X": NEW, "random_state": 0}),
        ("sample_functions", finite, {"X": NEW, "random_state": 0}),
        ("votes", finite, {"X": NEW}),
    ):
        yield one(f"{own}.{name}", method(posterior, name), check, **arguments)

    for kernel in GROWING:
        of_growing = functools.partial(of_model, kernel=kernel)
        own_check = of_the_center(functools.partial(fitted, kernel=kernel))
        yield of_growing("decision_function", own_check, X=NEW)
        yield of_growing("predict_proba", chances, X=NEW, method="moments")
        yield of_growing("predict_proba", chances, X=NEW, method="mixture")
        yield of_growing("predict", None, X=NEW, method="vote")
        yield of_growing("sample_functions", finite, X=NEW, random_state=0)
        yield of_growing("reject", None, X=NEW, cost=0.2)
        yield of_growing("predict_set", None, X=NEW, alpha=0.2)
        yield of_growing("predict_proba_interval", shares, X=NEW, level=0.8)
        yield of_growing("suggest_query", None, X=NEW, n=2)
        of_kernel = functools.partial(posterior, kernel)
        for name, check in (
            ("decision_function", of_the_center(of_kernel)),
            ("predict_proba", chances),
        ):
            yield one(f"{own}.{name}", method(of_kernel, name), check, X=NEW)

    plain = {"m": np.array([100, 1000]), "delta": 0.05}
    yield one("papers.bounds.sparsity", bounds.sparsity, not_nan, **plain, d=np.array([5, 7]))
    yield one("papers.bounds.margin", bounds.margin, not_nan, **plain, kappa=np.array([5, 7]))
    yield one(
        "papers.bounds.pac_margin", bounds.pac_margin, not_nan, **plain, kappa=np.array([5, 7])
    )
    yield one("papers.bounds.luckiness", bounds.luckiness, not_nan, **plain, margin=0.5, radius=1.0)
    yield one(
        "papers.bounds.mistakes", bounds.mistakes, not_nan, margin=np.array([0.5, 1.0]), radius=1.0
    )
    yield one("papers.bounds.volume_gibbs", bounds.volume_gibbs, not_nan, **plain, log_volume=-5.0)
    yield one("papers.bounds.volume_bayes", bounds.volume_bayes, not_nan, **plain, log_volume=-5.0)
    yield one("papers.bounds.linear_svm", bounds.linear_svm, not_nan, **plain, n=3, margin=0.5)
    yield one(
        "papers.bounds.pac_bayes_kl",
        bounds.pac_bayes_kl,
        shares,
        **plain,
        kl=5.0,
        empirical_error=0.1,
    )
    yield one(
        "papers.bounds.cap_log_fraction",
        bounds.cap_log_fraction,
        not_nan,
        n=np.array([3, 10]),
        angle=np.array([0.5, 1.0]),
    )
    yield one(
        "papers.bounds.hoeffding_samples",
        bounds.hoeffding_samples,
        not_nan,
        n=np.array([3, 10]),
        epsilon=0.1,
        eta=0.05,
        low=-1.0,
        high=1.0,
    )
    center = np.full(12, 0.1) * Y

    def on_space(name, check=None, **arguments):
        function = getattr(bounds, name)
        return one(
            f"papers.bounds.{name}",
            lambda **rest: function(space(), **rest),
            check,
            **arguments,
        )

    yield on_space("normalized_margins", finite, dual_coef=center)
    yield on_space("mirrored_space", None, dual_coef=center)
    yield on_space("point_mirror", None, dual_coef=center, delta=0.1, **SHORT)
    yield one(
        "papers.bounds.table",
        bounds.table,
        None,
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
    for name in learning_curves.__all__:
        check = None if name == "asymptote" else shares
        yield one(
            f"papers.learning_curves.{name}",
            getattr(learning_curves, name),
            check,
            alpha=np.array([0.5, 5.0]),
        )
    yield one(
        "posterior.rejection_curve",
        questions.rejection_curve,
        None,
        y_true=np.array([0, 1, 1, 0]),
        proba=np.array([0.1, 0.8, 0.4, 0.3]),
        labels=np.array([0, 1]),
    )

    vectors = {
        "Linear": {},
        "RBF": {"sigma": 1.5},
        "Laplacian": {"sigma": 1.5},
        "Matern": {"sigma": 1.5, "nu": 2.5},
        "RationalQuadratic": {"sigma": 1.5, "alpha": 2.0},
        "Polynomial": {"degree": 2, "coef0": 0.5},
        "Constant": {"value": 2.0},
    }
    for name, parameters in vectors.items():
        kind = getattr(kernels, name)

        def evaluated(X, Y, kind=kind, **parameters):
            return kind(**parameters)(X, Y)

        yield one(
            (f"kernels.{name}", *(f"kernels.{name}.{m}" for m in KERNEL_METHODS)),
            evaluated,
            a_kernel_matrix,
            X=X,
            Y=NEW,
            **parameters,
        )

        def diagonal(X, kind=kind, **parameters):
            return kind(**parameters).diag(X)

        yield one(f"kernels.{name}.diag", diagonal, a_kernel_matrix, X=X, **parameters)
    for name, parameters in (("Spectrum", {"length": 2}), ("SetIntersection", {"base": 2.0})):
        inputs = TEXTS if name == "Spectrum" else SETS
        kind = getattr(kernels, name)

        def evaluated(X, Y, kind=kind, **parameters):
            return kind(**parameters)(X, Y)

        yield one(
            (f"kernels.{name}", *(f"kernels.{name}.{m}" for m in KERNEL_METHODS)),
            evaluated,
            check=None,
            X=inputs,
            Y=inputs[:2],
            **parameters,
        )

    def with_weights(X, Y, weights, groups, limits):
        kernel = kernels.Weighted(kernels.RBF(), weights, groups=groups, limits=limits)
        return kernel.with_values({"kernel.sigma": 1.5})(X, Y)

    yield one(
        ("kernels.Weighted", *(f"kernels.Weighted.{m}" for m in KERNEL_METHODS)),
        with_weights,
        check=None,
        X=X,
        Y=NEW,
        weights=tuple(np.linspace(0.5, 2.0, X.shape[1]).tolist()),
        groups=tuple(range(X.shape[1])),
        limits=(*[np.inf] * (X.shape[1] - 1), 1.0),
    )
    rbf = kernels.RBF(1.5)
    compound = [f"kernels.{k}" for k in ("Sum", "Product", "Scaled", "Normalized", "Kernel")]
    yield one(
        (*compound, *(f"{k}.{m}" for k in compound for m in KERNEL_METHODS), "kernels.normalize"),
        lambda kernel, factor, X: (kernels.normalize(factor * rbf + kernel) * rbf)(X),
        None,
        ("a number + or * a kernel",),
        kernel=kernels.Linear(),
        factor=2.0,
        X=X,
    )
    yield one(
        "kernels.at_start",
        lambda kernel, X: kernels.at_start(kernel, X)(X),
        None,
        kernel=kernels.Scaled(kernels.RBF(per_feature=True)),
        X=X,
    )
    yield one("kernels.gram_matrix", kernels.gram_matrix, None, X=X, kernel=rbf, dtype="float32")
    yield one("kernels.class_distance", kernels.class_distance, None, X=X, y=Y)
    yield from _others(one)


KERNEL_METHODS = (
    "diag",
    "diag_with_pullback",
    "get_params",
    "parameters",
    "set_params",
    "with_pullback",
    "with_values",
)


def _others(one):
    from bayespoint import datasets
    from bayespoint.papers import elongated, onion, planar, soft_boundary
    from bayespoint.results import diagnostics

    draws = RNG.standard_normal((2, 20, 3))
    yield one("results.diagnostics.r_hat", diagnostics.r_hat, draws=draws)
    yield one("results.diagnostics.ess_bulk", diagnostics.ess_bulk, draws=draws)
    for name in datasets.__all__:
        if name.startswith("load_"):
            yield one(f"datasets.{name}", getattr(datasets, name), return_X_y=True, as_frame=False)
    seeded = {"random_state": 0}
    yield one(
        "datasets.make_teacher",
        datasets.make_teacher,
        n_samples=9,
        n_features=2,
        noise=0.1,
        **seeded,
    )
    yield one(
        "datasets.make_sets",
        datasets.make_sets,
        n_samples=9,
        n_items=5,
        size=(2, 3),
        noise=0.1,
        **seeded,
    )
    yield one(
        "datasets.make_words",
        datasets.make_words,
        n_samples=9,
        length=(5, 6),
        alphabet="ab",
        motif="ab",
        noise=0.1,
        **seeded,
    )
    yield one(
        "papers.elongated.make_elongated",
        elongated.make_elongated,
        n_train=5,
        n_test=5,
        n_features=3,
        random_state=0,
    )
    yield one(
        "papers.soft_boundary.parameter_space",
        soft_boundary.parameter_space,
        gram=GRAM,
        softness=0.1,
        offset=0.0,
    )
    yield one(
        "papers.soft_boundary.ParameterSpace.surface",
        lambda points: soft_boundary.parameter_space(np.eye(2)).surface(points),
        points=RNG.standard_normal((4, 2)),
    )
    square = planar.Polygon([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    yield one("papers.planar.Polygon", planar.Polygon, vertices=corners)
    yield one(
        "papers.planar.Polygon.from_halfplanes",
        planar.Polygon.from_halfplanes,
        normals=np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]),
        offsets=np.array([0.0, 2.0, 0.0, 1.0]),
        names=("half-plane", "half-planes"),
    )
    yield one("papers.planar.Polygon.clearance", square.clearance, point=np.array([0.5, 0.5]))
    yield one("papers.planar.Polygon.contains", square.contains, point=np.array([0.5, 0.5]))
    yield one("papers.planar.Polygon.sample", square.sample, n_points=3, random_state=0)

    def on_square(name, **arguments):
        function = getattr(planar, name)
        return one(f"papers.planar.{name}", lambda **rest: function(square, **rest), **arguments)

    yield on_square("area_difference", point=np.array([0.5, 0.5]), angles=np.array([0.1, 2.0]))
    yield on_square("bayes_line", angle=0.3)
    yield on_square("bayes_lines", n_directions=5)
    yield on_square("bayes_objective", point=np.array([0.5, 0.5]))
    yield on_square("billiard", n_bounces=20, start=np.array([0.5, 0.5]), angle=0.3, random_state=0)
    for name in ("bayes_point", "largest_circle", "largest_ellipse"):
        yield one(
            f"papers.planar.{name}",
            lambda vertices, name=name: getattr(planar, name)(planar.Polygon(vertices)),
            vertices=corners,
        )
    layers = {"space": space(), "method": "exact", **SHORT}
    yield one("papers.onion.onion", onion.onion, **layers, max_errors=(1, 1), volume_tol=0.5)
    few = {"max_errors": (1, 0), "k": 3, "n_repeats": 1}
    yield one("papers.onion.choose_layer", onion.choose_layer, **layers, **few)
    own = "papers.onion.OnionTable"
    yield one(f"{own}.center", method(table, "center"), None, n_neg=1, n_pos=0)
    yield one(f"{own}.combine", method(table, "combine"), weights=np.ones((2, 2)), per=None)
    yield one(
        f"{own}.test_errors",
        method(table, "test_errors"),
        None,
        K_test=NEW @ X.T,
        y_test=np.array([1, -1, 1, 1]),
    )
