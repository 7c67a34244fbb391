"""What the reference of the site shows is there. That every parameter is, `make docs` checks."""

import ast
import dataclasses
import importlib
import inspect
import json
import pkgutil
import re
import textwrap
from pathlib import Path

import pytest

import bayespoint
from bayespoint import elongated, gallery, openness, plotting, soft_boundary

ROOT = Path(__file__).parents[2]
RECORDS = sorted(
    {
        value
        for info in pkgutil.walk_packages(bayespoint.__path__, "bayespoint.")
        if not any(part.startswith("_") for part in info.name.split("."))
        and not info.name.startswith(("bayespoint.demo", "bayespoint.experiments"))
        for module in [importlib.import_module(info.name)]
        for name in module.__all__
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


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__qualname__)
def test_every_field_of_a_result_is_documented(record: type) -> None:
    assert undocumented_fields(record) == []


def test_a_field_without_a_text_is_found() -> None:
    @dataclasses.dataclass
    class Bare:
        documented: int
        """Its text."""

        bare: int

    assert undocumented_fields(Bare) == ["bare"]


def test_the_results_are_found() -> None:
    names = {record.__qualname__ for record in RECORDS}
    assert {"BilliardResult", "Evidence", "RiskBounds", "Circle"} <= names


def raised(value: object) -> set[str]:
    """Return the names in the section "Raises" of a docstring."""
    text = inspect.getdoc(value) or ""
    section = re.search(r"^Raises\n-+\n((?:.+\n?)+)", text, flags=re.MULTILINE)
    heads = re.findall(r"^(\w.*)$", section[1], flags=re.MULTILINE) if section else []
    return {name for head in heads for name in head.split(", ")}


PLAYING = [
    bayespoint.BayesPointClassifier.add_examples,
    bayespoint.BayesPointClassifier.evidence,
    bayespoint.BayesPointClassifier.fit,
    bayespoint.BayesPointClassifier.log_labeling_probability,
    bayespoint.BayesPointClassifier.refine,
    bayespoint.VersionSpace.choose_layer,
    bayespoint.VersionSpace.correlation_length,
    bayespoint.VersionSpace.evidence,
    bayespoint.VersionSpace.feasible_point,
    bayespoint.VersionSpace.light_trap,
    bayespoint.VersionSpace.log_volume,
    bayespoint.VersionSpace.onion,
    bayespoint.VersionSpace.sample,
    elongated.center_errors,
    gallery.fly,
    openness.escape_fractions,
    plotting.BilliardDisplay.from_space,
    plotting.ConvergenceDisplay.from_space,
    plotting.EvidenceDisplay.from_estimator,
    soft_boundary.center_angles,
]
"""What plays a billiard, whose arithmetic may break down; bounds leave such a row out."""


@pytest.mark.parametrize("function", PLAYING, ids=lambda function: function.__qualname__)
def test_what_plays_a_billiard_tells_of_breakdowns(function: object) -> None:
    assert "FloatingPointError" in raised(function)


def test_names_in_raises_are_found() -> None:
    found = raised(bayespoint.VersionSpace.sample)
    assert {"InfeasibleError", "ValueError", "OSError", "MemoryError"} <= found
    assert raised(soft_boundary.center_angles) >= {"ValueError", "TypeError"}
    assert raised(test_names_in_raises_are_found) == set()


def test_every_dependency_has_its_reason() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")
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


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_the_notebooks_hold_no_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert any(cell["cell_type"] == "code" for cell in cells)
    assert all(
        not cell["outputs"] and cell["execution_count"] is None
        for cell in cells
        if cell["cell_type"] == "code"
    )
