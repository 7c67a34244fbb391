"""What is public: the names of all callables of the package that take data."""

import functools
import importlib
import inspect
from dataclasses import is_dataclass

MODULES = (
    "datasets",
    "kernels",
    "posterior",
    "results.diagnostics",
    "papers.averaged",
    "papers.bounds",
    "papers.centers",
    "papers.dynamics",
    "papers.elongated",
    "papers.learning_curves",
    "papers.machine",
    "papers.max_margin",
    "papers.onion",
    "papers.perceptron",
    "papers.planar",
    "papers.reweighting",
    "papers.soft_boundary",
)
"""Modules with functions of data, beside the package itself. Others draw pictures, run experiments
or take what has been checked before."""

OF_THE_PACKAGE = {
    "InfeasibleError",
    "VersionSpace.over",
    "Walls.require",
    "Walls.values",
    "kernels.Metric",
    "kernels.Parameter",
    "posterior.Mixture.feature_relevance",
    "posterior.Mixture.of",
    *(
        f"posterior.Model.{name}"
        for name in (
            "functions",
            "log_draws",
            "log_labels",
            "log_proba",
            "one_draw",
            "points",
            "problem",
            "problem_again",
            "signs",
            "values",
            "votes",
            "without_each",
            "without_each_row",
        )
    ),
}
"""What other parts of the package call with what they have checked."""

OF_RESULTS = (
    "check_parts",
    "convergence_messages",
    "count",
    "find",
    "from_run",
    "index",
    "metric",
    "summands",
    "save",
    "summary",
    "to_datatree",
    "to_frame",
)
"""Methods of results, which take no data, and a property of kernels."""

PICTURES = ("plot", "Display")


def public():
    """Return the names of all public callables, ``module.name`` or ``module.Class.method``."""
    return set(objects())


def documented(name):
    """Return the docstring of a public callable, by the name that `public` gives it."""
    return inspect.getdoc(objects()[name]) or ""


@functools.cache
def objects():
    """Return all public callables by these names."""
    found = {}
    for path in ("", *MODULES):
        module = importlib.import_module(f"bayespoint.{path}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if not callable(value) or any(word in name for word in PICTURES):
                continue
            if not getattr(value, "__module__", "").startswith("bayespoint"):
                continue
            own = f"{path}.{name}".lstrip(".")
            is_result = (is_dataclass(value) and not hasattr(value, "get_params")) or (
                isinstance(value, type) and issubclass(value, tuple)
            )
            if path == "kernels" or not is_result or name == "Walls":
                found[own] = value
            if isinstance(value, type) and not issubclass(value, Exception):
                for method in dir(value):
                    member = getattr(value, method, None)
                    if method.startswith("_") or not callable(member) or method in OF_RESULTS:
                        continue
                    if (getattr(member, "__module__", "") or "").startswith("bayespoint"):
                        found[f"{own}.{method}"] = member
    return {name: value for name, value in found.items() if name not in OF_THE_PACKAGE}
