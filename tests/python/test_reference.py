"""What the reference of the site shows is there. That every parameter is, `make docs` checks."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

import bayespoint

ROOT = Path(__file__).parents[2]
RECORDS = sorted(
    {
        value
        for info in pkgutil.walk_packages(bayespoint.__path__, "bayespoint.")
        if not any(part.startswith("_") for part in info.name.split("."))
        and not info.name.startswith(("bayespoint.papers.experiments", "bayespoint.labels"))
        for module in [importlib.import_module(info.name)]
        for name in getattr(module, "__all__", ())
        for value in [getattr(module, name)]
        if inspect.isclass(value)
        and (dataclasses.is_dataclass(value) or hasattr(value, "_fields"))
        and not hasattr(value, "get_params")  # kernels have parameters, which the docstring names
    },
    key=lambda record: record.__qualname__,
)


def undocumented_fields(record: type) -> list[str]:
    """Return the public fields of a class that no text follows."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(tree, ast.ClassDef)
    return [
        field.target.id
        for field, after in zip(tree.body, [*tree.body[1:], ast.Pass()], strict=True)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and not field.target.id.startswith("_")
        and not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant))
    ]


def reference():
    """Return the module that writes the pages of the reference."""
    spec = importlib.util.spec_from_file_location("_reference", ROOT / "docs" / "_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_on_a_page(tmp_path: Path) -> None:
    pages = reference()
    pages.write(tmp_path)
    modules = {"bayespoint": list(bayespoint.__all__), **pages.public_modules()}
    data = set()
    for module, names in modules.items():
        text = (tmp_path / f"{'index' if module == 'bayespoint' else module}.md").read_text("utf-8")
        for name in names:
            value = getattr(importlib.import_module(module), name)
            if inspect.ismodule(value) or name == "__version__":
                continue
            is_data = not (inspect.isclass(value) or inspect.isroutine(value))
            data |= {f"{module}.{name}"} if is_data else set()
            line = f".. autodata:: {name}\n" if is_data else f"\n   {name}\n"
            assert line in text, f"{module}.{name}"
    assert data == {"bayespoint.export.TRUSTED_TYPES"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__qualname__)
def test_every_field_of_a_result_is_documented(record: type) -> None:
    assert undocumented_fields(record) == []


def test_every_dependency_has_its_reason() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    crate = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    project = package["project"]
    named = [
        *package["build-system"]["requires"],
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
        *crate["dependencies"],
        *crate["dev-dependencies"],
    ]
    names = {re.split(r"[^\w-]", each)[0] for each in named} - {"bayespoint"}
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|`]+) \|", text, flags=re.MULTILINE)
    explained = {name for row in rows for name in row.split(", ")}
    assert len(names) > 20
    assert names - explained == set()
