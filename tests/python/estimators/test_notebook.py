"""Notebook representations: well-formed, escaped, from the rows of the summary."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bayespoint import BayesPointClassifier, VersionSpace, _core
from bayespoint.datasets import make_teacher
from bayespoint.papers.bounds import risk_bounds
from bayespoint.papers.onion import onion
from helpers import seed

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def texts_of(html):
    """Return the texts; tags have to match, and bring no colors or files."""
    tree = ElementTree.fromstring(f"<div>{html.replace('<br>', '')}</div>")
    assert {name for tag in tree.iter() for name in tag.attrib} <= {"scope"}
    return list(tree.itertext())


@pytest.fixture(scope="module")
def results():
    """Instances of the classes with a representation of each form."""
    X, y = make_teacher(30, 4, random_state=seed(0))
    space = VersionSpace(X @ X.T, y)
    settings = {"softness": 0.0, "random_state": seed(0), "standardize": False}
    hard = BayesPointClassifier("linear", **settings).fit(X, y)
    model = BayesPointClassifier("linear", random_state=seed(0)).fit(X, y)
    return {
        "billiard": space.sample(tol=0.1, random_state=seed(0)),
        "evidence": space.evidence([0.0, 0.1, 0.2], tol=0.5, random_state=seed(0)),
        "margin": space.max_margin(),
        "search": model.tuning_,
        "posterior": model.posterior_,
        "onion": onion(space, max_errors=(1, 2), tol=0.2, random_state=seed(0)),
        "bounds": risk_bounds(hard, random_state=seed(0)),
    }


def test_looking_at_objects_computes_nothing(results, monkeypatch):
    calls = []
    for name, function in vars(_core).items():
        if name.islower() and callable(function) and name not in ("r_hat", "effective_size"):
            monkeypatch.setattr(_core, name, lambda *_, name=name, **__: calls.append(name))
    for one in results.values():
        assert repr(one)
        assert one._repr_html_()
    assert calls == []


def test_tables_have_the_rows_of_the_text(results):
    for name, one in results.items():
        texts = set(texts_of(one._repr_html_()))
        for row in getattr(one, "_rows", list)():
            assert {part for part in row if part} <= texts, name
            assert name == "search" or all(part in one.summary() for part in row)


def test_names_are_escaped(results):
    run = replace(results["billiard"], stop_reason="<b>&</b>")
    assert "<b>&</b>" in texts_of(run._repr_html_())
    bounds = results["bounds"]
    strange = replace(bounds[0], name="<i>", condition="a < b")
    texts = texts_of(replace(bounds, rows=(strange,))._repr_html_())
    assert "<i>" in texts
    assert "[1] If a < b." in texts
