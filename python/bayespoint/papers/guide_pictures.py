"""The pictures of docs/guide/plots.md: ``python -m bayespoint.papers guide-pictures``.

The page shows the code of each function as the commands for its picture, and its docstring as the
text.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from bayespoint import BayesPointClassifier, VersionSpace
from bayespoint.datasets import make_elongated, make_teacher
from bayespoint.papers import pictures
from bayespoint.plotting import (
    BilliardDisplay,
    ConvergenceDisplay,
    EvidenceDisplay,
    OnionDisplay,
    RejectionDisplay,
    RelevanceDisplay,
    TuningDisplay,
    WallsDisplay,
)

__all__ = ["FILES", "SCENES", "main", "page"]

X, y = make_moons(120, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)


def models() -> dict[str, Any]:
    """Return the classifiers of the page, of two classes and of three."""
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    plain = BayesPointClassifier(n_models=1, random_state=0).fit(X, y)
    flowers = load_iris(as_frame=True)
    species = flowers.target_names[flowers.target]
    three = BayesPointClassifier(random_state=0).fit(flowers.data, species)
    return {"classifier": classifier, "plain": plain, "three": three}


def rejection(classifier: Any) -> Any:
    """RejectionDisplay: errors among the points accepted.

    If the classifier abstains on the points that it is least sure of, what is the error rate on the
    others? At 100 % all points are accepted, as in `score`. A good curve falls steeply to the left.
    """
    return RejectionDisplay.from_estimator(classifier, X_test, y_test)


def walls(three: Any) -> Any:
    """WallsDisplay: how much each training example contributes.

    The center of the classifier is a weighted sum of the training examples. The bars are the
    examples' shares of the weights, largest first, with the numbers of the examples below. The
    strokes are their shares of the bounces of the sampler.
    """
    return WallsDisplay.from_estimator(three)


def onion(classifier: Any) -> Any:
    """OnionDisplay: training errors of the draws.

    A classifier is the mean of many draws from the posterior. Each cell is the share of the draws
    that make so many training errors in either class. Empty cells have no draws.
    """
    return OnionDisplay.from_estimator(classifier)


def draws(three: Any) -> Any:
    """BilliardDisplay: the draws of a classifier.

    Each point is a draw: its decision values at the training examples, scaled to length 1 and
    projected onto the two directions in which they vary most. The axes give the share of the
    variance that is seen. Where the sampler mixes well, the trajectories cover the same region, and
    their means (large markers) are near the center.
    """
    return BilliardDisplay.from_estimator(three)


def relevance() -> Any:
    """RelevanceDisplay: which features matter.

    The posterior means and 90 % intervals of the weights of the features, here of 30 measurements
    of tumors. If all features mattered alike, each would have the weight 1, the dashed line; at 0 a
    feature has no influence. A small weight may also belong to a feature that says the same as
    another one.
    """
    data, target = load_breast_cancer(return_X_y=True, as_frame=True)
    tumors = BayesPointClassifier(random_state=0).fit(data[::2], target[::2])
    return RelevanceDisplay.from_estimator(tumors, max_features=10)


def tuning(plain: Any) -> Any:
    """TuningDisplay: the evidence around the best hyperparameters.

    The approximate log evidence over two hyperparameters, in nats below the best setting, with the
    settings that the search tried. All others have their best values. Settings within one or two
    nats of the best are about as good. Without `grid_resolution` only the settings tried are drawn,
    in color, which costs nothing. The contours took 3 seconds for these 120 examples. A search on
    500 takes up to half a second for each of the 400 points.
    """
    return TuningDisplay.from_estimator(plain, grid_resolution=20)


def average(classifier: Any) -> Any:
    """Averaged models, with matplotlib.

    The probability of the second class along a line through both moons. Thin lines are the models
    that are averaged, each with its own [setting](models.md#averaged-settings); the thick line is
    their average. They agree where there are examples.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
    line = np.column_stack([np.linspace(-3.0, 4.0, 400), np.full(400, 0.25)])
    for k, model in enumerate(classifier.models_):
        label = "each of the six models" if k == 0 else None
        ax.plot(line[:, 0], model.predict_proba(line)[:, 1], color="0.6", lw=1, label=label)
    ax.plot(line[:, 0], classifier.predict_proba(line)[:, 1], lw=2.5, label="their average")
    near = np.abs(X[:, 1] - 0.25) < 0.25
    ax.plot(X[near, 0], y[near], "|", color="black", label="labels near the line")
    ax.set(xlabel="first feature", ylabel="probability of the second class")
    figure.legend(frameon=False, loc="outside upper center", ncols=3)
    return figure


def evidence(plain: Any) -> Any:
    """EvidenceDisplay: the log evidence by sampling.

    If labels may be wrong with some probability, how many of them are taken as noise? With
    probability 0.5 half of them. The area below the curve is minus the log evidence, since the
    horizontal axis is that of the log-odds; the legend has its value and standard error. The points
    are the rates sampled: they should be dense where the curve is steep. The picture samples anew,
    for up to a second on 100 examples and about 5 on 400.
    """
    return EvidenceDisplay.from_estimator(plain, random_state=0)


def convergence(three: Any) -> Any:
    """ConvergenceDisplay: the error of the center.

    The angle between the mean of the first draws and the reference, here the center of the whole
    run, and the standard error from the differences between the trajectories. Both should fall as
    one over the square root of the length. `from_space` makes runs of several lengths, and a longer
    one for the reference.
    """
    return ConvergenceDisplay.from_estimator(three)


def layers() -> Any:
    """OnionDisplay, for the layers around a version space.

    Each cell is the share of the sphere of the weight vectors with so many training errors in
    either class; version space is at the top left. `values` takes another field of the table, or an
    array such as `test_errors`.
    """
    vectors, labels = make_teacher(40, 5, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    table = space.onion(max_errors=(4, 6), tol=0.1, random_state=0)
    return OnionDisplay.from_result(table)


def billiard() -> Any:
    """BilliardDisplay, on the sphere.

    Version spaces of three dimensions can be seen whole: a linear kernel on three features, or on
    two with an intercept, without softness. Gray circles are the planes of the examples, and the
    bright part of the sphere is version space. The cross is the exact center of mass, the ring the
    center that the run found. `from_estimator` and `from_result` draw the draws of a run;
    `from_space` makes a short run for the picture.
    """
    problem = make_elongated(random_state=3)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    return BilliardDisplay.from_space(space, random_state=0)


def chart() -> Any:
    """BilliardDisplay, in a chart.

    With `view="chart"` the sphere is projected from its center onto the plane that touches it at
    the center of mass, so great circles become straight lines. The picture shows two balls, for a
    problem with two features and an intercept.
    """
    problem = make_teacher(25, 2, random_state=1)
    space = VersionSpace(problem[0] @ problem[0].T, problem[1], offset=1.0)
    return BilliardDisplay.from_space(space, n_trajectories=2, random_state=0, view="chart")


def animation() -> Any:
    """BilliardDisplay, in motion.

    `animate` returns a matplotlib animation of the moving balls and of the mean of their paths.
    Its method `save("path.gif", writer="pillow")` makes a file, `to_jshtml()` a player for
    notebooks.
    """
    display = BilliardDisplay.from_space(
        VersionSpace(np.eye(3), [1, 1, -1]), length=12.0, random_state=1, view="chart"
    )
    return display.animate(n_frames=32, interval=110, view="chart")


_fitted = functools.cache(models)


def _scene(draw: Callable[..., Any]) -> Callable[[], Any]:
    """Return a function without arguments that draws with the classifiers of the page."""

    @functools.wraps(draw)
    def scene() -> Any:
        return draw(**{name: _fitted()[name] for name in inspect.signature(draw).parameters})

    return scene


SCENES: dict[str, Callable[[], Any]] = {
    draw.__name__: _scene(draw)
    for draw in (
        rejection,
        walls,
        onion,
        draws,
        relevance,
        average,
        tuning,
        evidence,
        convergence,
        layers,
        billiard,
        chart,
        animation,
    )
}
"""The functions that draw the pictures, by name, in the order of the page."""

FILES = {
    name: f"images/displays/{name}.{'gif' if name == 'animation' else 'png'}" for name in SCENES
}
"""Paths of the pictures, relative to the folder of the documentation."""

_HEAD = """# Plots

One line draws a fitted classifier, of two classes or of several, with matplotlib. Here
`classifier` is fitted to two moons, `plain` to the same with `n_models=1`, and `three` to irises
([the lines](#the-data-of-the-pictures)).
"""

_TAIL = """## All displays

- Nothing is sampled or searched anew unless the text says so.
- `from_estimator` takes a fitted `BayesPointClassifier`, a pipeline that ends in one, or a fitted
  search such as `GridSearchCV`. Displays are also made from the result of a run (`from_result`),
  from labels and probabilities (`from_predictions`) or from a `VersionSpace` (`from_space`). Each
  display has only the constructors that make sense for it.
- Several classes are in one picture, except for the training errors of `OnionDisplay`. With
  `multiclass="one_vs_rest"` there is a panel for each class, and `from_estimator` returns `Panels`,
  whose `displays` are the displays by class. `label` chooses a single class, in the displays of a
  run: billiard, walls, onion, convergence and evidence. `RejectionDisplay`, `RelevanceDisplay` and
  `TuningDisplay` show all classes at once.
- If several models are averaged the displays of a run or a search show the first, which has the
  largest weight. `from_estimator(model.models_[1])` draws another one.
- `ax` takes the axes to draw on; for panels a sequence of them, such as `plt.subplots(1, 3)[1]`.
  `plot(ax=...)` draws again. `ax_` (for panels `axes_`) and `figure_` hold where it was drawn.
  Other attributes that end in an underscore (`line_`, `bars_`, `im_`) are the parts of the drawing.
- Lines and texts have the text color of the current matplotlib style, so
  `plt.style.use("dark_background")` gives pictures for dark pages. The colors are safe for color
  blindness, and markers, dashes and hatching for gray print.

Some plots need only scikit-learn or matplotlib:

- the probability over a plane: `sklearn.inspection.DecisionBoundaryDisplay.from_estimator(
  classifier, X, response_method="predict_proba", plot_method="pcolormesh")`;
- the calibration of the probabilities:
  `sklearn.calibration.CalibrationDisplay.from_estimator(classifier, X_test, y_test)`;
- the margins of the training examples: `ax.hist(bayespoint.bounds.normalized_margins(space,
  dual_coef), bins=20)`.

The [glossary](../glossary.md) explains bounces, trajectories and layers.

## The data of the pictures

The pictures above need these lines first:

```python
{preamble}
```
"""


def page() -> str:
    """Return the page in Markdown: headings, texts, pictures and commands."""
    fits = pictures.code_of(models, "").rsplit("\n", 1)[0]
    preamble = pictures.preamble(models, "X, y = ") + "\n" + fits
    parts = [_HEAD]
    for name, draw in SCENES.items():
        title, text = pictures.caption(draw).split("\n\n", 1)
        code = pictures.code_of(draw, "animation" if name == "animation" else "display")
        code = code.removesuffix("\ndisplay = figure")
        parts.append(
            f"## {title.rstrip('.')}\n\n```python\n{code}\n```\n\n"
            f"![{name}](../{FILES[name]})\n\n{text}\n"
        )
    return "\n".join([*parts, _TAIL.format(preamble=preamble)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pictures and their page."""
    return pictures.command(
        "guide-pictures",
        "Draw the displays of the guide.",
        SCENES,
        FILES,
        ("guide/plots.md", page),
        arguments,
    )
