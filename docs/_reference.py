"""Writes the pages of the API reference: the package, and each of its public modules."""

import ast
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import textwrap
from pathlib import Path

import bayespoint

LEFT_OUT = ("experiments", "labels")
"""Commands of `bayespoint.papers`, and what labels say, which users do not make."""

PASSED_ON = (
    "check_parts",
    "center_values",
    "convergence_messages",
    "feature_relevance",
    "from_run",
    "functions",
    "gibbs",
    "log_draws",
    "log_labels",
    "log_proba",
    "of",
    "one_draw",
    "over",
    "planes_",
    "points",
    "problem",
    "problem_again",
    "require",
    "set_params",
    "values",
    "votes",
    "without_each",
    "without_each_row",
)
"""Methods that the package calls, but not its users, and one that is scikit-learn's."""


OF_SCIKIT_LEARN = re.compile(r"set_\w+_request|set_callbacks|get_metadata_routing")
"""Methods that scikit-learn documents."""

GUIDE = {
    "bayespoint": (),
    "bayespoint.BayesPointClassifier": (
        "guide/start",
        "guide/models",
        "guide/sets",
        "guide/scikit-learn",
        "guide/migration",
    ),
    "bayespoint.BayesPointOrdinalClassifier": ("guide/ordered",),
    "bayespoint.BayesPointRanker": ("guide/ordered",),
    "bayespoint.BilliardResult": ("guide/diagnostics", "guide/version-space"),
    "bayespoint.ConvergenceWarning": ("guide/diagnostics",),
    "bayespoint.Evidence": ("guide/version-space", "guide/models"),
    "bayespoint.InfeasibleError": ("guide/models", "faq"),
    "bayespoint.SampleOptions": ("guide/version-space", "guide/continuing"),
    "bayespoint.VersionSpace": ("guide/version-space", "guide/continuing", "guide/large-data"),
    "bayespoint.Walls": ("guide/ordered",),
    "bayespoint.blocks": ("guide/large-data", "guide/distributed"),
    "bayespoint.datasets": (),
    "bayespoint.export": ("guide/persistence",),
    "bayespoint.kernels": ("guide/kernels", "guide/structured-objects"),
    "bayespoint.load": ("guide/persistence",),
    "bayespoint.papers": ("papers",),
    "bayespoint.papers.bounds": ("guide/risk-bounds",),
    "bayespoint.papers.centers": ("theory",),
    "bayespoint.papers.displays": ("guide/plots", "examples/version-space"),
    "bayespoint.papers.dynamics": ("guide/version-space", "theory"),
    "bayespoint.papers.machine": ("kernel-billiard", "bayesian-learning"),
    "bayespoint.papers.max_margin": ("guide/migration",),
    "bayespoint.papers.onion": ("guide/version-space",),
    "bayespoint.papers.reweighting": ("guide/version-space",),
    "bayespoint.plotting": ("guide/plots",),
    "bayespoint.posterior": ("examples/abstaining", "guide/sets", "theory"),
    "bayespoint.results": ("guide/diagnostics",),
    "bayespoint.tuning": ("guide/models", "guide/kernels"),
}
"""Pages of the guide for a public name, or for all names of a module."""


SECTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Fit and predict": (
        (
            "BayesPointClassifier",
            "BayesPointOrdinalClassifier",
            "BayesPointRanker",
            "InfeasibleError",
        ),
        ("blocks", "datasets"),
    ),
    "Probabilities and decisions": ((), ("posterior",)),
    "Hyperparameters and kernels": ((), ("kernels", "tuning")),
    "Sampling of polytopes": (("VersionSpace", "Walls", "SampleOptions"), ()),
    "Results": (("BilliardResult", "Evidence", "MaxMargin"), ("results",)),
    "Files and ONNX": (("load",), ("export",)),
    "Plots": ((), ("plotting",)),
}
"""The parts of the reference: names of the package itself, and its modules."""

METHODS = {
    "bayespoint.BayesPointClassifier": {
        "Fit": ("fit", "refine", "update", "save"),
        "Probabilities and decisions": (
            "predict",
            "predict_proba",
            "predict_log_proba",
            "predict_proba_interval",
            "predict_set",
            "leave_one_out",
            "decision_function",
            "reject",
            "suggest_query",
        ),
        "Posterior and evidence": (
            "sample_functions",
            "evidence",
            "log_labeling_probability",
        ),
    }
}
"""Methods of a class by their use."""


def guide(name: str) -> tuple[str, ...]:
    """Return the pages of the guide that explain a public name."""
    while name not in GUIDE:
        name = name.rpartition(".")[0]
    return GUIDE[name]


def fields(cls: type) -> list[str]:
    """Return the names in the body of a class that a text follows."""
    if cls.__module__ == "bayespoint._core":
        return []  # compiled
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    return [
        field.target.id
        for field, after in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    ]


def members(cls: type) -> dict[str, list[str]]:
    """Return the names of the methods and attributes that the page of a class shows, in order."""
    found: dict[str, list[str]] = {"Methods": [], "Attributes": []}
    for home in cls.__mro__:
        if home.__module__.split(".")[0] != "bayespoint":
            continue
        documented = fields(home)
        for name in dict.fromkeys([*documented, *vars(home)]):
            known = name in found["Methods"] + found["Attributes"]
            hidden = name in PASSED_ON or OF_SCIKIT_LEARN.fullmatch(name)
            if name.startswith("_") or known or hidden:
                continue
            value = inspect.getattr_static(cls, name, None)
            is_property = isinstance(value, property | functools.cached_property)
            if name in documented or (is_property and value.__doc__):
                found["Attributes"].append(name)
            elif inspect.isroutine(getattr(cls, name, None)) and inspect.getdoc(getattr(cls, name)):
                found["Methods"].append(name)
    return found


def overview(name: str, value: object) -> list[str]:
    """Return what stands between the summary and the parameters: the guide, tables of members.

    Estimators have no table of attributes: their docstrings have a section of them.
    """
    lines = []
    if pages := guide(name):
        links = ", ".join(f":doc:`/{page}`" for page in pages)
        lines += [f"User guide: {links}.", ""]
    if inspect.isclass(value):
        shown = members(value)
        groups = METHODS.get(name, {"Methods": shown["Methods"]})
        for title, names in {**groups, "Attributes": shown["Attributes"]}.items():
            if names and not (title == "Attributes" and hasattr(value, "fit")):
                lines += [f".. rubric:: {title}", "", ".. autosummary::", "   :nosignatures:", ""]
                lines += [f"   ~{value.__name__}.{member}" for member in names] + [""]
        theirs = [
            f"`{each}`"
            for each in ("score", "get_params", "set_params")
            if hasattr(value, each) and each not in shown["Methods"]
        ]
        if hasattr(value, "fit") and theirs:
            lines += [f"Also, as in other estimators of scikit-learn: {', '.join(theirs)}.", ""]
    return lines


def with_overview(name: str, value: object, lines: list[str]) -> list[str]:
    """Return the text of a class or function, as numpydoc leaves it, with its overview."""
    section = re.compile(r":[A-Z][\w ]*:|\.\. (rubric|seealso|only)::.*")
    at = next((i for i, line in enumerate(lines) if section.fullmatch(line)), len(lines))
    return [*lines[:at], "", *overview(name, value), *lines[at:]]


def public_modules() -> dict[str, list[str]]:
    """Return the public names of each public module that the packages above it do not have."""
    found: dict[str, list[str]] = {}
    known = {"bayespoint": {id(getattr(bayespoint, name)) for name in bayespoint.__all__}}
    for info in pkgutil.walk_packages(bayespoint.__path__, "bayespoint."):
        _, *path = info.name.split(".")
        # A folder shows its names itself; of the papers each module does.
        depth = 2 if path[0] == "papers" else 1
        if len(path) > depth or path[-1].startswith("_") or path[-1] in LEFT_OUT:
            continue
        module = importlib.import_module(info.name)
        if not hasattr(module, "__all__"):
            continue
        above = set().union(*(known.get(info.name.rsplit(".", n)[0], set()) for n in (1, 2)))
        names = [name for name in module.__all__ if id(getattr(module, name)) not in above]
        known[info.name] = {id(getattr(module, name)) for name in module.__all__}
        if names:
            found[info.name] = names
    return found


def records() -> list[str]:
    """Return the classes that hold results, and their fields, each of which a text follows.

    `tests/python/test_reference.py` sees to that: numpydoc looks for the text in a field's default.
    """
    found = []
    for module, names in {"bayespoint": bayespoint.__all__, **public_modules()}.items():
        for name in names:
            value = getattr(importlib.import_module(module), name)
            if inspect.isclass(value) and (
                dataclasses.is_dataclass(value) or hasattr(value, "_fields")
            ):
                fields = getattr(value, "_fields", None) or value.__dataclass_fields__
                found += [f"{module}.{name}", *(f"{module}.{name}.{field}" for field in fields)]
    return found


def kinds(module: str, names: list[str]) -> dict[str, list[str]]:
    """Return the names of a module by what they are, without those of submodules."""
    home = importlib.import_module(module)
    found: dict[str, list[str]] = {"Classes": [], "Functions": [], "Data": []}
    for name in sorted(names):
        value = getattr(home, name)
        if inspect.isclass(value):
            found["Classes"].append(name)
        elif inspect.isroutine(value):
            found["Functions"].append(name)
        elif not inspect.ismodule(value):
            found["Data"].append(name)
    return found


def _names(module: str, names: list[str], *, titled: bool = True) -> str:
    """Return the tables of a module's classes and functions, and its data with their texts."""
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", ""]
    for title, members in kinds(module, names).items():
        if not members:
            continue
        lines += [f".. rubric:: {title}", ""] if titled else []
        if title == "Data":
            for name in members:
                lines += [f".. autodata:: {name}", "   :no-value:", ""]
        else:
            lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
            lines += [f"   {name}" for name in members] + [""]
    return "\n".join([*lines, "```", ""])


COMPLETED = {
    r"bayespoint\.kernels\.\w+\."
    r"(diag|diag_with_pullback|metric|parameters|summands|with_pullback|with_values)": (
        bayespoint.kernels.Kernel
    ),
    r"bayespoint\.posterior\.(?:Mixture|Model)\."
    r"(predict|predict_proba|predict_log_proba|decision_function"
    r"|sample_functions)": bayespoint.BayesPointClassifier,
}
"""Methods, and the class whose methods of the same names say what they take and return."""


def home_of_sections(name: str) -> object:
    """Return the method that has the sections of another, or None."""
    for pattern, home in COMPLETED.items():
        if found := re.fullmatch(pattern, name):
            return getattr(home, found[1])
    return None


def completed(name: str, lines: list[str]) -> list[str]:
    """Return the docstring of a method with the sections that another class has for it."""
    home = home_of_sections(name)
    if home is None or "----------" in lines:
        return lines
    text = inspect.getdoc(home) or ""
    sections = text.split("\n\n", 1)[1].split("\n")
    return [*"\n".join(lines).rstrip().split("\n"), "", *sections, ""]


def write(folder: Path) -> None:
    """Write the pages into a folder; those of names that are gone are taken away."""
    folder.mkdir(exist_ok=True)
    modules = public_modules()
    papers = [module for module in modules if module.startswith("bayespoint.papers.")]
    pages = {"index.md": _index(), "papers.md": _papers(papers)}
    for module, names in modules.items():
        pages[f"{module}.md"] = _module(module, names)
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    known = {f"{module}.{name}" for module, names in modules.items() for name in names}
    known |= {f"bayespoint.{name}" for name in bayespoint.__all__}
    for old in (folder / "generated").glob("*.rst"):
        if old.stem not in known:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        # An unchanged page keeps its time: Sphinx reads it no second time.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _index() -> str:
    """Return the page of the package: its names and modules by what they are for."""
    lines = [
        "# Reference",
        "",
        "Every public name with all its parameters. What is not listed here may change without",
        "notice. From version 1.0 on a listed name is deprecated for two minor versions before it",
        "goes; until then a minor version may change names, and `CHANGELOG.md` says so.",
        "",
    ]
    for title, (names, parts) in SECTIONS.items():
        lines += [f"## {title}", ""]
        if methods := METHODS["bayespoint.BayesPointClassifier"].get(title):
            lines += ["```{eval-rst}", ".. currentmodule:: bayespoint", "", ".. autosummary::", ""]
            lines += [*(f"   BayesPointClassifier.{method}" for method in methods), "```", ""]
        lines += [_names("bayespoint", list(names), titled=False)] if names else []
        lines += _toctree([f"bayespoint.{part}" for part in parts])
    return "\n".join([*lines, "## The papers", "", *_toctree(["papers"])])


def _papers(modules: list[str]) -> str:
    """Return the page of the modules that reproduce the papers."""
    return "\n".join(
        [
            "# bayespoint.papers",
            "",
            "Methods, figures and data of [the papers behind the package](../papers.md), some of",
            "them older than its own. `python -m bayespoint.papers` lists all tables and figures.",
            "",
            *_toctree(modules),
        ]
    )


def _toctree(pages: list[str]) -> list[str]:
    return ["```{toctree}", ":maxdepth: 1", "", *pages, "```", ""]


def _module(module: str, names: list[str]) -> str:
    return "\n".join(
        [
            f"# {module}",
            "",
            "```{eval-rst}",
            f".. automodule:: {module}",
            "```",
            "",
            _names(module, names),
        ]
    )
