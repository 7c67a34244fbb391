"""What the reference of the site shows is there. That every parameter is, `make docs` checks."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import pkgutil
import re
import textwrap
from pathlib import Path

import pytest

import bayespoint
from bayespoint.papers import displays, drawings, onion, soft_boundary

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


def public_callables():
    """Return all that the reference shows and that is called, by name."""
    pages = reference()
    modules = {"bayespoint": list(bayespoint.__all__), **pages.public_modules()}
    for module, names in modules.items():
        home = importlib.import_module(module)
        for name in names:
            value = getattr(home, name)
            if inspect.isroutine(value):
                yield f"{module}.{name}", value
            for method in dir(value) if inspect.isclass(value) else ():
                member = getattr(value, method)
                own = (getattr(member, "__module__", "") or "").startswith("bayespoint")
                hidden = method.startswith("_") or method in pages.PASSED_ON
                # A cached property counts as a routine, and from Python 3.13 on names its module.
                if own and not hidden and inspect.isroutine(member) and callable(member):
                    yield f"{module}.{name}.{method}", member


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


def test_the_parts_of_the_reference_hold_all_names() -> None:
    pages = reference()
    names = [name for own, _ in pages.SECTIONS.values() for name in own]
    parts = [f"bayespoint.{part}" for _, modules in pages.SECTIONS.values() for part in modules]
    own = {
        name
        for name in bayespoint.__all__
        if not inspect.ismodule(getattr(bayespoint, name)) and name != "__version__"
    }
    assert (len(names), set(names)) == (len(own), own)
    found = [name for name in pages.public_modules() if ".papers." not in name]
    assert sorted(parts) == sorted(found)
    for name, groups in pages.METHODS.items():
        cls = getattr(bayespoint, name.rpartition(".")[2])
        methods = [method for group in groups.values() for method in group]
        assert sorted(methods) == sorted(pages.members(cls)["Methods"])


def test_methods_of_kernels_have_the_sections_of_base() -> None:
    completed = reference().completed
    for name, sections in {
        "diag": ["Parameters", "Returns"],
        "parameters": ["Parameters", "Returns"],
        "with_values": ["Parameters", "Returns"],
        "with_pullback": ["Parameters", "Returns"],
    }.items():
        for kernel in ("RBF", "Sum", "Spectrum"):
            own = inspect.getdoc(getattr(getattr(bayespoint.kernels, kernel), name)).split("\n")
            lines = completed(f"bayespoint.kernels.{kernel}.{name}", [*own, ""])
            assert lines[0] == own[0]
            assert [line for line in sections if line in lines] == sections
            assert lines.count("Parameters") == lines.count("Returns") == 1
    lines = completed("bayespoint.posterior.Model.predict_proba", ["Text.", ""])
    assert lines[0] == "Text."
    assert {"Parameters", "Returns"} <= set(lines)
    assert completed("bayespoint.VersionSpace.sample", ["Text."]) == ["Text."]


def test_pages_of_classes_have_their_members_and_guide() -> None:
    pages = reference()
    classifier = bayespoint.BayesPointClassifier
    shown = pages.members(classifier)
    assert shown["Methods"][0] == "fit"
    assert {"fit", "predict_proba", "refine", "save"} <= set(shown["Methods"])
    assert not {"set_fit_request", "get_metadata_routing", "from_run"} & set(shown["Methods"])
    fields = pages.members(bayespoint.BilliardResult)["Attributes"]
    assert {"center", "center_error", "ess", "r_hat"} <= set(fields)
    name = "bayespoint.BayesPointClassifier"
    text = ["Summary.", "", ":Parameters:", ""]
    lines = pages.with_overview(name, classifier, text)
    assert lines.index("   ~BayesPointClassifier.fit") < lines.index(":Parameters:")
    assert any(":doc:`/guide/models`" in line for line in lines)
    assert any("`score`, `get_params`" in line for line in lines)
    assert pages.with_overview("bayespoint.datasets.x", None, text) == [*text[:2], "", *text[2:]]


def test_links_into_the_guide_lead_to_pages() -> None:
    pages = reference()
    modules = {"bayespoint": list(bayespoint.__all__), **pages.public_modules()}
    linked = {
        page
        for module, names in modules.items()
        for name in names
        for page in pages.guide(f"{module}.{name}")
    }
    assert len(linked) > 10
    assert all((ROOT / "docs" / f"{page}.md").exists() for page in linked)


RETURNING = dict(public_callables())


@pytest.mark.parametrize("name", sorted(RETURNING))
def test_what_is_returned_is_told(name: str) -> None:
    """As `make docs` has it by numpydoc: whatever returns a value has a section of it."""
    function = RETURNING[name]
    returns = inspect.signature(function).return_annotation
    text = inspect.getdoc(function) or ""
    assert text
    if returns in ("None", None, inspect.Signature.empty):
        return
    if reference().home_of_sections(name) is not None:
        return
    assert re.search(r"^(Returns|Yields)\n-+$", text, flags=re.MULTILINE)


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


def docstrings(source: str) -> dict[int, str]:
    """Return the docstrings of a module, its classes, functions and fields, by line."""
    return {
        after.lineno: inspect.cleandoc(after.value.value)
        for node in ast.walk(ast.parse(source))
        for after in (node.body if isinstance(getattr(node, "body", None), list) else ())
        if isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    }


def paragraphs(text: str) -> list[list[str]]:
    """Return the lines of each paragraph of a docstring: of prose, not of a table or example."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        item, rule = re.match(r" *- ", line), re.fullmatch(r" *[-=]+( +[-=]+)*", line)
        before = found[-1][-1:]
        indent = re.compile(r"( *(?:- )?)").match
        same = before and len(indent(line)[1]) == len(indent(before[0])[1])  # type: ignore[index]
        if not line or rule or item or (before and not same):
            found.append([])
        if line and not rule:
            found[-1].append(line)
    return [each for each in found if each and not re.match(r" *(>>>|\.\. )|\S+ {2,}", each[0])]


SOURCES = sorted((ROOT / "python" / "bayespoint").rglob("*.py"))


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "python" / "bayespoint"))
)
def test_no_paragraph_of_a_docstring_is_over_six_lines(path: Path) -> None:
    texts = docstrings(path.read_text(encoding="utf-8"))
    long = [
        (line, paragraph[0])
        for line, text in texts.items()
        for paragraph in paragraphs(text)
        if len(paragraph) > 6
    ]
    assert long == []


def test_paragraphs_are_found() -> None:
    assert len(SOURCES) > 80
    line = "Some words."
    for body in ([line] * 7, ["x : int", *[f"    {line}"] * 7], [f"- {line}", *[f"  {line}"] * 6]):
        text = "\n".join(["Summary.", "", "Notes", "-----", *body, "", "End."])
        assert max(len(each) for each in paragraphs(text)) == 7, text
    assert max(len(each) for each in paragraphs("\n".join([f"- {line}"] * 7))) == 1
    assert docstrings(f'class A:\n    x: int\n    """{line}"""\n') == {3: line}


@pytest.mark.parametrize("name", sorted(RETURNING))
def test_no_section_is_there_twice(name: str) -> None:
    text = inspect.getdoc(RETURNING[name]) or ""
    sections = re.findall(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE)
    assert len(sections) == len(set(sections))


def raised(value: object) -> set[str]:
    """Return the names in the section "Raises" of a docstring."""
    text = inspect.getdoc(value) or ""
    section = re.search(r"^Raises\n-+\n((?:.+\n?)+)", text, flags=re.MULTILINE)
    heads = re.findall(r"^(\w.*)$", section[1], flags=re.MULTILINE) if section else []
    return {name for head in heads for name in head.split(", ")}


PLAYING = [
    bayespoint.BayesPointClassifier.evidence,
    bayespoint.BayesPointClassifier.fit,
    bayespoint.BayesPointClassifier.log_labeling_probability,
    bayespoint.BayesPointClassifier.refine,
    bayespoint.VersionSpace.evidence,
    bayespoint.VersionSpace.feasible_point,
    bayespoint.VersionSpace.sample,
    onion.choose_layer,
    onion.onion,
    drawings.fly,
    displays.BilliardDisplay.from_space,
    displays.EvidenceDisplay.from_estimator,
]
"""What plays a billiard, whose arithmetic may break down; bounds leave such a row out."""


@pytest.mark.parametrize("function", PLAYING, ids=lambda function: function.__qualname__)
def test_what_plays_a_billiard_tells_of_breakdowns(function: object) -> None:
    assert "FloatingPointError" in raised(function)


def test_names_in_raises_are_found() -> None:
    found = raised(bayespoint.VersionSpace.sample)
    assert {"InfeasibleError", "ValueError", "TimeoutError", "MemoryError"} <= found
    assert raised(soft_boundary.parameter_space) >= {"ValueError", "TypeError"}
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
