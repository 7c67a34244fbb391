"""What is public: the names of all callables of the package that take data."""

import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass

import bayespoint

SKIPPED = {
    "gallery": "draws pictures, tested in test_gallery.py",
    "plotting": "draws pictures, tested in test_displays.py",
    "experiments": "long runs, tested in test_experiments.py",
    "demo": "a program, tested in test_demo.py",
    "predictive": "takes what a classifier has checked and fitted",
    "tuning": "takes what a classifier has checked",
    "onnx": "takes a fitted classifier alone, tested in test_onnx.py",
}
"""Modules that are no functions of hostile data."""

OF_RESULTS = (
    "convergence_messages",
    "count",
    "find",
    "from_run",
    "index",
    "save",
    "summary",
    "to_datatree",
    "to_frame",
)
"""Methods of results, which take no data."""

PICTURES = ("plot", "Display")


def public():
    """Return the names of all public callables, ``module.name`` or ``module.Class.method``."""
    names = set()
    modules = [bayespoint] + [
        importlib.import_module(f"bayespoint.{info.name}")
        for info in pkgutil.iter_modules(bayespoint.__path__)
        if not info.name.startswith("_") and info.name not in SKIPPED
    ]
    for module in modules:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not callable(value) or any(word in name for word in PICTURES):
                continue
            if not getattr(value, "__module__", "").startswith("bayespoint"):
                continue
            own = where(value)
            is_result = is_dataclass(value) or (
                isinstance(value, type) and issubclass(value, tuple)
            )
            if not (is_result and not own.startswith("kernels.")):
                names.add(own)
            if isinstance(value, type) and not issubclass(value, Exception):
                for method in dir(value):
                    member = getattr(value, method, None)
                    if method.startswith("_") or not callable(member) or method in OF_RESULTS:
                        continue
                    owner = getattr(member, "__module__", "") or ""
                    if owner.startswith("bayespoint"):
                        names.add(f"{where(value)}.{method}")
    return names - {"InfeasibleError", "kernels.Kernel", "kernels.Kernel.diag", "kernels.Parameter"}


def where(value):
    """Return the name of a class or function without the private modules on the way."""
    parts = [part for part in value.__module__.split(".")[1:] if not part.startswith("_")]
    return ".".join([*parts, value.__qualname__])


def documented(name):
    """Return the docstring of a public callable, by the name that `public` gives it."""
    module, *rest = name.split(".")
    found = importlib.import_module(f"bayespoint.{module}")
    for part in rest:
        found = getattr(found, part)
    return inspect.getdoc(found) or ""
