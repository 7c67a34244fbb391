"""The pictures of docs/guide/plots.md: what each shows, and how it is drawn.

The page shows every function's own lines as the commands for its picture, and its docstring as
the text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier, VersionSpace
from bayespoint.datasets import make_elongated, make_teacher
from bayespoint.papers import pictures
from bayespoint.plotting import (
    BilliardDisplay,
    ConvergenceDisplay,
    DecisionDisplay,
    EvidenceDisplay,
    MarginDisplay,
    OnionDisplay,
    RejectionDisplay,
    ReliabilityDisplay,
    TuningDisplay,
    WallsDisplay,
)

__all__ = ["FILES", "SCENES", "page"]

X, y = make_moons(120, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)


def decision() -> Any:
    """DecisionDisplay: the probability over a plane.

    For classifiers of two features. Shades are the probability of the second class, the solid line
    is where the Bayes point decides, the dashed ones are at 10 % and 90 %. A ring around an example
    says how often the ball hit its wall. `plot_decision_function` draws the same in one call and
    returns the axes.
    """
    classifier = BayesPointClassifier("rbf", softness=0.1, optimizer=None, random_state=0)
    return DecisionDisplay.from_estimator(classifier.fit(X, y), X, y)


def billiard() -> Any:
    """BilliardDisplay: version space on the sphere, with the ball's path.

    For version spaces in three dimensions: a Gram matrix of rank 3, as three features with a linear
    kernel and no softness give it, or two with an intercept. Gray circles are the planes of the
    examples, the bright part of the sphere is version space. The cross is its exact center of mass,
    by the lengths of its edges; the ring is the center that the run found. `from_result` draws the
    draws of a run you have (joined, where they are near enough to each other), `from_space` plays a
    short one for the picture.
    """
    problem = make_elongated(random_state=3)
    space = VersionSpace(problem.data @ problem.data.T, problem.target)
    return BilliardDisplay.from_space(space, random_state=0)


def chart() -> Any:
    """BilliardDisplay, in a chart.

    With `view="chart"` the sphere is projected from its center onto the plane that touches it at
    the center of mass: great circles become straight lines. Here two balls of a problem of two
    features with an intercept.
    """
    problem = make_teacher(25, 2, random_state=1)
    space = VersionSpace(problem[0] @ problem[0].T, problem[1], offset=1.0)
    return BilliardDisplay.from_space(space, n_trajectories=2, random_state=0, view="chart")


def animation() -> Any:
    """BilliardDisplay, in motion.

    `animate` lets the balls fly, and shows the mean of where they have been. It returns an
    animation of matplotlib: `save("path.gif", writer="pillow")` makes a file, `to_jshtml()` a
    player for notebooks.
    """
    display = BilliardDisplay.from_space(
        VersionSpace(np.eye(3), [1, 1, -1]), length=12.0, random_state=1, view="chart"
    )
    return display.animate(n_frames=32, interval=110, view="chart")


def walls() -> Any:
    """WallsDisplay: what each example gave to the center.

    The impulses that the walls gave the ball add up to the center of mass. The bars are the shares
    of the examples in them, largest first, with the numbers of the examples below; the strokes are
    their shares of the bounces.
    """
    vectors, labels = make_teacher(100, 10, random_state=0)
    result = VersionSpace(vectors @ vectors.T, labels).sample(tol=0.02, random_state=0)
    return WallsDisplay.from_result(result)


def evidence() -> Any:
    """EvidenceDisplay: the ladder of transparencies.

    By thermodynamic integration the logarithm of the evidence is minus the area below the mean
    number of violated examples, from where walls are all transparent (right) to where they are not
    (left). Rungs should be dense where the curve is steep. `from_estimator` computes the ladder of
    a fitted classifier.
    """
    vectors, labels = make_teacher(100, 10, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    return EvidenceDisplay.from_result(space.log_volume(method="integration", random_state=0))


def tuning() -> Any:
    """TuningDisplay: the surface that the search climbed.

    The approximate evidence over two hyper-parameters, in nats below the best one, with the
    settings that the search tried. Settings within a nat or two of the best are as good as it. All
    settings that are not on the axes are at their best values. `from_result(classifier.tuning_)`
    draws the settings tried alone, without computing anything.
    """
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    return TuningDisplay.from_estimator(classifier)


def onion() -> Any:
    """OnionDisplay: layer by layer.

    A cell for each number of violated examples of either class; version space itself is at the top
    left. By default the logarithm of each layer's share of the sphere; `values` takes other fields
    of the table, or an array such as its `test_errors`.
    """
    vectors, labels = make_teacher(40, 5, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    table = space.onion(max_errors=(4, 6), tol=0.1, random_state=0)
    return OnionDisplay.from_result(table)


def margins() -> Any:
    """MarginDisplay: how far from the walls.

    The normalized margins of the training examples: sines of the angles between the weight vector
    and their planes. The dashed line is at the smallest, the radius of the largest ball around the
    vector in version space. A second display drawn into the same axes is hatched.
    """
    vectors, labels = make_teacher(100, 10, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    display = MarginDisplay.from_result(space.sample(tol=0.02, random_state=0), space)
    largest = space.max_margin().dual_coef
    return MarginDisplay.from_dual_coef(space, largest, name="maximal margin", ax=display.ax_)


def rejection() -> Any:
    """RejectionDisplay: errors among the points accepted.

    If the classifier may leave those points undecided that it is least sure of, how many of the
    others does it get wrong? At 100 % all points are accepted: the error of `score`. A good curve
    falls steeply to the left.
    """
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    return RejectionDisplay.from_estimator(classifier, X_test, y_test)


def reliability() -> Any:
    """ReliabilityDisplay: whether events come as often as said.

    Points of about equal probability, in bins: the share of them that is of the second class,
    with an interval that holds the true share nine times out of ten. On the diagonal the
    probabilities are right. Above are the numbers of points in the bins.
    """
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    return ReliabilityDisplay.from_estimator(classifier, X_test, y_test)


def convergence() -> Any:
    """ConvergenceDisplay: the error against the path.

    The angle between the center and a reference, and the error that the run itself estimates,
    against the length of the path: both should fall like one over its root. `from_space` makes runs
    of several lengths, and a longer one for the reference; `from_result` follows the mean of the
    draws of a run you have.
    """
    vectors, labels = make_teacher(100, 10, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    return ConvergenceDisplay.from_space(space, np.geomspace(3, 3000, 13), random_state=0)


SCENES: dict[str, Callable[[], Any]] = {
    draw.__name__: draw
    for draw in (
        decision,
        billiard,
        chart,
        animation,
        walls,
        evidence,
        tuning,
        onion,
        margins,
        rejection,
        reliability,
        convergence,
    )
}
"""What draws each picture, by name, in the order of the page: displays, and an animation."""

FILES = {
    name: f"images/displays/{name}.{'gif' if name == 'animation' else 'png'}" for name in SCENES
}
"""Where the pictures are, relative to the folder of the documentation."""

_HEAD = """# Pictures

The displays of `bayespoint.plotting` are classes after scikit-learn's manner, and need the optional
extra `plot` (matplotlib): `pip install 'bayespoint[plot]'`.

- `from_estimator` takes a fitted classifier (or a pipeline that ends in one, or a fitted search
  such as `GridSearchCV`, whose `best_estimator_` is drawn), `from_result` what a run returned,
  `from_predictions` labels and probabilities, `from_space` a `VersionSpace`. They compute what is
  drawn, keep it in attributes, and draw it. A display has those of them that can tell what it
  draws: the table of layers is one of a `VersionSpace`, and comes by `from_result` alone.
- `plot(ax=...)` draws again, into axes of yours or a new figure. `ax_` and `figure_` are where it
  was drawn, and names that end in an underscore what was drawn: `line_`, `bars_`, `im_`.
- With more than two classes `label` says whose binary problem is meant, in the displays of a run:
  billiard, walls, margins, convergence, and `EvidenceDisplay.from_estimator`. `DecisionDisplay` and
  `ReliabilityDisplay` are for classifiers of two classes;
  `ReliabilityDisplay.from_predictions(y == label, proba[:, k])` draws one class of several.
  `RejectionDisplay` and `TuningDisplay` are of all classes at once.
- Lines and texts take the color of text of the matplotlib style in use: after
  `plt.style.use("dark_background")` the pictures are for dark pages. Colors are told apart with
  every common form of color blindness; markers, strokes and hatching tell apart what is printed in
  gray.

`make displays` draws the pictures below, and writes this page. Each comes from the lines below it,
with

```python
{imports}
```
"""


def page() -> str:
    """Return the page in Markdown: headings, texts, pictures and commands."""
    source = inspect.getsource(inspect.getmodule(decision))  # type: ignore[arg-type]
    imports = source[source.index("import numpy") : source.index("__all__")].strip()
    imports = imports.replace("from bayespoint.papers import pictures\n", "")
    data = source[source.index("X, y = ") : source.index("def decision")].strip()
    parts = [_HEAD.format(imports=f"{imports}\n\n{data}")]
    for name, draw in SCENES.items():
        title, text = pictures.caption(draw).split("\n\n", 1)
        code = pictures.code_of(draw, "animation" if name == "animation" else "display")
        parts.append(
            f"## {title.rstrip('.')}\n\n{text}\n\n![{title}](../{FILES[name]})\n\n"
            f"```python\n{code}\n```\n"
        )
    return "\n".join(parts)
