"""The mirrored version space against uniform draws on the sphere, and inscribed balls."""

import math

import numpy as np
import pytest

from bayespoint import VersionSpace, kernels
from bayespoint.papers import bounds
from helpers import SLOW, seed, teacher_space


@pytest.mark.parametrize(("softness", "offset"), [(0.0, 0.0), (0.3, 0.0), (0.2, 1.0)])
def test_mirrored_planes(softness, offset):
    """By explicit feature vectors: a vector is inside if it and its image are in V."""
    m, r = 12, 4
    x, space = teacher_space(m, r, 5, softness=softness, offset=offset)
    phi = np.hstack([x, np.full((m, 1), math.sqrt(offset)), math.sqrt(softness) * np.eye(m)])
    c = 3.7 * space.feasible_point(random_state=seed(1))
    w = phi.T @ c
    w /= np.linalg.norm(w)
    mirrored = 2 * np.outer(phi @ w, w) - phi
    planes = np.concatenate([phi, mirrored])
    region = bounds.mirrored_space(space, c)
    np.testing.assert_allclose(region.gram, planes @ planes.T, atol=1e-12)
    np.testing.assert_array_equal(region.y, np.tile(space.y, 2))
    # Near w, where some vectors are inside and some are not.
    rng = np.random.default_rng(seed(4))
    draws = space.sample(length=300.0, n_draws=200, random_state=seed(4)).draws.reshape(-1, m)
    near = draws + 10 ** rng.uniform(-1, 2, (len(draws), 1)) * c / np.linalg.norm(phi.T @ c)
    vectors = near @ phi
    images = 2 * np.outer(vectors @ w, w) - vectors
    inside = ((vectors @ phi.T) * space.y > 0).all(axis=1) & ((images @ phi.T) * space.y > 0).all(
        axis=1
    )
    assert 0 < inside.mean() < 1
    signed = np.concatenate([space.y, space.y]) * (vectors @ planes.T)
    np.testing.assert_array_equal(inside, (signed > 0).all(axis=1))


def test_volume_of_the_mirrored_space_is_the_share_of_draws_whose_image_is_inside():
    for index, (m, r, softness) in enumerate(((30, 4, 0.0), (60, 6, 0.0), (15, 3, 0.5))):
        _, space = teacher_space(m, r, 20 + index, softness=softness)
        result = space.sample(length=600.0, n_draws=500, random_state=seed(index))
        c = result.center
        gram = space.gram + np.diag(space.softness)
        f = gram @ c
        draws = result.draws
        images = 2 * (draws @ f)[..., None] * c - draws
        inside = (space.margins(images) > 0).all(axis=-1)
        share = inside.mean()
        # Trajectories are independent of one another: their spread estimates the error.
        error = inside.mean(axis=1).std(ddof=1) / math.sqrt(len(inside))
        whole = space.evidence(tol=0.05, random_state=seed(index))
        part = bounds.mirrored_space(space, c).evidence(tol=0.05, random_state=seed(index + 9))
        spread = math.hypot(whole.error, part.error, error / share)
        assert 0.02 < share < 1
        # Four trajectories determine their spread to a factor of about two.
        assert abs(part.value - whole.value - math.log(share)) < 6 * spread < 1.0


def test_a_symmetric_version_space_is_its_own_mirror_image():
    """In the plane: about the middle of an arc of known length."""
    angle = 0.7
    normals = np.array([[math.sin(angle), -math.cos(angle)], [0.0, 1.0]])
    space = VersionSpace(normals @ normals.T, [1, 1])
    middle = np.linalg.solve(normals.T, [math.cos(angle / 2), math.sin(angle / 2)])
    found = bounds.point_mirror(space, middle, 0.1, tol=0.05, random_state=seed(6))
    exact = math.log(angle / (2 * math.pi))
    known = found.quantities
    assert known["m"] == 2
    assert known["delta"] == 0.1
    assert abs(known["log_volume"] - exact) < 4.5 * known["log_volume_error"] < 0.25
    assert found.value == bounds.volume_bayes(2, known["log_volume"], 0.1)
    assert found.standard_error == pytest.approx(known["log_volume_error"])  # 2 / m = 1
    assert found.vacuous
    assert not found.refused
    assert "point_mirror of weight vector" in repr(found)
    assert "vacuous" in repr(found)


def test_bad_points_are_refused():
    _, space = teacher_space(20, 3, 30)
    inside = space.feasible_point(random_state=0)
    for call in (bounds.mirrored_space, bounds.point_mirror):
        with pytest.raises(ValueError, match="in version space; got one that violates 20 of 20"):
            call(space, -inside)
        with pytest.raises(ValueError, match="dual_coef must not be all zero"):
            call(space, np.zeros(20))
        with pytest.raises(ValueError, match=r"dual_coef must have shape \(20,\)"):
            call(space, inside[:3])
    with pytest.raises(ValueError, match="delta must be"):
        bounds.point_mirror(space, inside, 0.0)
    with pytest.raises(ValueError, match="tol must be"):
        bounds.point_mirror(space, inside, tol=0.0)
    with pytest.raises(ValueError, match="other than zero"):
        bounds.normalized_margins(space, np.zeros(20))


def test_normalized_margins():
    x, space = teacher_space(25, 3, 31, offset=1.0)
    c = np.random.default_rng(seed(7)).standard_normal(25)
    phi = np.hstack([x, np.ones((25, 1))])
    w = phi.T @ c
    exact = space.y * (phi @ w) / np.linalg.norm(w) / np.linalg.norm(phi, axis=1)
    for scale in (1.0, 1e-140, 1e140):
        np.testing.assert_allclose(bounds.normalized_margins(space, scale * c), exact, atol=1e-12)


@pytest.mark.slow
def test_a_ball_is_a_part_of_what_is_symmetric_and_that_of_version_space():
    """The symmetric part is larger about the Bayes point than about the maximal margin."""
    gains = []
    for k in range(100 if SLOW else 20):
        _, space = teacher_space(40, 5, 200 + k)
        center = space.sample(tol=0.05, random_state=seed(k)).center
        widest = space.max_margin(tol=1e-3).dual_coef
        whole = space.evidence(random_state=seed(k))
        values = []
        for c in (center, widest):
            found = bounds.point_mirror(space, c, tol=0.1, random_state=seed(k)).quantities
            margin = bounds.normalized_margins(space, c).min()
            ball = bounds.cap_log_fraction(5, math.asin(margin))
            assert ball <= found["log_volume"] + 5 * found["log_volume_error"]
            spread = math.hypot(whole.error, found["log_volume_error"])
            assert found["log_volume"] <= whole.value + 5 * spread
            values.append(found["log_volume"])
        gains.append(values[0] - values[1])
    gains = np.array(gains)
    assert gains.mean() > 3 * gains.std(ddof=1) / math.sqrt(len(gains))
    assert (gains > 0).mean() > 0.8


def test_rank_decides_the_dimension_of_a_ball():
    x, space = teacher_space(60, 4, 40)
    c = space.max_margin(tol=1e-2).dual_coef
    found = bounds.table(space.gram, space.y, c, rule="max_margin", tol=1.0, random_state=0)
    row = found.find("linear_svm")
    assert row.quantities["n"] == 4
    assert row.quantities["margin"] == bounds.normalized_margins(space, c).min()
    wide = kernels.RBF(0.5)(x)
    c = VersionSpace(wide, space.y).max_margin(tol=1e-2).dual_coef
    found = bounds.table(wide, space.y, c, rule="max_margin", tol=1.0, random_state=0)
    assert found.find("linear_svm").quantities["n"] == 60
