"""Notebook representations: one form, well-formed, escaped, readable on dark pages."""

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
from bayespoint.kernels import RBF
from bayespoint.papers import planar, soft_boundary
from bayespoint.papers.bounds import RiskBounds, risk_bounds
from bayespoint.papers.correlation import correlation_length
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.max_margin import MaxMarginClassifier
from bayespoint.papers.onion import LayerChoice, onion
from bayespoint.papers.perceptron import KernelPerceptron
from bayespoint.papers.reweighting import reweight
from bayespoint.results import Estimate
from helpers import seed


class Reader(HTMLParser):
    """Collects tags and texts, and fails where tags do not match."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.styles, self.texts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        names = dict(attrs)
        assert set(names) <= {"style", "scope"}, names
        self.styles.append(names.get("style", ""))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader


def results():
    """Return an instance of every class with a representation, by name."""
    X, y = make_teacher(30, 4, random_state=seed(0))
    space = VersionSpace(X @ X.T, y)
    run = space.sample(tol=0.1, random_state=seed(0))
    model = BayesPointClassifier("linear", random_state=seed(0)).fit(X, y)
    three = BayesPointClassifier(RBF(1.5), softness=0.1, random_state=seed(0))
    three.fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    polygon = planar.Polygon([[0, 0], [3, 0], [4, 2], [1, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short runs
        table = onion(space, max_errors=(1, 2), tol=0.2, random_state=seed(0))
        return {
            "VersionSpace": space,
            "BilliardResult": run,
            "Evidence": space.evidence(tol=0.5, random_state=seed(0)),
            "Evidence of several rates": space.evidence(
                [0.0, 0.1, 0.2], tol=0.5, random_state=seed(0)
            ),
            "Estimate": Estimate(1.0, 0.1),
            "MaxMargin": space.max_margin(),
            "LightTrap": light_trap(space, random_state=seed(0)),
            "Search": model.tuning_,
            "OnionTable": table,
            "LayerChoice": LayerChoice((0, 1), np.array([[0.1, np.nan]]), np.array([[3, 0]])),
            "CorrelationLength": correlation_length(space, random_state=seed(0)),
            "WeightedResult": reweight(space, run, lambda margins: margins[:, 0]),
            "Posterior": model.posterior_,
            "Posterior of three": three.posterior_,
            "RiskBounds": three_bounds(X, y),
            "RiskBound": three_bounds(X, y)[0],
            "ParameterSpace": soft_boundary.parameter_space(X @ X.T, softness=0.1),
            "Polygon": polygon,
            "BayesPoint of a polygon": planar.bayes_point(polygon),
            "Trajectory": planar.billiard(polygon, 20, random_state=seed(0)),
        }


def three_bounds(X, y):
    model = BayesPointClassifier("linear", softness=0.0, random_state=seed(0), standardize=False)
    return risk_bounds(model.fit(X, y), random_state=seed(0))


def count_calls(monkeypatch):
    """Return a list to which each later call of a compiled function adds its name."""
    calls = []
    for name, function in vars(_core).items():
        if callable(function) and not isinstance(function, type):

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


def test_looking_at_objects_computes_nothing(monkeypatch):
    X, y = make_teacher(30, 4, random_state=seed(0))
    kinds = np.digitize(X[:, 0], [-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short runs
        things = list(results().values())
    things += [
        make_pipeline(StandardScaler(), BayesPointClassifier(random_state=seed(0))).fit(X, y),
        BayesPointClassifier("linear", random_state=seed(0)).fit(X, kinds),
        MaxMarginClassifier("linear").fit(X, y),
        KernelPerceptron("linear").fit(X, y),
    ]
    things.append(things[-4][-1])
    calls = count_calls(monkeypatch)
    for thing in things:
        look(thing)
    assert calls == []
    things[-1].evidence(tol=1.0, random_state=seed(0))
    assert calls  # they are counted


@pytest.fixture(scope="module")
def shown():
    return {name: (one, one._repr_html_()) for name, one in results().items()}


def test_all_are_tables_in_one_form(shown):
    for name, (_, html) in shown.items():
        reader = read(html)
        assert html.startswith('<div style="overflow-x:auto"><table '), name
        assert set(reader.tags) <= {
            "div",
            "table",
            "caption",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "br",
        }
        assert reader.tags.count("caption") == reader.tags.count("table"), name
        assert reader.tags.count("tr") >= 1, name


def test_they_have_no_colors_or_files(shown):
    """Colors would be unreadable on dark pages, and files missing without a network."""
    for name, (_, html) in shown.items():
        assert not re.search(r"https?:|url\(|<script|<link|<style|src=|class=", html), name
        for style in read(html).styles:
            colors = re.findall(r"(?:^|;)(?:color|background(?:-color)?):([^;]+)", style)
            assert set(colors) <= {"inherit", "transparent"}, name


def test_they_contain_the_summary(shown):
    for name in ("BilliardResult", "Evidence", "MaxMargin", "OnionTable", "WeightedResult"):
        one, html = shown[name]
        texts = read(html).texts
        for title, value in one._rows():
            assert title in texts, name
            assert value in texts, name


def test_names_are_escaped(shown):
    run = replace(shown["BilliardResult"][0], stop_reason="<b>&</b>")
    assert "<b>&</b>" in read(run._repr_html_()).texts
    search = replace(shown["Search"][0], kernel="<script>")
    assert "<script>" not in search._repr_html_()
    bounds = shown["RiskBounds"][0]
    strange = replace(bounds[0], name="<i>", condition="a < b")
    html = RiskBounds((strange,), 0.05, 10)._repr_html_()
    assert "<i>" in read(html).texts
    assert "[1] If a < b." in read(html).texts
    space = VersionSpace(np.eye(2), np.array(["<u>", "v"]))
    assert "1 (<u>)" in read(space._repr_html_()).texts


def test_grids_have_as_many_cells_in_each_line(shown):
    for name in ("Search", "OnionTable", "LayerChoice", "RiskBounds"):
        grid = shown[name][1].split("<thead>")[1]
        lines = re.findall(r"<tr>(.*?)</tr>", grid)
        counts = {line.count("</td>") + line.count("</th>") for line in lines}
        assert len(counts) == 1, name


def test_light_trap_as_text(shown):
    trap, _ = shown["LightTrap"]
    assert "violated at the start" in trap.summary()
    assert repr(trap).startswith("<LightTrap: ")


def test_layers_without_a_center_are_empty(shown):
    assert ">-</td>" in shown["LayerChoice"][1]
