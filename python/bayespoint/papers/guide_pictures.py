"""The pictures of docs/guide/plots.md: ``python -m bayespoint.papers guide-pictures``.

The page shows the code of each function as the commands for its picture, and its docstring as the
text.
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
    """BilliardDisplay: version space on the sphere, with the path of the ball.

    It is for version spaces in three dimensions: a Gram matrix of rank 3, from three features with
    a linear kernel and no softness, or two features with an intercept. Gray circles are the planes
    of the examples, and the bright part of the sphere is version space. The cross is the exact
    center of mass, the ring the center that the run found. `from_result` draws the draws of a run,
    and joins those that are near each other. `from_space` makes a short run for the picture.
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


def walls() -> Any:
    """WallsDisplay: how much each example contributes to the center.

    The center of mass is the sum of the impulses of the walls on the ball. The bars are the
    examples' shares of this sum, largest first, with the numbers of the examples below. The strokes
    are their shares of the bounces.
    """
    vectors, labels = make_teacher(100, 10, random_state=0)
    result = VersionSpace(vectors @ vectors.T, labels).sample(tol=0.02, random_state=0)
    return WallsDisplay.from_result(result)


def evidence() -> Any:
    """EvidenceDisplay: the ladder of transparencies.

    In thermodynamic integration the log evidence is minus the area below this curve: the mean
    number of violated examples against the logarithm of the transparency, from fully transparent
    walls (right) to opaque ones (left). The markers are the rungs of the ladder; they should be
    dense where the curve is steep. `from_estimator` computes the ladder of a fitted classifier.
    """
    vectors, labels = make_teacher(100, 10, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    return EvidenceDisplay.from_result(space.log_volume(method="integration", random_state=0))


def tuning() -> Any:
    """TuningDisplay: the evidence around the best setting.

    The approximate evidence over two hyperparameters, in nats below the best setting, with the
    settings that the search tried. All other parameters have their best values. Settings within one
    or two nats of the best are about as good. `from_result(classifier.tuning_)` draws only the
    settings tried and computes nothing.
    """
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    return TuningDisplay.from_estimator(classifier)


def onion() -> Any:
    """OnionDisplay: layers of training errors.

    There is one cell for each number of violated examples of either class; version space is at the
    top left. The colors show the logarithm of each layer's share of the sphere, or with `values`
    another field of the table or an array such as `test_errors`.
    """
    vectors, labels = make_teacher(40, 5, random_state=0)
    space = VersionSpace(vectors @ vectors.T, labels)
    table = space.onion(max_errors=(4, 6), tol=0.1, random_state=0)
    return OnionDisplay.from_result(table)


def rejection() -> Any:
    """RejectionDisplay: errors among the points accepted.

    If the classifier abstains on the points that it is least sure of, what is the error rate on the
    others? At 100 % all points are accepted, as in `score`. A good curve falls steeply to the left.
    """
    classifier = BayesPointClassifier(random_state=0).fit(X, y)
    return RejectionDisplay.from_estimator(classifier, X_test, y_test)


def convergence() -> Any:
    """ConvergenceDisplay: the error of the center.

    The angle between the center and a reference, and the error that the run itself estimates,
    against the length of the path. Both should fall as one over the square root of the length.
    `from_space` makes runs of several lengths, and a longer one for the reference. `from_result`
    uses the mean of the draws of one run.
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
"""The functions that draw the pictures, by name, in the order of the page."""

FILES = {
    name: f"images/displays/{name}.{'gif' if name == 'animation' else 'png'}" for name in SCENES
}
"""Paths of the pictures, relative to the folder of the documentation."""

_HEAD = """# Plots

The displays of `bayespoint.plotting` work like those of scikit-learn. They need matplotlib:
`pip install '.[plot]'`.

- A display is made from a fitted classifier (`from_estimator`; also a pipeline that ends in one, or
  a fitted search such as `GridSearchCV`), from the result of a run (`from_result`), from labels and
  probabilities (`from_predictions`) or from a `VersionSpace` (`from_space`). Each display has only
  the constructors that make sense for it.
- `plot(ax=...)` draws again, into the given axes or a new figure. `ax_` and `figure_` hold where it
  was drawn. Other attributes that end in an underscore (`line_`, `bars_`, `im_`) are the parts of
  the drawing.
- With more than two classes `label` chooses one of the binary problems (that class against the
  rest), in the displays of a run: billiard, walls, convergence, and
  `EvidenceDisplay.from_estimator`. `RejectionDisplay` and `TuningDisplay` show all classes at once.
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

The [glossary](../architecture.md#words) explains walls, bounces, transparency, rungs and layers.

`make displays` makes the pictures below and writes this page. Each picture is made by the lines
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
            f"## {title.rstrip('.')}\n\n{text}\n\n![{name}](../{FILES[name]})\n\n"
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
