"""The picture shows the probabilities, the examples and the walls that were hit."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.plotting import plot_decision_function
from helpers import seed

matplotlib_figure = pytest.importorskip("matplotlib.figure")


class Slope:
    """A classifier with a known probability: it rises with the first feature alone."""

    classes_ = np.array(["left", "right"])

    def __init__(self, n_rows, hits=()):
        all_hits = np.zeros(n_rows, dtype=np.uint64)
        for row, number in dict(hits).items():
            all_hits[row] = number
        self.support_ = np.flatnonzero(all_hits)
        self.billiard_ = SimpleNamespace(hits=all_hits)

    def predict_proba(self, X):
        right = 1.0 / (1.0 + np.exp(-4.0 * X[:, 0]))
        return np.column_stack([1.0 - right, right])


@pytest.fixture
def ax():
    return matplotlib_figure.Figure().add_subplot()


@pytest.fixture
def examples():
    X = np.random.default_rng(seed(5)).uniform(-2.0, 2.0, size=(40, 2))
    return X, np.where(X[:, 0] > 0, "right", "left")


def collections_by_label(ax):
    return {c.get_label(): c for c in ax.collections if not c.get_label().startswith("_")}


def test_examples_stand_at_their_places_by_class(ax, examples):
    X, y = examples
    drawn = collections_by_label(plot_decision_function(Slope(40), X, y, ax=ax))

    assert set(drawn) == {"left", "right"}
    for label in ("left", "right"):
        np.testing.assert_array_equal(drawn[label].get_offsets(), X[y == label])


def test_field_is_the_probability_of_the_second_class(ax, examples):
    X, y = examples
    plot_decision_function(Slope(40), X, y, ax=ax, resolution=50)

    field = ax.collections[0]
    values = np.asarray(field.get_array()).reshape(50, 50)
    horizontal = np.linspace(
        X[:, 0].min() - 0.15 * np.ptp(X[:, 0]), X[:, 0].max() + 0.15 * np.ptp(X[:, 0]), 50
    )
    expected = 1.0 / (1.0 + np.exp(-4.0 * horizontal))
    np.testing.assert_allclose(values, np.broadcast_to(expected, (50, 50)), atol=1e-12)
    assert field.get_clim() == (0.0, 1.0)


def test_contours_lie_where_the_probability_says(ax, examples):
    X, y = examples
    plot_decision_function(Slope(40), X, y, ax=ax, levels=(0.1, 0.5, 0.9), resolution=300)

    [contours] = [c for c in ax.collections if hasattr(c, "levels")]
    np.testing.assert_array_equal(contours.levels, [0.1, 0.5, 0.9])
    for level, path in zip(contours.levels, contours.get_paths(), strict=True):
        place = np.log(level / (1 - level)) / 4.0
        np.testing.assert_allclose(path.vertices[:, 0], place, atol=2e-3)


def test_levels_outside_the_range_of_the_field_are_left_out(ax, examples):
    class Undecided(Slope):
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    plot_decision_function(Undecided(40), *examples, ax=ax)

    assert not [c for c in ax.collections if hasattr(c, "levels")]


RINGS = "wall hit: the larger, the more often"


def test_rings_go_around_the_walls_hit_and_grow_with_the_hits(ax, examples):
    X, y = examples
    estimator = Slope(40, {3: 100, 17: 50, 30: 1})
    rings = collections_by_label(plot_decision_function(estimator, X, y, ax=ax))[RINGS]

    np.testing.assert_array_equal(rings.get_offsets(), X[[3, 17, 30]])
    assert rings.get_facecolors().size == 0
    largest, middle, smallest = rings.get_sizes()
    markers = collections_by_label(ax)["left"].get_sizes()[0]
    assert smallest > markers
    assert largest - middle == pytest.approx(50 / 49 * (middle - smallest))


def test_rings_are_left_out_for_examples_the_estimator_was_not_trained_on(ax, examples):
    drawn = collections_by_label(plot_decision_function(Slope(39, {3: 1}), *examples, ax=ax))

    assert set(drawn) == {"left", "right"}


def test_rings_are_left_out_on_request(ax, examples):
    drawn = collections_by_label(
        plot_decision_function(Slope(40, {3: 1}), *examples, ax=ax, ring=None)
    )

    assert set(drawn) == {"left", "right"}


def test_rings_around_chosen_rows(ax, examples):
    X, y = examples
    drawn = collections_by_label(
        plot_decision_function(Slope(40, {3: 1}), X, y, ax=ax, ring=[0, 39])
    )

    np.testing.assert_array_equal(drawn["ringed"].get_offsets(), X[[0, 39]])


def test_axes_are_labelled(ax, examples):
    plot_decision_function(Slope(40), *examples, ax=ax)

    assert ax.get_xlabel() == "x1"
    assert ax.get_ylabel() == "x2"
    assert ax.get_legend() is not None
    assert [a.get_ylabel() for a in ax.figure.axes] == ["x2", "P(y = right | x)"]


def test_a_classifier_trained_on_a_frame_in_a_pipeline(ax, examples):
    pd = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = examples
    frame = pd.DataFrame(X, columns=["width", "height"])
    pipeline = make_pipeline(StandardScaler(), BayesPointClassifier(random_state=seed(0)))
    pipeline.fit(frame, y)
    drawn = collections_by_label(plot_decision_function(pipeline, frame, y, ax=ax))

    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    np.testing.assert_array_equal(drawn[RINGS].get_offsets(), X[pipeline[-1].support_])


def test_a_new_figure_is_made_without_ax(examples):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    ax = plot_decision_function(Slope(40), *examples)
    try:
        assert ax.figure.number in pyplot.get_fignums()
    finally:
        pyplot.close(ax.figure)


def test_a_feature_without_spread_still_gives_a_picture(ax):
    X = np.array([[-1.0, 2.0], [1.0, 2.0]])
    plot_decision_function(Slope(2), X, np.array(["left", "right"]), ax=ax)

    low, high = ax.get_ylim()
    assert low < 2.0 < high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((40, 3))}, r"X must have the shape \(n_samples, 2\).*got \(40, 3\)"),
        ({"X": np.zeros((0, 2)), "y": np.zeros(0)}, r"X must have the shape.*got \(0, 2\)"),
        ({"X": np.full((40, 2), np.nan)}, "X must be finite"),
        ({"y": np.array(["left"] * 39)}, r"y must have the shape \(40,\) like X, got \(39,\)"),
        ({"y": np.array(["up"] * 40)}, r"y must hold labels of the estimator.*got \['up'\]"),
        ({"levels": (0.0, 0.5)}, "levels must be probabilities between 0 and 1"),
        ({"levels": (0.5, 0.1)}, "levels must rise"),
        ({"resolution": 1}, "resolution must be at least 2, got 1"),
        ({"pad": -0.1}, "pad must be at least 0, got -0.1"),
        ({"pad": np.nan}, "pad must be at least 0, got nan"),
        ({"ring": "all"}, "ring must be .*got 'all'"),
        ({"ring": [40]}, "ring must hold rows of X, 0 to 39"),
        ({"ring": [0.5]}, "ring must be one-dimensional and of integers"),
    ],
)
def test_bad_settings_are_named(ax, examples, change, message):
    X, y = examples
    settings = {"X": X, "y": y, "ax": ax, **change}

    with pytest.raises(ValueError, match=message):
        plot_decision_function(Slope(40), **settings)


def test_more_than_two_classes_are_refused(ax, examples):
    estimator = Slope(40)
    estimator.classes_ = np.array(["left", "middle", "right"])

    with pytest.raises(ValueError, match="estimator must have two classes, got 3"):
        plot_decision_function(estimator, *examples, ax=ax)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch, examples):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ImportError, match=r"pip install 'bayespoint\[plot\]'"):
        plot_decision_function(Slope(40), *examples)
