"""Runs continued from a result: with the bits of a single run to a smaller `tol`, or its law."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from sklearn.utils import check_random_state

from bayespoint import BayesPointClassifier, SampleOptions, VersionSpace, kernels
from helpers import SHIFT as SEED
from helpers import sample

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def space(m=60, *, softness=0.1, seed=0, flip=None):
    x = np.random.default_rng([SEED, seed]).standard_normal((m, 3))
    y = np.where(x[:, 0] > 0, 1, -1)
    if flip is not None:
        y[flip] *= -1
    return VersionSpace(kernels.RBF(2.0)(x), y, softness=softness)


def same(a, b):
    for field in dataclasses.fields(a):
        mine, other = getattr(a, field.name), getattr(b, field.name)
        if field.name == "state":
            assert (mine is None) == (other is None)
            for name in mine or {}:
                np.testing.assert_array_equal(mine[name], other[name], err_msg=name)
        else:
            np.testing.assert_array_equal(mine, other, err_msg=field.name)


RUNS = {
    "arc": {"average": "arc"},
    "impulse": {"average": "impulse", "refresh": "pair", "n_trajectories": 2},
    "conditional": {"average": "conditional"},
    "transparent": {"transparency": (0.1, 0.3), "refresh": "pair", "refresh_rate": 20.0},
    "bare": {"refresh": None, "n_draws": 7},
}


@pytest.mark.parametrize("settings", RUNS.values(), ids=RUNS)
def test_runs_go_on_where_they_ended(settings):
    one = space()
    result = start = sample(one, length=10.0, random_state=SEED, **settings)
    for length in (10.3, 25.0, 77.7):
        options = SampleOptions(continue_from=result)
        result = one.sample(length=length, options=options, n_jobs=2)
        same(result, one.sample(length=length, options=options, n_jobs=3))
        assert result.length == pytest.approx(length, abs=1e-9)
    assert (result.hits >= start.hits).all()
    assert result.burn_in == start.burn_in
    assert result.draws.shape == start.draws.shape
    # A run that has reached its limit does not change.
    same(result, one.sample(length=77.7, options=SampleOptions(continue_from=result)))


@pytest.mark.parametrize("name", ["arc", "conditional"])
def test_a_smaller_tolerance_has_the_bits_of_a_run_with_it(name):
    settings, tol = RUNS[name] | {"random_state": SEED}, 0.01
    whole = sample(space(), tol=tol, **settings)
    start = sample(space(), tol=0.2, **settings)
    assert start.length < whole.length
    same(
        whole,
        space().sample(
            tol=tol, options=SampleOptions(continue_from=pickle.loads(pickle.dumps(start)))
        ),
    )


def test_a_state_is_small_and_of_arrays_and_plain_values():
    result = space(200).sample(length=20.0, random_state=SEED)
    size = sum(v.nbytes for v in result.state.values() if isinstance(v, np.ndarray))
    assert size < 8 * 100 * 4 * 200
    assert len(result.state["draws"]) == 0
    settings = result.state["settings"]
    assert json.loads(json.dumps(settings)) == settings
    assert all(isinstance(digest, str) for digest in result.state["problem"].values())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"n_trajectories": 3}, "n_trajectories must be left out"),
        ({"transparency": 0.1}, "transparency must be left out"),
        ({"average": "arc"}, "average must be left out"),
        ({"length": None}, "needs a limit of the run"),
        ({"length": 19.0}, "at least the 20.0 radians of the earlier run"),
        ({"start": np.ones(60)}, "start must be None"),
        ({"continue_from": "result"}, "continue_from must be a BilliardResult; got"),
    ],
)
def test_settings_that_are_not_those_of_the_run(change, text):
    start = space().sample(length=20.0, random_state=SEED)
    error = TypeError if isinstance(change.get("continue_from"), str) else ValueError
    with pytest.raises(error, match=text):
        sample(space(), **{"continue_from": start, "length": 30.0} | change)


def test_settings_may_be_said_again():
    start = space().sample(
        length=20.0, n_trajectories=2, options=SampleOptions(transparency=0.1), random_state=SEED
    )
    again = {"n_trajectories": 2, "transparency": np.array([0.1, 0.1]), "average": "conditional"}
    same(
        space().sample(length=30.0, options=SampleOptions(continue_from=start)),
        sample(space(), length=30.0, continue_from=start, **again),
    )


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: space(flip=3), "labels differ"),
        (lambda: space(softness=0.2), "softness differ"),
        (lambda: space(61), "labels differ"),
        (lambda: space(seed=1, softness=0.1), "labels differ|fit this Gram matrix"),
        (lambda: VersionSpace(2 * space().gram, space().y, softness=0.1), "diagonal"),
        (lambda: VersionSpace(space().gram, space().y, softness=0.1, offset=1.0), "offset"),
        # Same diagonal, but the stored coordinates do not fit.
        (lambda: VersionSpace(space().gram ** 2, space().y, softness=0.1), "fit this Gram matrix"),
    ],
)
def test_results_of_other_problems(other, text):
    start = space().sample(length=20.0, random_state=SEED)
    with pytest.raises(ValueError, match=text):
        other().sample(length=30.0, options=SampleOptions(continue_from=start))


def test_states_that_do_not_fit():
    start = space().sample(length=20.0, random_state=SEED)

    def refused(text, **change):
        broken = dataclasses.replace(start, state={**start.state, **change})
        with pytest.raises(ValueError, match=text):
            space().sample(length=30.0, options=SampleOptions(continue_from=broken))

    state = start.state
    refused("'bytes' of a state must be an array of uint8", bytes=state["bytes"].astype(int))
    refused("'kept' of a state", kept=None)
    refused("belongs to its draws", kept=state["kept"] + np.uint64(1000))
    refused("belongs to its draws", kept=state["kept"][:2])
    refused("state must be .*cut short or altered", bytes=state["bytes"][::-1])
    without = dataclasses.replace(start, state=None)
    with pytest.raises(ValueError, match=r"continue_from must be .* still has its state.*repeat"):
        space().sample(length=30.0, options=SampleOptions(continue_from=without))


def global_state():
    """Return the state of NumPy's global generator."""
    return check_random_state(None).get_state()[1].tobytes()


def test_what_goes_on_has_its_own_seed():
    """Nothing is drawn from NumPy's global generator, and another seed is refused."""
    one = space()
    start = one.sample(length=20.0, random_state=SEED)
    before = global_state()
    on = one.sample(length=40.0, options=SampleOptions(continue_from=start))
    same = one.sample(length=40.0, options=SampleOptions(continue_from=start), random_state=SEED)
    np.testing.assert_array_equal(on.center, same.center)
    x = np.random.default_rng(SEED).standard_normal((40, 2))
    model = BayesPointClassifier("linear", softness=0.1, random_state=0)
    model.fit(x, x[:, 0] > 0).refine(1.0)
    assert global_state() == before
    for other in (SEED + 1, np.random.default_rng(0)):
        with pytest.raises(ValueError, match="random_state must be left out with continue_from"):
            one.sample(length=40.0, options=SampleOptions(continue_from=start), random_state=other)
