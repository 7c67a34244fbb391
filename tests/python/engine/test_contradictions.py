"""Examples that contradict one another, and such as only seem to."""

import os

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, InfeasibleError, VersionSpace
from bayespoint.papers.light_trap import light_trap

SEED = int(os.environ.get("BAYESPOINT_SEED", "0"))


@pytest.mark.parametrize(
    ("matrix", "labels", "resolved"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], [1, -1], True),
        ([[1.0, 3.0], [3.0, 9.0]], [1, -1], True),
        ([[1.0, -1.0], [-1.0, 1.0]], [1, 1], False),
    ],
)
def test_conflicts(matrix, labels, resolved):
    space = VersionSpace(matrix, labels)
    for attempt in (
        space.max_margin,
        lambda: space.feasible_point(random_state=0),
        lambda: space.sample(length=1.0, random_state=0),
    ):
        with pytest.raises(InfeasibleError, match="because of examples 0 and 1 alone") as caught:
            attempt()
        weights = caught.value.certificate
        assert caught.value.violations == 1
        assert 0 <= caught.value.margin_bound < 2e-8
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0)
        assert np.abs(np.array(matrix) @ (weights * labels)).max() < 1e-15
    # Noise of either kind resolves the conflict.
    VersionSpace(matrix, labels, softness=0.1).sample(length=50.0, random_state=0)
    if resolved:
        space.sample(length=50.0, transparency=0.1, refresh="full", random_state=0)


def wedge(width, distance=1.0):
    """Two planes with a wedge between them, and the direction of its bisector."""
    normals = np.array([[0.0, 1.0], [np.sin(width), -np.cos(width)]])
    return distance * normals, np.array([np.cos(width / 2), np.sin(width / 2)])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of drift
@pytest.mark.parametrize("width", [1e-6, 3e-7, 1e-7])
@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("start", [None, [1.0, 1.0]])
def test_narrow_wedges_are_no_conflicts(width, rows, start):
    x, bisector = wedge(width)
    space = VersionSpace.from_features(x, [1, 1]) if rows else VersionSpace(x @ x.T, [1, 1])
    assert space.contains([1.0, 1.0])
    assert space.max_margin().margin == pytest.approx(width / 2, rel=0.05)
    try:
        result = space.sample(start=start, random_state=SEED)
    except FloatingPointError:
        # Now and then the light trap's ball has too few digits left, and at 1e-7 any.
        if width == 1e-6 or (width > 1e-7 and start is not None):
            raise
        return
    center = result.center @ x
    assert space.contains(result.center)
    assert abs(center[1] * bisector[0] - center[0] * bisector[1]) < 0.2 * width
    assert center @ bisector > 0


@pytest.mark.parametrize("width", [5e-8, 3e-8, 2e-8, 1e-9])
@pytest.mark.parametrize("rows", [False, True])
def test_what_rounding_hides_is_not_called_impossible(width, rows):
    """A bound of the margin that is one, and no claim that no weight vector exists if one does."""
    x, _ = wedge(width, 3.0)
    space = VersionSpace.from_features(x, [1, 1]) if rows else VersionSpace(x @ x.T, [1, 1])
    for attempt in (
        lambda: space.sample(random_state=SEED),
        lambda: space.feasible_point(random_state=SEED),
        space.max_margin,
    ):
        with pytest.raises(InfeasibleError, match="examples 0 and 1") as caught:
            attempt()
        error = caught.value
        assert "only by a margin that rounding hides" in str(error)
        assert error.margin_bound < 7e-8
        if rows:  # a rounded matrix is of other vectors
            combination = (error.certificate * space.y) @ x
            # The bound is computed from rounded kernel values: a square, whose root is 1e-8 off.
            assert np.linalg.norm(combination) / 3.0 <= error.margin_bound + 3e-8


def test_many_features_do_not_hide_a_conflict():
    """Rounding of long sums makes 1 - cos^2 larger, and no point is found all the same."""
    rng = np.random.default_rng([5, SEED])
    x = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5))
    x[30] = 2.0 * x[4]
    labels = np.where(x[:, 0] > 0, 1, -1)
    labels[30] = -labels[4]
    matrix = x @ x.T
    matrix[4, 30] = matrix[30, 4] = matrix[4, 30] * (1 - 20 * np.finfo(float).eps)
    space = VersionSpace(matrix, labels)
    for attempt in (space.sample, space.feasible_point, space.max_margin, space.log_volume):
        with pytest.raises(InfeasibleError, match="rounding hides") as caught:
            attempt()
        assert caught.value.margin_bound < 1e-7


@pytest.mark.parametrize(("pairs", "others"), [(1, 0), (10, 0), (50, 0), (1, 40), (50, 100)])
def test_violations_are_counted(pairs, others):
    """Any vector violates one of each pair; some vector that was tried violates no more."""
    rng = np.random.default_rng([pairs, others, SEED])
    x = rng.standard_normal((pairs + others, 4))
    labels = np.where(x @ rng.standard_normal(4) > 0, 1, -1)
    x = np.concatenate([x, x[:pairs]])
    labels = np.concatenate([labels, -labels[:pairs]])
    space = VersionSpace(x @ x.T, labels)
    rows = VersionSpace.from_features(x, labels)
    classifier = BayesPointClassifier(
        "linear", fit_intercept=False, softness=0.0, optimizer=None, calibration=None
    )
    calls = [lambda: classifier.fit(x, labels), lambda: space.log_volume(random_state=SEED)]
    for each in (space, rows):
        calls += [
            lambda each=each: each.sample(random_state=SEED),
            lambda each=each: each.feasible_point(random_state=SEED),
            lambda each=each: light_trap(each, random_state=SEED),
            each.max_margin,
        ]
    # The difference of the class means is one of those tried.
    unit = labels / np.linalg.norm(x, axis=1)
    means = unit / np.where(labels > 0, (labels > 0).sum(), (labels < 0).sum())
    rounding = 1e-12 * (np.abs(x @ x.T) @ np.abs(means))
    most = int((space.margins(means) <= rounding).sum())
    for call in calls:
        with pytest.raises(InfeasibleError, match="no weight vector") as caught:
            call()
        assert pairs <= caught.value.violations <= (pairs if others == 0 else most)


def test_duplicates_that_agree():
    matrix = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])
    VersionSpace(matrix, [1, 1, -1]).sample(length=50.0, random_state=0)
    VersionSpace([[1.0, -1.0], [-1.0, 1.0]], [1, -1]).max_margin()


def test_conflict_far_from_the_diagonal():
    """Blocks are searched too; softness of either example is enough."""
    x = np.random.default_rng(0).standard_normal((1200, 1300))
    x[1100] = 2.5 * x[7]
    labels = np.resize([1, -1], 1200)
    labels[[7, 1100]] = 1, -1
    matrix = x @ x.T
    softness = np.zeros(1200)
    softness[1100] = 0.1
    for noise in ({"softness": softness}, {"offset": 1.0}):
        space = VersionSpace(matrix, labels, **noise)
        assert space.contains(space.feasible_point("max_margin"))
    with pytest.raises(InfeasibleError, match="because of examples 7 and 1100 alone"):
        VersionSpace(matrix, labels).feasible_point(random_state=SEED)


def test_softness_that_an_offset_hides_is_not_called_impossible():
    """Softness separates any labels; beside so large an offset not in double precision."""
    x = np.random.default_rng(SEED).standard_normal((12, 3))
    y = np.where(np.arange(12) % 3, 1, -1)
    space = VersionSpace(x @ x.T, y, softness=0.1, offset=1e16)
    for attempt in (
        lambda: space.sample(random_state=SEED),
        lambda: space.onion((0, 0), method="projected", random_state=SEED),
        lambda: space.feasible_point(random_state=SEED),
        space.max_margin,
    ):
        with pytest.raises((InfeasibleError, FloatingPointError)) as caught:
            attempt()
        if caught.type is InfeasibleError:
            assert "a margin that rounding hides" in str(caught.value)
            # Along the certificate the offset cancels, and what is left is the softness at least.
            assert 1e-9 < caught.value.margin_bound < 3e-8
    assert caught.type is InfeasibleError


def test_few_are_violated_by_the_best_vector_tried():
    """Never more than half, and about as few as the best of thousands in all directions."""
    shares = []
    for index in range(30):
        rng = np.random.default_rng([SEED, index])
        m = int(rng.integers(20, 60))
        x, y = rng.standard_normal((m, 3)), np.where(rng.random(m) < 0.5, 1, -1)
        with pytest.raises(InfeasibleError) as caught:
            VersionSpace(x @ x.T, y).feasible_point("max_margin")
        violations = (rng.standard_normal((5000, 3)) @ x.T * y <= 0).sum(axis=1)
        fewest = np.minimum(violations, m - violations).min()
        assert caught.value.violations <= m / 2
        shares.append(caught.value.violations / fewest)
    assert 0.9 < np.mean(shares) < 1.2
