"""Folders import only those of the layers below them, and objects are not looked into from outside.

docs/architecture.md has the lists of the layers.
"""

import ast
import graphlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "bayespoint"
SOURCES = ROOT / "src"

# A folder may import those of earlier rows.
PYTHON = [
    ["_core"],
    ["base"],
    ["kernels", "datasets", "blocks"],
    ["results"],
    ["engine"],
    ["data"],
    ["labels"],
    ["landmarks"],
    ["posterior"],
    ["version_space", "tuning"],
    ["estimators"],
    ["plotting"],
    ["export"],
    ["papers"],
]
RUST = [
    ["base", "simd"],
    ["gram", "laws"],
    ["space", "linalg", "soft"],
    ["ball"],
    ["trajectory"],
    ["interior"],
    ["ensemble"],
    ["evidence", "propagation"],
    ["predictions"],
    ["papers"],
    ["python"],
]


def level(layers: list[list[str]], folder: str) -> int:
    """Return the row of a folder."""
    [row] = [i for i, names in enumerate(layers) if folder in names]
    return row


def imported_names(text: str) -> set[str]:
    """Return the dotted names of the package that Python source imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "bayespoint"}


def imported_folders(text: str) -> set[str]:
    """Return the folders of the package that Python source imports, "" for the package itself."""
    return {[*name.split("."), ""][1] for name in imported_names(text)}


def find_circle(texts: dict[str, str]) -> list[str]:
    """Return modules that import one another in a circle, given the source of each module."""

    def module(name: str) -> str:
        """Return the module that a dotted name is, or is an attribute of."""
        return name if name in texts else name.rpartition(".")[0]

    graph = {own: {module(name) for name in imported_names(text)} for own, text in texts.items()}
    try:
        graphlib.TopologicalSorter({own: used - {own} for own, used in graph.items()}).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def used_folders(text: str) -> set[str]:
    """Return the folders that Rust source uses by ``crate::``, tests and comments apart."""
    text = re.sub(r"//[^\n]*", "", re.split(r"#\[cfg\(test\)\]", text)[0])
    found = set(re.findall(r"crate::(\w+)", text))
    for group in re.findall(r"crate::\{([^;]*)\};", text):
        found |= set(re.findall(r"(?:^|,)\s*(\w+)(?=::|,|\s*$)", re.sub(r"\{[^{}]*\}", "", group)))
    return found


def wrong_arrows(layers: list[list[str]], folder: str, used: set[str]) -> set[str]:
    """Return which of the folders used do not stand in an earlier row."""
    if folder == "papers" and layers is PYTHON:  # they use the package as anybody does
        return set()
    above = {name for names in layers[level(layers, folder) :] for name in names}
    known = {name for names in layers for name in names}
    return {name for name in used - {folder} if name in above or name not in known}


def files() -> list[tuple[Path, list[list[str]], str]]:
    """Return every source file with its layers and its folder."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        folder = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if folder != "__init__":
            found.append((path, PYTHON, folder))
    for path in sorted(SOURCES.rglob("*.rs")):
        folder = path.relative_to(SOURCES).parts[0].removesuffix(".rs")
        if folder != "lib":
            found.append((path, RUST, folder))
    return found


@pytest.mark.parametrize(
    ("path", "layers", "folder"), files(), ids=lambda x: x.name if isinstance(x, Path) else ""
)
def test_imports_point_down(path: Path, layers: list[list[str]], folder: str) -> None:
    text = path.read_text(encoding="utf-8")
    used = imported_folders(text) if layers is PYTHON else used_folders(text)
    assert wrong_arrows(layers, folder, used) == set()


DOOR = SOURCES / "python" / "papers.rs"
"""The only file outside the wing for the papers, in either language, that may use it."""


def test_nothing_outside_the_wing_imports_it() -> None:
    for path, layers, folder in files():
        text = path.read_text(encoding="utf-8")
        used = imported_folders(text) if layers is PYTHON else used_folders(text)
        inside = folder == "papers" or path == DOOR
        assert inside or "papers" not in used, f"{path} imports the papers"


def test_no_modules_import_one_another() -> None:
    texts = {}
    for path in set(PACKAGE.rglob("*.py")) - {PACKAGE / "__init__.py"}:  # no folder imports it
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        texts[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    assert find_circle(texts) == []


def test_a_circle_is_found() -> None:
    one = "from bayespoint.base.two import f"
    two = "from bayespoint.base import one"
    assert find_circle({"bayespoint.base.one": one, "bayespoint.base.two": ""}) == []
    assert "bayespoint.base.one" in find_circle(
        {"bayespoint.base.one": one, "bayespoint.base.two": two}
    )


COMPILED = PACKAGE / "papers" / "compiled.py"
"""The only file of the papers that calls the compiled part."""


def test_few_folders_call_the_compiled_part() -> None:
    for path, layers, folder in files():
        calls = folder in ("engine", "kernels", "landmarks", "results") or path == COMPILED
        if layers is PYTHON and not calls:
            used = imported_folders(path.read_text(encoding="utf-8"))
            assert "_core" not in used, f"{path.name} imports _core"


def test_only_the_door_mentions_python() -> None:
    for path, layers, folder in files():
        if layers is RUST and folder != "python":
            assert not re.search(r"\b(pyo3|numpy::)", path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize(
    ("layers", "folder", "line", "wrong"),
    [
        (PYTHON, "results", "from bayespoint.engine import sampling", {"engine"}),
        (PYTHON, "estimators", "import bayespoint.papers.planar", {"papers"}),
        (PYTHON, "estimators", "from bayespoint import VersionSpace", {"VersionSpace"}),
        (RUST, "gram", "use crate::{base::Error, space};", {"space"}),
        (RUST, "evidence", "use crate::base::{Error, Result};", set()),
        (RUST, "papers", "use crate::{ensemble::run_with, python};", {"python"}),
    ],
)
def test_wrong_imports_are_found(
    layers: list[list[str]], folder: str, line: str, wrong: set[str]
) -> None:
    used = imported_folders(line) if layers is PYTHON else used_folders(line)
    assert wrong_arrows(layers, folder, used) == wrong


# --- what is known of an object -------------------------------------------------------------------

ESTIMATORS = ("estimators", "papers")
"""Folders that know the attributes of estimators."""

READ_ANYWHERE = {
    "posterior_",
    "planes_",
    "classes_",
    "columns_",
    "feature_relevance_",
    "named_steps",
    "best_estimator_",
}
OF_SCIKIT_LEARN = {"cluster_centers_", "mean_", "scale_", "var_", "lambdas_"}
"""Attributes of its scalers and of its clusters."""


def fitted_attributes(text: str) -> list[tuple[int, str]]:
    """Return the fitted attributes of other objects that Python source reads, with their lines."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "np")
            name = "" if own else node.attr
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            name = str(getattr(node.args[1], "value", ""))
        else:
            continue
        if name.endswith("_") and not name.startswith("_"):
            found.append((node.lineno, name))
    return [each for each in found if each[1] not in READ_ANYWHERE | OF_SCIKIT_LEARN]


def untyped_models(node: ast.AST) -> bool:
    """Return whether a node is a parameter for a model whose type is not told."""
    named = isinstance(node, ast.arg) and node.arg in ("model", "estimator", "classifier")
    return named and "Any" in re.findall(r"\w+", ast.unparse(node).partition(":")[2])


CHANGES = {"clear", "pop", "popitem", "setdefault", "update", "__delitem__", "__setitem__"}


def changed_dicts(node: ast.AST) -> bool:
    """Return whether a node changes the attributes of another object as a dictionary."""
    changed: ast.AST | None = None
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        changed = node.value if isinstance(node, ast.Subscript) else node
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changed = node.func.value if node.func.attr in CHANGES else None
    owner = re.fullmatch(r"vars\((.+)\)|(.+)\.__dict__", ast.unparse(changed)) if changed else None
    return owner is not None and "self" not in owner.groups()


def test_only_estimators_read_fitted_attributes() -> None:
    offenders = [
        f"{path.relative_to(PACKAGE)}:{line} {name}"
        for path, layers, folder in files()
        if layers is PYTHON and folder not in ESTIMATORS
        for line, name in fitted_attributes(path.read_text(encoding="utf-8"))
    ]
    assert offenders == []


def test_models_have_types_and_attributes_are_not_changed_as_a_dictionary() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not untyped_models(node), f"{path}: {ast.unparse(node)}"
            assert not changed_dicts(node), f"{path}: {ast.unparse(node)}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = model.dual_coef_ + search.best_estimator_.softness_", 2),
        ("if hasattr(model, 'support_'): getattr(model, 'n_iter_', 0)", 2),
        ("self.ax_ = model.posterior_; model.__class__, model._private_, getattr(model, name)", 0),
    ],
)
def test_fitted_attributes_are_found(text: str, names: int) -> None:
    assert len(fitted_attributes(text)) == names


def test_untyped_models_and_changed_dicts_are_found() -> None:
    text = (
        "def f(model: Any | None, other: Any):\n  vars(model)['a'] = 1; model.x.__dict__.pop('a')"
    )
    nodes = [*ast.walk(ast.parse(text)), *ast.walk(ast.parse("vars(self)['a'] = vars(f).copy()"))]
    assert [sum(map(wrong, nodes)) for wrong in (untyped_models, changed_dicts)] == [1, 2]
