"""Writes the pages of the API reference: one for the package, one for each of its public modules."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import bayespoint

COMMANDS = ("demo", "experiments")
"""Modules that are commands: `python -m bayespoint.demo`."""


def public_modules() -> dict[str, list[str]]:
    """Return the public names of each public module that the package itself does not have."""
    own = {id(getattr(bayespoint, name)) for name in bayespoint.__all__}
    found = {}
    for info in pkgutil.iter_modules(bayespoint.__path__):
        if info.name.startswith("_") or info.name in COMMANDS:
            continue
        module = importlib.import_module(f"bayespoint.{info.name}")
        names = [name for name in module.__all__ if id(getattr(module, name)) not in own]
        if names:
            found[module.__name__] = names
    return found


def _names(module: str, names: list[str]) -> str:
    """Return the tables of a module's classes, functions and submodules."""
    home = importlib.import_module(module)
    kinds = {
        "Classes": inspect.isclass,
        "Functions": inspect.isroutine,
    }
    lines = ["```{eval-rst}", f".. currentmodule:: {module}", ""]
    for title, belongs in kinds.items():
        members = [name for name in sorted(names) if belongs(getattr(home, name))]
        if members:
            lines += [f".. rubric:: {title}", "", ".. autosummary::", "   :toctree: generated", ""]
            lines += [f"   {name}" for name in members] + [""]
    return "\n".join([*lines, "```", ""])


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
            "Every public name with all its parameters. What is not listed here may change without notice.",
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
    text = inspect.getdoc(importlib.import_module(module)) or ""
    return "\n".join(
        [
            f"# {module}",
            "",
            "```{eval-rst}",
            f".. module:: {module}",
            "",
            text,
            "```",
            "",
            _names(module, names),
        ]
    )
