"""Whatever is passed to a public function: a right answer or a documented error, and soon."""

import functools

import numpy as np
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from bayespoint import InfeasibleError, VersionSpace
from bayespoint.papers.dynamics import Chord, Flipper
from helpers import SHIFT as SEED
from helpers import flown, sample
from hostile import FORMS, blames, budget, outcome, same, spoiled
from hostile_calls import ELSEWHERE, calls
from hostile_public import documented, public

CALLS = calls()
pytestmark = pytest.mark.slow


def ids(call):
    return call.id


def test_every_public_callable_is_covered():
    covered = {name for call in CALLS for name in call.covers} | ELSEWHERE
    assert public() - covered == set(), "no property of these: add them to hostile_calls.py"
    assert covered - public() == set(), "there are none of these"


@pytest.mark.parametrize(
    ("error", "names", "blamed"),
    [
        (ValueError("it must not be"), ["m", "n"], False),
        (ValueError("grams must hold"), ["gram"], False),
        (ValueError("sigma[0] must be"), ["sigma"], True),
        (ValueError("Expected 2D array, got scalar array instead"), ["X", "n"], True),
        (FloatingPointError("numerical breakdown: x"), ["y"], True),
        (ValueError("numerical breakdown: x"), ["y"], False),
        (InfeasibleError("examples 3 and 4 have"), ["y"], True),
        (InfeasibleError("something else"), ["y"], False),
        (MemoryError("out of memory: there is no room for 8 bytes more"), ["n_draws"], False),
    ],
)
def test_what_blames_an_argument(error, names, blamed):
    assert bool(blames(error, names)) == blamed


@pytest.mark.parametrize("call", CALLS, ids=ids)
def test_the_good_call_is_good(call):
    result, error = outcome(call.function, call.arguments)
    assert error is None
    if call.check:
        call.check(result, call.arguments)


@pytest.mark.parametrize("call", CALLS, ids=ids)
def test_hostile_arguments(call):
    """One argument, or two, in any disguise."""
    names = sorted(call.arguments)

    @seed(SEED)
    @budget(5, 400)
    @given(data=st.data())
    def spoil(data):
        arguments, heavy = dict(call.arguments), False
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
        for name in chosen:
            arguments[name], work = data.draw(spoiled(call.arguments[name]), label=name)
            heavy |= work
        result, error = outcome(
            call.function, arguments, spoiled=chosen, names=call.names, heavy=heavy
        )
        if error is None and call.check:
            call.check(result, arguments)
        if isinstance(error, FloatingPointError):
            assert "FloatingPointError" in documented(call.id)

    spoil()


@pytest.mark.parametrize("call", CALLS, ids=ids)
def test_forms_of_arrays_do_not_matter(call):
    """Order, strides, bytes' order, class: the same bits."""
    arrays = [
        name
        for name, value in call.arguments.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "if"
    ]
    if not arrays:
        pytest.skip("takes no array of numbers")
    plain, error = outcome(call.function, call.arguments)
    assert error is None

    @seed(SEED)
    @budget(3, len(FORMS) * 10)
    @given(st.sampled_from(arrays), st.sampled_from(sorted(FORMS)))
    def reform(name, form):
        if (name, form) == ("label_noise", "tuple"):
            return  # a tuple is a pair of rates, an array a list of them
        arguments = {**call.arguments, name: FORMS[form](call.arguments[name])}
        result, error = outcome(call.function, arguments)
        assert error is None, f"{form}: {error}"
        if is_plain(plain):
            assert same(result, plain), form

    reform()


@pytest.mark.parametrize("call", CALLS, ids=ids)
def test_masked_entries_are_not_looked_under(call):
    arrays = {
        name: value
        for name, value in call.arguments.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufUO" and value.size
    }
    for name, value in arrays.items():
        mask = np.zeros(value.shape, dtype=bool)
        mask.flat[-1] = True
        arguments = {**call.arguments, name: np.ma.masked_array(value, mask=mask)}
        _, error = outcome(call.function, arguments, spoiled=[name], names=call.names)
        assert isinstance(error, (TypeError, ValueError)), name
        assert "mask" in str(error).lower(), f"{name}: {error}"


def is_plain(result):
    return isinstance(result, (np.ndarray, float, tuple, bool))


# --- what is true of all version spaces ------------------------------------------------------


@st.composite
def problems(draw, most=300):
    """Draw features and labels: few or many, of any rank, with duplicates, parallels, zeros."""
    m = draw(st.integers(1, 12) | st.integers(1, most if draw(st.booleans()) else 30))
    rng = np.random.default_rng([draw(st.integers(0, 2**32)), SEED])
    rank = draw(st.sampled_from([1, 2, 3, m, m + 3]))
    x = rng.standard_normal((m, rank))
    for kind in draw(
        st.lists(st.sampled_from(["twice", "parallel", "near", "lengths"]), max_size=2)
    ):
        i, j = rng.integers(m, size=2)
        if kind == "twice":
            x[i] = x[j]
        elif kind == "parallel":
            x[i] = 3.0 * x[j]
        elif kind == "near":
            x[i] = x[j] + 10.0 ** -rng.integers(1, 12) * rng.standard_normal(rank)
        else:
            x *= 10.0 ** rng.uniform(-3, 3, (m, 1))
    labels = draw(st.sampled_from(["teacher", "any", "equal"]))
    if labels == "teacher":
        y = np.where(x @ rng.standard_normal(rank) > 0, 1, -1)
    else:
        y = rng.choice([-1, 1], m) if labels == "any" else np.ones(m, dtype=int)
    return x, y


FEW = ("gram", "tau_max")
"""What errors name where examples span one dimension, or a straight flight meets no plane."""
SETTINGS = {"max_bounces": 60, "n_trajectories": 2, "n_draws": 5, "random_state": 0}
BOTH = {**SETTINGS, "max_bounces": 500, "n_trajectories": 4, "n_draws": 50}


@st.composite
def taught(draw, most=300):
    """Draw ordinary examples of a teacher with a margin well above rounding."""
    m, rank = (
        draw(st.integers(1, 12) | st.integers(1, most)),
        draw(st.sampled_from([1, 2, 3, 10, 40])),
    )
    rng = np.random.default_rng([draw(st.integers(0, 2**32)), SEED])
    x, teacher = rng.standard_normal((m, rank)), rng.standard_normal(rank)
    f = x @ teacher
    margins = np.abs(f) / np.linalg.norm(x, axis=1) / np.linalg.norm(teacher)
    return x[margins > 1e-6], np.where(f > 0, 1, -1)[margins > 1e-6]


def check_run(made, run, x):
    """Check that draws are unit vectors inside version space, to rounding, and that hits add up."""
    gram = x @ x.T
    # By way of the weight vectors: sums of large coefficients of neighbors cancel in the matrix.
    lengths = np.linalg.norm(run.draws @ x, axis=-1)
    # The matrix is that of other vectors by rounding, which large coefficients magnify.
    other = 1e-15 * (np.abs(run.draws) @ np.sqrt(gram.diagonal())) ** 2
    assert (np.abs(lengths - 1.0) <= 1e-6 + other).all()
    relative = made.margins(run.draws.reshape(-1, len(x))) / np.sqrt(gram.diagonal())
    rounding = (
        1e-13 * (np.abs(run.draws.reshape(-1, len(x))) @ np.abs(gram)) / np.sqrt(gram.diagonal())
    )
    assert (relative > -1e-6 - rounding).all()
    assert run.hits.sum() == run.bounces.sum()
    assert 0 < run.center_norm <= 1 + 1e-6


def run_of(space, motion, **settings):
    """Return a run along great circles, or with a motion of the papers."""
    return sample(space, **settings) if motion is None else flown(space, motion, **settings).run


@seed(SEED)
@budget(60)
@given(problems(), st.sampled_from([None, Chord(), Flipper()]))
def test_runs_stay_in_version_space(problem, motion):
    x, y = problem
    gram = x @ x.T
    made, error = outcome(lambda gram, y: VersionSpace(gram, y), {"gram": gram, "y": y})
    if error is not None:
        return
    run, error = outcome(functools.partial(run_of, made, motion), SETTINGS, names=FEW)
    if error is not None:
        return
    check_run(made, run, x)


@pytest.mark.long
@seed(SEED)
@budget(30)
@given(taught(), st.sampled_from([None, Chord(), Flipper()]))
def test_what_a_teacher_labels_is_never_refused(problem, motion):
    x, y = problem
    made = VersionSpace(x @ x.T, y)
    run, error = outcome(functools.partial(run_of, made, motion), SETTINGS, names=FEW)
    one_dimension = np.linalg.matrix_rank(x) < 2
    straight = motion is not None and "tau_max" in str(error)
    assert error is None or one_dimension or straight, error
    if error is None:
        check_run(made, run, x)


@seed(SEED)
@budget(25)
@given(problems(15), st.randoms(use_true_random=False))
def test_order_and_copies_of_examples_do_not_matter(problem, random):
    """The law is that of the walls, whatever their order and however often each is named."""
    x, y = problem
    order = np.array([random.randrange(len(y)) for _ in range(3)] + list(range(len(y))))
    random.shuffle(order)
    results = []
    for take in (np.arange(len(y)), order):
        rows = x[take]
        found, error = outcome(
            lambda rows=rows, take=take: sample(
                VersionSpace(rows @ rows.T, y[take], softness=0), **BOTH
            ),
            {},
            names=FEW,
        )
        if error is not None:
            return
        results.append((rows.T @ found.center, found.center_error))
    (one, error), (other, error_too) = results
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    if min(error, error_too) < 0.1:
        assert np.arccos(np.clip(cosine, -1, 1)) < 6 * np.hypot(error, error_too) + 1e-6
