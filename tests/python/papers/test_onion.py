"""The layers of the onion against brute force, and the methods of their table."""

import dataclasses
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayespoint import SampleOptions, VersionSpace
from bayespoint.papers.onion import OnionTable, onion
from helpers import SHIFT, dual_angle

CAREFUL = {"tol": 0.03, "max_length": 1e5, "n_trajectories": 8, "n_jobs": 2}
ERRORS = 5.5  # two of 20 000 layers in a trial run were off by more than 5 standard errors


def generator(index):
    return np.random.default_rng([index, SHIFT])


def taught(m, d, index, flips=0):
    """Return normal examples, labeled by a teacher with some flipped labels."""
    rng = generator(index)
    x = rng.standard_normal((m, d))
    y = np.where(x @ rng.standard_normal(d) > 0, 1, -1)
    y[rng.choice(m, flips, replace=False)] *= -1
    return x, y


def quiet(space, *args, **settings):
    """Return the onion without warnings about empty layers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return onion(space, *args, random_state=SHIFT, **settings)


# --- centers and volumes ---


def test_centers_are_unit_vectors_inside_cones():
    x, y = taught(12, 4, 5)
    space = VersionSpace(x @ x.T, y, softness=0.1, offset=1.0)
    table = quiet(space, (1, 2))
    matrix = space.gram + 1 + 0.1 * np.eye(12)
    known = table.has_center
    assert known.all()
    duals = table.centers[known]
    np.testing.assert_allclose(np.einsum("ci,ij,cj->c", duals, matrix, duals), 1, rtol=1e-8)
    np.testing.assert_allclose(table.plane_coordinates[known], duals @ matrix, atol=1e-10)
    assert space.contains(table.center(0, 0))  # convex, other layers are not
    assert ((table.center_norm[known] > 0) & (table.center_norm[known] <= 1)).all()
    assert (table.path_length[known] > 0).all()
    assert table.converged
    assert table.center_error.max() <= 0.1


def test_version_space_is_that_of_the_billiard():
    x, y = taught(30, 6, 7)
    space = VersionSpace(x @ x.T, y)
    billiard = space.sample(tol=0.01, random_state=SHIFT)
    volume = space.evidence(tol=0.05, random_state=SHIFT)
    for method in ("exact", "projected"):
        table = quiet(space, (1, 1), method=method, tol=0.01)
        off = dual_angle(space, table.center(0, 0), billiard.center)
        assert off < ERRORS * math.hypot(table.center_error[0, 0], billiard.center_error)
    table = quiet(space, (1, 1), volume_tol=0.1, max_length=1e6)
    error = math.hypot(table.log_volume_error[0, 0], volume.error)
    assert abs(table.log_volume[0, 0] - volume.value) < 5 * error


# --- combinations ---


@pytest.mark.parametrize("kappa", [0.2, 0.02])
def test_weights_of_the_soft_posterior_give_its_center(kappa):
    x, y = taught(9, 3, 11, flips=1)
    space = VersionSpace(x @ x.T, y)
    table = quiet(space, (9, 9), volume_tol=0.03, **CAREFUL)
    powers = np.add.outer(np.arange(10), np.arange(10))
    center = table.combine(kappa**powers)
    sample = space.sample(options=SampleOptions(transparency=kappa), tol=0.005, random_state=SHIFT)
    # The error of a mixture is at most that of its worst layer with a weight that matters.
    mass = kappa**powers * np.exp(table.log_volume)
    parts = np.nan_to_num(mass * table.center_norm)
    error = math.sqrt(float(np.nansum((parts * table.center_error) ** 2)))
    spread = np.nan_to_num(parts * np.minimum(table.log_volume_error, 1))
    error = math.hypot(error, math.sqrt(float((spread**2).sum())))
    error /= float(np.linalg.norm(np.nansum(parts[..., None] * (table.centers @ x), axis=(0, 1))))
    off = dual_angle(space, center, sample.center)
    assert off < 5 * math.hypot(error, sample.center_error)
    assert error < 0.1
    # Another density has another center.
    flat = table.combine(np.ones((10, 10)) * (powers < 9))
    assert dual_angle(space, flat, sample.center) > 3 * off or kappa == 0.2
    # Weights may be scaled by any factor.
    np.testing.assert_allclose(table.combine(1e-200 * kappa**powers), center, atol=1e-10)


def test_combining_asymmetric_weights_and_single_layers():
    x = generator(12).standard_normal((5, 5))
    space = VersionSpace(x @ x.T, [1, -1, -1, 1, -1])  # independent planes: every layer exists
    exact = quiet(space, (2, 1))
    projected = quiet(space, (2, 1), method="projected")
    for table in (exact, projected):
        for a, b in np.argwhere(table.has_center):
            only = np.zeros((3, 2))
            only[a, b] = 3.0
            np.testing.assert_allclose(table.combine(only), table.center(a, b), atol=1e-10)
    pair = np.zeros((3, 2))
    pair[0, 0], pair[1, 0] = 0.3, 0.7
    matrix = space.gram

    def normalized(c):
        return c / math.sqrt(c @ matrix @ c)

    first, second = exact.center(0, 0), exact.center(1, 0)
    mass = np.exp(exact.log_volume) * exact.center_norm * pair
    np.testing.assert_allclose(
        exact.combine(pair), normalized(mass[0, 0] * first + mass[1, 0] * second), atol=1e-10
    )
    first, second = projected.center(0, 0), projected.center(1, 0)
    mass = projected.path_length * projected.center_norm * pair
    np.testing.assert_allclose(
        projected.combine(pair), normalized(mass[0, 0] * first + mass[1, 0] * second), atol=1e-10
    )


def test_combine_refuses():
    x, y = taught(8, 3, 13)
    exact = quiet(VersionSpace(x @ x.T, y), (1, 99))
    ones = np.ones((2, 100))
    beyond = 0 * ones
    beyond[0, 99] = 1
    for weights, text in (
        (np.ones((2, 2)), r"weights must have shape \(2, 100\); got \(2, 2\)"),
        (-ones, "weights must be finite and at least 0"),
        (beyond, "weights must be positive for at least one"),
    ):
        with pytest.raises(ValueError, match=text):
            exact.combine(weights)
    # All of the sphere: opposite vectors cancel.
    half = quiet(VersionSpace(np.eye(2), [1, 1]), (0, 2))
    centers, coordinates = half.centers.copy(), half.plane_coordinates.copy()
    centers[0, 2], coordinates[0, 2] = -centers[0, 0], -coordinates[0, 0]
    same = {"log_volume": np.zeros((1, 3)), "center_norm": np.ones((1, 3))}
    everything = replace(half, centers=centers, plane_coordinates=coordinates, **same)
    with pytest.raises(ValueError, match="cancel"):
        everything.combine([[1.0, 0.0, 1.0]])


# --- the table ---


def test_centers_that_are_not_there():
    x, _ = taught(8, 3, 23)
    space = VersionSpace(x @ x.T, np.ones(8))
    table = quiet(space, (1, 4))
    negative_rows = table.center_norm[1]
    assert np.isnan(negative_rows).all()
    assert (table.path_length[1] == 0).all()
    assert np.isnan(table.center_error[1]).all()
    assert (table.log_volume[1] == -math.inf).all()
    with pytest.raises(ValueError, match=r"layer \(1, 0\) has no center: there are 0 examples"):
        table.center(1, 0)
    # Four of eight examples of one class: the layer contains -w with w.
    assert table.path_length[0, 4] > 0
    assert math.isfinite(table.log_volume[0, 4])
    with pytest.raises(ValueError, match="so its mean is zero"):
        table.center(0, 4)
    for n, match in [
        ((2, 0), "n_neg must be an integer of at most 1"),
        ((0, 5), "n_pos must be an integer of at most 4"),
    ]:
        with pytest.raises(ValueError, match=match):
            table.center(*n)
    with pytest.raises(ValueError, match="n_neg must be an integer of at least 0"):
        table.center(-1, 0)
    with pytest.raises(TypeError, match="n_pos must be an integer"):
        table.center(0, 0.0)
    # Every example twice: none alone can be violated.
    twice = quiet(VersionSpace(np.tile(x @ x.T, (2, 2)), np.ones(16)), (0, 1))
    with pytest.raises(ValueError, match=r"was not visited in .* radians per trajectory"):
        twice.center(0, 1)


# --- the run ---


def test_the_same_bits_for_every_number_of_threads():
    x, y = taught(15, 4, 30)
    space = VersionSpace(x @ x.T, y)
    for method in ("exact", "projected"):
        runs = [quiet(space, (2, 2), method=method, n_jobs=n_jobs) for n_jobs in (None, 2, 4)]
        for run in runs[1:]:
            for field in dataclasses.fields(OnionTable):
                first, other = getattr(runs[0], field.name), getattr(run, field.name)
                np.testing.assert_array_equal(first, other)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = onion(space, (2, 2), method=method, random_state=SHIFT + 1)
        assert not np.array_equal(other.centers, runs[0].centers, equal_nan=True)


def test_tolerances_and_warnings():
    x, y = taught(20, 5, 31)
    space = VersionSpace(x @ x.T, y)
    loose = quiet(space, (1, 1), tol=0.1)
    tight = quiet(space, (1, 1), tol=0.01)
    assert loose.converged
    assert tight.converged
    assert np.nanmax(tight.center_error) <= 0.01
    assert tight.length > loose.length
    with pytest.warns(ConvergenceWarning, match=r"layers have an estimated center_error above"):
        table = onion(space, (1, 1), tol=1e-5, max_length=500, random_state=SHIFT)
    assert not table.converged
    with pytest.warns(ConvergenceWarning, match=r"ln volumes have standard errors up to"):
        table = onion(space, (1, 1), tol=3.0, volume_tol=1e-4, max_length=500, random_state=SHIFT)
    assert not table.converged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = onion(space, (1, 1), volume_tol=0.2, max_length=1e6, random_state=SHIFT)
    assert table.log_volume_error.max() <= 0.2
    # The path limit is reached, and exceeded by at most the first round.
    long = quiet(space, (1, 1), tol=1e-9, max_length=5e3)
    assert 4e3 < long.length <= 5e3


# --- the choice of a layer ---


def test_errors_on_a_test_set():
    """Table 18.1: the numbers of errors, and their split."""
    x, y = taught(10, 3, 20)
    test, truth = taught(200, 3, 20)[0], generator(21).choice(["no", "yes"], 200)
    space = VersionSpace(x @ x.T, np.where(y > 0, "yes", "no"), offset=1.0, softness=0.05)
    table = quiet(space, (2, 99))
    split = table.test_errors(test @ x.T, truth, by_class=True)
    np.testing.assert_array_equal(split.sum(axis=-1), table.test_errors(test @ x.T, truth))
    np.testing.assert_array_equal(np.isnan(split[..., 0]), ~table.has_center)
    for a, b in np.argwhere(table.has_center):
        c = table.center(a, b)
        decided = (test @ x.T) @ c + c.sum() > 0
        assert split[a, b, 0] == (decided & (truth == "no")).sum()
        assert split[a, b, 1] == (~decided & (truth == "yes")).sum()
    for kernel, labels, message in [
        (test @ x.T, truth[1:], r"y_test must have shape \(200,\)"),
        (test, truth, r"K_test must have shape \(n_test, 10\)"),
        (test @ x.T, np.where(truth == "no", "maybe", truth), "y_test must hold .*'maybe'"),
    ]:
        with pytest.raises(ValueError, match=message):
            table.test_errors(kernel, labels)


def test_too_many_layers_for_the_memory():
    space = VersionSpace(np.eye(4), [1, -1, 1, -1])
    with pytest.raises(MemoryError, match="Unable to allocate"):
        onion(space, 1_000_000)
    with pytest.raises(ValueError, match=r"max_errors must be .*at most 1000000; got 1000001"):
        onion(space, 1_000_001)
