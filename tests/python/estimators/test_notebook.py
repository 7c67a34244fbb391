"""Notebook representations: well-formed, escaped, from the rows of the summary."""

import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, VersionSpace, _core
from bayespoint.datasets import make_teacher
from bayespoint.papers import planar, soft_boundary
from bayespoint.papers.bounds import risk_bounds
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import onion
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.papers.reweighting import reweight
from bayespoint.results.result import as_html
from helpers import seed


class Reader(HTMLParser):
    """Collects texts, and fails where tags do not match."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        assert {name for name, _ in attrs} <= {"scope"}
        self.open += [tag] if tag != "br" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def texts_of(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader.texts


@pytest.fixture(scope="module")
def results():
    """Instances of the classes with a representation, and of those that hold some."""
    X, y = make_teacher(30, 4, random_state=seed(0))
    space = VersionSpace(X @ X.T, y)
    run = space.sample(tol=0.1, random_state=seed(0))
    model = BayesPointClassifier("linear", random_state=seed(0)).fit(X, y)
    hard = BayesPointClassifier("linear", softness=0.0, random_state=seed(0), standardize=False)
    polygon = planar.Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short runs
        return {
            "billiard": run,
            "evidence": space.evidence([0.0, 0.1, 0.2], tol=0.5, random_state=seed(0)),
            "margin": space.max_margin(),
            "trap": light_trap(space, random_state=seed(0)),
            "search": model.tuning_,
            "relevance": BayesPointClassifier(random_state=seed(0)).fit(X, y).feature_relevance_,
            "onion": onion(space, max_errors=(1, 2), tol=0.2, random_state=seed(0)),
            "correlation": correlation_length(space, random_state=seed(0)),
            "weighted": reweight(space, run, lambda margins: margins[:, 0]),
            "posterior": model.posterior_,
            "bounds": risk_bounds(hard.fit(X, y), random_state=seed(0)),
            "parameters": soft_boundary.parameter_space(X @ X.T, softness=0.1),
            "center": planar.bayes_point(polygon),
            "trajectory": planar.billiard(polygon, 20, random_state=seed(0)),
            "pipeline": make_pipeline(StandardScaler(), model),
            "several": BayesPointClassifier("linear", random_state=seed(0)).fit(
                X, np.digitize(X[:, 0], [-0.5, 0.5])
            ),
            "maximal": MaxMarginClassifier("linear").fit(X, y),
            "perceptron": KernelPerceptron("linear").fit(X, y),
        }


def count_calls(monkeypatch):
    """Return a list of the later calls of compiled functions, diagnostics apart."""
    calls = []
    for name, function in vars(_core).items():
        if name.islower() and callable(function) and name not in ("r_hat", "effective_size"):

            def counted(*args, name=name, function=function, **kwargs):
                calls.append(name)
                return function(*args, **kwargs)

            monkeypatch.setattr(_core, name, counted)
    return calls


def look(thing):
    """Read all attributes and views of an object, and of the objects that it holds."""
    repr(thing)
    for view in ("_repr_html_", "_repr_mimebundle_"):
        if hasattr(thing, view):
            getattr(thing, view)()
    for name in dir(thing):
        value = getattr(thing, name, None)
        held = value if isinstance(value, (list, tuple)) else [value]
        for one in held:
            if type(one).__module__.startswith("bayespoint."):
                look(one)


def test_looking_at_objects_computes_nothing(results, monkeypatch):
    model = results["pipeline"][-1]
    calls = count_calls(monkeypatch)
    for thing in results.values():
        look(thing)
    assert calls == []
    model.evidence(tol=1.0, random_state=seed(0))
    assert calls  # they are counted


def test_tables_have_the_rows_of_the_text(results):
    for name, one in results.items():
        if hasattr(one, "_rows"):
            texts = texts_of(one._repr_html_())
            text = one.summary() if name != "search" else ""
            for row in one._rows():
                assert {part for part in row if part} <= set(texts), name
                assert name == "search" or all(part in text for part in row)


def test_pages_are_left_their_colors():
    """Colors would be unreadable on dark pages, and files missing without a network."""
    html = as_html("<b>", [("a<", "&", "")], ("", "<i>", "c"), "d<\ne")
    assert texts_of(html) == ["<b>", "<i>", "c", "a<", "&", "d<", "e"]
    assert not re.search("style|class|src|href", html)


def test_names_are_escaped(results):
    run = replace(results["billiard"], stop_reason="<b>&</b>")
    assert "<b>&</b>" in texts_of(run._repr_html_())
    bounds = results["bounds"]
    strange = replace(bounds[0], name="<i>", condition="a < b")
    texts = texts_of(replace(bounds, rows=(strange,))._repr_html_())
    assert "<i>" in texts
    assert "[1] If a < b." in texts
