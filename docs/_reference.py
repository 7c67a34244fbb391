"""Writes the pages of the API reference: the package, and each of its public modules."""

import dataclasses
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import bayespoint

LEFT_OUT = ("experiments", "guide_pictures")
"""Commands of `bayespoint.papers`."""

PASSED_ON = (
    "convergence_messages",
    "from_run",
    "kept_problems",
    "problems_over",
    "training_matrix",
)
"""Methods that the package calls, but not its users."""


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


def _names(module: str, names: list[str]) -> str:
    """Return the tables of a module's classes and functions, and its data with their texts."""
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", ""]
    for title, members in kinds(module, names).items():
        if not members:
            continue
        lines += [f".. rubric:: {title}", ""]
        if title == "Data":
            for name in members:
                lines += [f".. autodata:: {name}", "   :no-value:", ""]
        else:
            lines += [".. autosummary::", "   :toctree: generated", ""]
            lines += [f"   {name}" for name in members] + [""]
    return "\n".join([*lines, "```", ""])


OF_KERNELS = re.compile(r"bayespoint\.kernels\.\w+\.(derivatives|diag|parameters|with_values)")
"""Methods that kernels have from `Base`, which says what they take and return."""


def completed(name: str, lines: list[str]) -> list[str]:
    """Return the docstring of such a method with the sections that `Base` has for it."""
    found = OF_KERNELS.fullmatch(name)
    if found is None or "----------" in lines:
        return lines
    text = inspect.getdoc(getattr(bayespoint.kernels.Base, found[1])) or ""
    sections = text.split("\n\n", 1)[1].split("\n")
    return [*"\n".join(lines).rstrip().split("\n"), "", *sections, ""]


def write(folder: Path) -> None:
    """Write the pages into a folder; those of names that are gone are taken away."""
    folder.mkdir(exist_ok=True)
    modules = public_modules()
    pages = {"index.md": _index(modules)}
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


def _index(modules: dict[str, list[str]]) -> str:
    return "\n".join(
        [
            "# Reference",
            "",
            "Every public name with all its parameters. What is not listed here may change without",
            "notice.",
            "",
            "## bayespoint",
            "",
            _names("bayespoint", [name for name in bayespoint.__all__ if name != "__version__"]),
            "## Modules",
            "",
            "```{toctree}",
            ":maxdepth: 1",
            "",
            *modules,
            "```",
            "",
        ]
    )


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
