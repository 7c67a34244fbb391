"""The pictures of docs/guide/plots.md: ``python -m bayespoint.papers guide-pictures``.

The page shows every function's own lines as the commands for its picture, and its docstring as
the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from bayespoint import BayesPointClassifier, VersionSpace
from bayespoint.datasets import make_elongated, make_teacher
from bayespoint.papers import pictures
from bayespoint.plotting import (
    BilliardDisplay,
    ConvergenceDisplay,
    EvidenceDisplay,
    OnionDisplay,
    RejectionDisplay,
    TuningDisplay,
    WallsDisplay,
)

__all__ = ["FILES", "SCENES", "main", "page"]

X, y = make_moons(120, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)


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


def rejection() -> Any:
    """RejectionDisplay: errors among the points accepted.

    If the classifier may leave those points undecided that it is least sure of, how many of the
    others does it get wrong? At 100 % all points are accepted: the error of `score`. A good curve
    falls steeply to the left.
    """
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    return RejectionDisplay.from_estimator(classifier, X_test, y_test)


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
        billiard,
        chart,
        animation,
        walls,
        evidence,
        tuning,
        onion,
        rejection,
        convergence,
    )
}
"""What draws each picture, by name, in the order of the page: displays, and an animation."""

FILES = {
    name: f"images/displays/{name}.{'gif' if name == 'animation' else 'png'}" for name in SCENES
}
"""Where the pictures are, relative to the folder of the documentation."""

_HEAD = """# Pictures

The displays of `bayespoint.plotting` are classes in the manner of scikit-learn's, and need the
optional extra `plot` (matplotlib): `pip install '.[plot]'`.

- `from_estimator` takes a fitted classifier (or a pipeline that ends in one, or a fitted search
  such as `GridSearchCV`, whose `best_estimator_` is drawn), `from_result` what a run returned,
  `from_predictions` labels and probabilities, `from_space` a `VersionSpace`. They compute what is
  drawn, keep it in attributes, and draw it. A display has only those that fit what it draws: a
  table of layers belongs to a `VersionSpace`, so `OnionDisplay` has `from_result` alone.
- `plot(ax=...)` draws again, into axes of yours or a new figure. `ax_` and `figure_` are where it
  was drawn. Other names that end in an underscore are the parts drawn: `line_`, `bars_`, `im_`.
- With more than two classes `label` chooses one of the binary problems (that class against the
  rest), in the displays of a run: billiard, walls, convergence, and
  `EvidenceDisplay.from_estimator`. `RejectionDisplay` and `TuningDisplay` show all classes at once.
- Lines and texts take the color of text of the matplotlib style in use: after
  `plt.style.use("dark_background")` the pictures suit dark pages. The colors can be told apart with
  every common form of color blindness; markers, dashes and hatching do the same in gray print.

For what scikit-learn and matplotlib already draw, use them. `BayesPointClassifier` fits both
displays of scikit-learn:

- the probability over a plane: `sklearn.inspection.DecisionBoundaryDisplay.from_estimator(
  classifier, X, response_method="predict_proba", plot_method="pcolormesh")`;
- whether events come as often as predicted:
  `sklearn.calibration.CalibrationDisplay.from_estimator(classifier, X_test, y_test)`;
- the margins of the training examples: `ax.hist(bayespoint.bounds.normalized_margins(space,
  dual_coef), bins=20)`.

`make displays` draws the pictures below and writes this page. Each picture comes from the lines
below it, after these:

```python
{preamble}
```
"""


def page() -> str:
    """Return the page in Markdown: headings, texts, pictures and commands."""
    parts = [_HEAD.format(preamble=pictures.preamble(billiard, "X, y = "))]
    for name, draw in SCENES.items():
        title, text = pictures.caption(draw).split("\n\n", 1)
        code = pictures.code_of(draw, "animation" if name == "animation" else "display")
        parts.append(
            f"## {title.rstrip('.')}\n\n{text}\n\n![{title}](../{FILES[name]})\n\n"
            f"```python\n{code}\n```\n"
        )
    return "\n".join(parts)


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
