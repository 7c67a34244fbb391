"""Several classes: shapes, exactness against other samplers, and what is refused."""

import math
import pickle

import numpy as np
import pytest

from bayespoint import InfeasibleError, SampleOptions, VersionSpace, _core
from bayespoint.papers.onion import onion
from helpers import seed


def rbf(x, z, length=1.0):
    return np.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(-1) / length**2)


def taught(m, n, index, *, softness=0.2, offset=0.0):
    """Examples with labels of which the prior draws no others more often, and further points."""
    rng = np.random.default_rng(seed(index))
    x, z = rng.standard_normal((m, 2)), rng.standard_normal((4, 2))
    gram = rbf(x, x)
    root = np.linalg.cholesky(gram + offset + softness * np.eye(m))
    draws = np.argmax(rng.standard_normal((3000, n, m)) @ root.T, axis=1)
    draws = draws[[len(np.unique(y)) == n for y in draws]]  # every class is to occur
    each, counts = np.unique(draws, axis=0, return_counts=True)
    y = each[np.argmax(counts)]
    return gram, y, rbf(z, x) + offset


def matrix_of(space):
    return space.gram + space.offset + np.diag(space.softness)


def inner(space, a, b):
    """Inner product of two weight vectors given by dual coefficients of shape (n_classes, m)."""
    return float((a * (b @ matrix_of(space))).sum())


# --- results ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def space():
    gram, y, _ = taught(40, 4, 13)
    return VersionSpace(gram, np.array(["ant", "bee", "cat", "dog"])[y], softness=0.2)


@pytest.fixture(scope="module")
def result(space):
    return space.sample(tol=0.05, random_state=1)


def test_shapes_and_labels(space, result):
    assert space.classes.tolist() == ["ant", "bee", "cat", "dog"]
    assert repr(space) == "<VersionSpace: 40 examples of 4 classes>"
    assert repr(result).startswith("<BilliardResult: m=40, 4 classes, 4 x 100 draws")
    own = np.arange(40)
    for dual in (result.center, result.arc_center, result.impulse_center):
        assert np.abs(dual.sum(axis=0)).max() < 1e-12
    # A wall pushes towards the class of its example.
    others = result.impulse_center.copy()
    others[space.y, own] = 0.0
    assert (others <= 0).all()
    assert (result.impulse_center[space.y, own] >= 0).all()
    assert (result.hits[space.y, own] == 0).all()
    assert (result.hits > 0).any(axis=0).sum() == len(result.support)
    classes, examples = np.divmod(result.watched, 40)
    assert (classes != space.y[examples]).all()
    # The functionals are the coordinates of the watched walls, relative to their lengths.
    values = result.draws @ matrix_of(space)
    leads = values[:, :, space.y[examples], examples] - values[:, :, classes, examples]
    lengths = np.sqrt(2 * np.diag(matrix_of(space))[examples])
    np.testing.assert_allclose(result.functionals, leads / lengths, atol=1e-10)


def test_margins(space, result):
    assert (space.margins(result.draws) > 0).all()
    values = result.center @ matrix_of(space)
    others = np.where(np.arange(4)[:, None] == space.y, -np.inf, values).max(axis=0)
    exact = values[space.y, np.arange(40)] - others
    np.testing.assert_allclose(space.margins(result.center), exact, atol=1e-12)
    assert space.contains(result.center)
    assert not space.contains(-result.center)
    # What all classes share changes nothing.
    np.testing.assert_allclose(space.margins(result.center + 3.0), exact, atol=1e-9)
    with pytest.raises(ValueError, match=r"dual_coef must have shape \(4, 40\)"):
        space.contains(result.center[0])
    with pytest.raises(ValueError, match=r"dual_coef must have shape \(\.\.\., 4, 40\)"):
        space.margins(result.center.T)


def test_same_bits_for_threads_and_continued_runs(space, result):
    assert (space.sample(tol=0.05, n_jobs=2, random_state=1).draws == result.draws).all()
    whole = space.sample(tol=0.02, random_state=1)
    options = SampleOptions(continue_from=pickle.loads(pickle.dumps(result)))
    continued = space.sample(tol=0.02, options=options)
    assert whole.length > result.length
    for name in ("center", "draws", "hits", "functionals"):
        assert (getattr(whole, name) == getattr(continued, name)).all(), name
    gram, y, _ = taught(40, 4, 13)
    with pytest.raises(ValueError, match="its labels differ"):
        VersionSpace(gram, (y + 1) % 4, softness=0.2).sample(tol=0.02, options=options)


def test_starts(space, result):
    def run_from(start, **settings):
        return space.sample(random_state=1, options=SampleOptions(start=start), **settings)

    assert run_from(result.center + 1.0, tol=0.1).start == ("given",) * 4
    with pytest.raises(ValueError, match="start must be in version space"):
        run_from(-result.center, length=5.0)
    with pytest.raises(ValueError, match=r"start must have shape \(4, 40\)"):
        run_from(np.ones(40), length=5.0)


def test_points(space):
    found = space.max_margin()
    assert found.margin == pytest.approx(space.margins(found.dual_coef).min())
    assert (found.multipliers >= 0).all()
    assert found.margin == pytest.approx(found.bound, rel=1e-6)
    assert repr(found).endswith(f"{len(found.support)} support vectors of 40>")
    for method in ("light_trap", "max_margin"):
        point = space.feasible_point(method, random_state=1)
        assert space.contains(point)
        assert inner(space, point, point) == pytest.approx(1.0)


def test_datatree(result):
    pytest.importorskip("xarray")
    tree = result.to_datatree()
    sizes = {"chain": 4, "draw": 100, "plane": 16, "class": 4, "example": 40}
    assert dict(tree["posterior"].sizes) == sizes
    assert tree["sample_stats"]["center"].dims == ("class", "example")


# --- errors ----------------------------------------------------------------------------------


def test_contradictions():
    gram = rbf(np.array([[0.0], [0.0], [2.0], [5.0]]), np.array([[0.0], [0.0], [2.0], [5.0]]))
    space = VersionSpace(gram, [0, 1, 2, 1])
    with pytest.raises(InfeasibleError, match="examples 0 and 1 alone") as caught:
        space.sample(random_state=0)
    error = caught.value
    assert error.violations == 1
    assert error.certificate.shape == (3, 4)
    # The weights are those of the walls of examples 0 and 1 to each other's classes.
    assert error.certificate[1, 0] == error.certificate[0, 1] == pytest.approx(0.5)
    for method in (space.evidence, space.max_margin, space.feasible_point):
        with pytest.raises(InfeasibleError):
            method()
    # Without softness such walls cannot be transparent; with it all is well.
    with pytest.raises(ValueError, match="softness must be positive"):
        space.sample(random_state=0, options=SampleOptions(transparency=0.1))
    soft = VersionSpace(gram, [0, 1, 2, 1], softness=0.1)
    assert soft.contains(soft.sample(tol=0.2, random_state=0).center)


def run(space, **options):
    return space.sample(random_state=0, options=SampleOptions(**options))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: run(s, transparency=(0.1, 0.2)), "two classes for a transparency"),
        (lambda s: onion(s, (1, 1)), "two classes for an onion"),
        (lambda s: s.evidence((0.1, 0.2)), "label_noise must be one rate or an array"),
    ],
)
def test_what_two_classes_define_is_refused(space, call, text):
    with pytest.raises(ValueError, match=text):
        call(space)


def test_the_error_of_an_evidence_of_zero(space, monkeypatch):
    """Where no path enters version space, the mean of all walls bounds the margin."""
    engine = _core.evidence

    def outside(*arguments, **keywords):
        found = engine(*arguments, **keywords)
        found["value"][:] = -np.inf
        found["log_share"][:2] = -np.inf
        return found

    monkeypatch.setattr(_core, "evidence", outside)
    with pytest.raises(InfeasibleError, match="violated examples was 2 of 40") as caught:
        space.evidence(tol=1.0, random_state=0)
    error = caught.value
    own = np.arange(40)
    assert error.violations == 2
    assert error.certificate.shape == (4, 40)
    assert error.certificate.sum() == pytest.approx(1.0)
    assert (error.certificate[space.y, own] == 0).all()
    # The length of the combination, in units of the longest normal.
    duals = -error.certificate
    duals[space.y, own] = error.certificate.sum(axis=0)
    exact = math.sqrt(inner(space, duals, duals) / (2 * np.diag(matrix_of(space)).max()))
    assert error.margin_bound == pytest.approx(exact)
    assert space.max_margin().margin <= exact * math.sqrt(2 * 1.2)
