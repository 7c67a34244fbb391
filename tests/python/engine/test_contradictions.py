"""Examples in conflict, and examples that are not."""

import numpy as np
import pytest

from bayespoint import BayesPointClassifier, InfeasibleError, SampleOptions, VersionSpace
from bayespoint.papers.light_trap import light_trap
from bayespoint.papers.onion import onion
from helpers import SHIFT as SEED


@pytest.mark.parametrize(("scale", "labels"), [(1.0, [1, -1]), (3.0, [1, -1]), (-1.0, [1, 1])])
def test_conflicts(scale, labels):
    """Two parallel examples with conflicting labels, and an orthogonal one."""
    x = np.array([[1.0, 0.0], [scale, 0.0], [0.0, 1.0]])
    matrix, labels = x @ x.T, [*labels, 1]
    space = VersionSpace(matrix, labels)
    for attempt in (
        space.max_margin,
        lambda: space.feasible_point(random_state=0),
        lambda: space.sample(length=1.0, random_state=0),
    ):
        with pytest.raises(InfeasibleError, match="no weight vector was found") as caught:
            attempt()
        weights = caught.value.certificate
        assert caught.value.violations == 1
        assert caught.value.margin_bound < 1e-7
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1.0)
        assert np.abs(matrix @ (weights * labels)).max() < 1e-7
    # Noise of either kind resolves the conflict.
    VersionSpace(matrix, labels, softness=0.1).sample(length=1000.0, random_state=0)
    space.sample(
        length=1000.0, options=SampleOptions(transparency=0.1, refresh="full"), random_state=0
    )


def wedge(width, distance=1.0):
    """Two planes with a wedge between them, and the direction of its bisector."""
    normals = np.array([[0.0, 1.0], [np.sin(width), -np.cos(width)]])
    return distance * normals, np.array([np.cos(width / 2), np.sin(width / 2)])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of drift
@pytest.mark.parametrize("width", [1e-6, 3e-7, 1e-7])
@pytest.mark.parametrize("start", [None, [1.0, 1.0]])
def test_narrow_wedges_are_no_conflicts(width, start):
    x, bisector = wedge(width)
    space = VersionSpace(x @ x.T, [1, 1])
    assert space.contains([1.0, 1.0])
    assert space.max_margin().margin == pytest.approx(width / 2, rel=0.05)
    try:
        result = space.sample(options=SampleOptions(start=start), random_state=SEED)
    except FloatingPointError:
        # Sometimes the light trap loses too many digits, at 1e-7 always.
        if width == 1e-6 or (width > 1e-7 and start is not None):
            raise
        return
    center = result.center @ x
    assert space.contains(result.center)
    assert abs(center[1] * bisector[0] - center[0] * bisector[1]) < 0.2 * width
    assert center @ bisector > 0


def test_what_rounding_hides_is_not_called_impossible():
    """No claim that no weight vector exists if one does."""
    x = np.zeros((3, 3))
    x[:2, :2], x[2, 2] = wedge(3e-8, 3.0)[0], 1.0
    space = VersionSpace(x @ x.T, [1, 1, 1])
    for attempt in (
        lambda: space.sample(random_state=SEED),
        lambda: space.feasible_point(random_state=SEED),
        lambda: light_trap(space, random_state=SEED),
        space.max_margin,
    ):
        with pytest.raises(
            InfeasibleError, match="or only by a margin that rounding hides"
        ) as told:
            attempt()
        assert told.value.margin_bound < 7e-8


@pytest.mark.parametrize(("pairs", "others"), [(10, 0), (50, 0), (1, 40), (50, 100)])
def test_violations_are_counted(pairs, others):
    """Any vector violates one example of each pair, and the best one tried no others."""
    rng = np.random.default_rng([pairs, others, SEED])
    x = rng.standard_normal((pairs + others, 4))
    labels = np.where(x @ rng.standard_normal(4) > 0, 1, -1)
    x = np.concatenate([x, x[:pairs]])
    labels = np.concatenate([labels, -labels[:pairs]])
    space = VersionSpace(x @ x.T, labels)
    classifier = BayesPointClassifier(
        "linear", fit_intercept=False, standardize=False, softness=0.0, calibration=None
    )
    calls = [
        lambda: classifier.fit(x, labels),
        lambda: space.evidence(random_state=SEED),
        lambda: space.sample(random_state=SEED),
        lambda: space.feasible_point(random_state=SEED),
        lambda: light_trap(space, random_state=SEED),
        space.max_margin,
    ]
    # The difference of the class means is one of the vectors tried.
    unit = labels / np.linalg.norm(x, axis=1)
    means = unit / np.where(labels > 0, (labels > 0).sum(), (labels < 0).sum())
    rounding = 1e-12 * (np.abs(x @ x.T) @ np.abs(means))
    most = int((space.margins(means) <= rounding).sum())
    for call in calls:
        with pytest.raises(InfeasibleError, match="no weight vector was found") as caught:
            call()
        assert pairs <= caught.value.violations <= (pairs if others == 0 else most)


def test_conflict_far_from_the_diagonal():
    """Duplicates are found in all blocks; softness of one of them is enough."""
    x = np.random.default_rng(0).standard_normal((600, 700))
    x[550] = 2.5 * x[7]
    labels = np.resize([1, -1], 600)
    labels[[7, 550]] = 1, -1
    matrix = x @ x.T
    with pytest.raises(InfeasibleError, match="because of examples 7 and 550 alone"):
        VersionSpace(matrix, labels).sample(random_state=0)
    softness = np.zeros(600)
    softness[550] = 0.1
    space = VersionSpace(matrix, labels, softness=softness)
    assert space.contains(space.feasible_point("max_margin"))


def test_softness_that_an_offset_hides_is_not_called_impossible():
    """Softness makes any labels feasible, but a huge offset exceeds double precision."""
    x = np.random.default_rng(SEED).standard_normal((12, 3))
    y = np.where(np.arange(12) % 3, 1, -1)
    space = VersionSpace(x @ x.T, y, softness=0.1, offset=1e16)
    for attempt in (
        lambda: space.sample(random_state=SEED),
        lambda: onion(space, (0, 0), method="projected", random_state=SEED),
        lambda: space.feasible_point(random_state=SEED),
        space.max_margin,
    ):
        with pytest.raises((ValueError, FloatingPointError)) as caught:
            attempt()
        assert "not separable with this kernel, because" not in str(caught.value)


def test_few_are_violated_by_the_best_vector_tried():
    """At most half, and about as few as the best of thousands of random directions."""
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
