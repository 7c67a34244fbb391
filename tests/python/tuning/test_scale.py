"""The scale of the numbers, which the evidence chooses."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from bayespoint.data.columns import Columns, Records, Values
from bayespoint.data.examples import Examples
from bayespoint.data.plan import Budget
from bayespoint.data.warps import OneUnit, Warped
from bayespoint.labels import Labels
from bayespoint.tuning import scale
from helpers import seed
from objects import plan

FIT = {"tol": 0.3, "n_models": 1, "random_state": seed(0)}


def chosen(X, y):
    """Return the transformation of numbers that the evidence chooses."""
    rows = Records(tuple(Values(str(k), "number", x) for k, x in enumerate(X.T)))
    known = Columns.of(rows, np.ones(len(y)), scaled=True)
    scaler = StandardScaler().fit(X)
    examples = Examples(scaler.transform(X), np.asarray(y, dtype=np.intp), np.ones(len(y)))
    return scale.choose(
        scaler,
        known,
        plan=plan(offset=1.0),
        examples=examples,
        labels=Labels.two_classes(),
        budget=Budget(seed(0)),
    )


def examples(n=300, index=0):
    rng = np.random.default_rng(seed(index))
    Z = rng.standard_normal((n, 2))
    return Z, Z[:, 0] + 0.5 * Z[:, 1] + 0.3 * rng.standard_normal(n) > 0


def test_the_warp_improves_the_evidence_and_the_predictions():
    Z, y = examples(500)
    X = np.exp(2.5 * Z)
    model = BayesPointClassifier(**FIT).fit(X[:300], y[:300])
    assert isinstance(model.scaler_, Warped)
    same = BayesPointClassifier(model.kernel_, softness=model.softness_, **FIT)
    plain = BayesPointClassifier(max_iter=10**6, **FIT).fit(X[:300], y[:300])
    assert isinstance(plain.scaler_, StandardScaler)
    assert model.tuning_.log_evidence > plain.tuning_.log_evidence + 2
    loss, other = (
        -np.log(one.predict_proba(X[300:])[np.arange(200), y[300:].astype(int)]).mean()
        for one in (model, plain)
    )
    assert loss < other
    warped = model.scaler_.transform(X[:300])
    again = same.set_params(standardize=False).fit(warped, y[:300])
    np.testing.assert_allclose(
        again.predict_proba(model.scaler_.transform(X[300:])), model.predict_proba(X[300:]),
        atol=0.05,
    )  # fmt: skip


def test_normal_numbers_stay_as_they_are():
    for index in range(3):
        X, y = examples(index=index)
        assert isinstance(chosen(X, y), StandardScaler)


def test_numbers_of_few_values_are_left():
    Z, y = examples()
    few = np.exp(np.round(Z[:, 1]).clip(-4, 4))
    assert len(np.unique(few)) < 10
    assert chosen(np.column_stack([np.exp(2.5 * Z[:, 0]), few]), y).places.tolist() == [0]
    assert isinstance(chosen(few[:, None], y), StandardScaler)


def test_categories_and_dates_are_left():
    Z, y = examples()
    frame = pd.DataFrame({"color": np.where(Z[:, 1] > 0, "red", "blue"), "x": np.exp(3 * Z[:, 0])})
    days = np.arange(len(y)) ** 2 % 9999
    frame["day"] = pd.Timestamp(2020, 1, 1) + pd.to_timedelta(days, unit="D")
    model = BayesPointClassifier(**FIT).fit(frame, y)
    assert isinstance(model.scaler_, Warped)
    assert model.scaler_.places.tolist() == [0]
    assert model.columns_.groups[0] == 1


@pytest.mark.parametrize("columns", [1, 2])
def test_one_outlier_does_not_erase_a_column(columns):
    Z, y = examples(500)
    X = Z[:, :columns].copy()
    X[7, 0] = 1e12
    train = np.arange(500) < 300
    model = BayesPointClassifier(**FIT).fit(X[train], y[train])
    assert isinstance(model.scaler_, Warped)
    expected = BayesPointClassifier(**FIT).fit(Z[train, :columns], y[train])
    accuracy, best = (
        one.score(each[~train], y[~train]) for one, each in ((model, X), (expected, Z[:, :columns]))
    )
    assert accuracy > best - 0.04 > 0.7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings",
    [{"kernel": "rbf"}, {"standardize": False}, {"max_iter": 20}],
    ids=["kernel", "standardize", "max_iter"],
)
def test_only_the_default_chooses_a_scale(settings):
    Z, y = examples(100)
    model = BayesPointClassifier(**FIT, **settings).fit(np.exp(2.5 * Z), y)
    assert not isinstance(model.scaler_, Warped)


def test_numbers_of_one_unit_keep_it(monkeypatch):
    """Labels follow the three features that vary; the others are noise of little variance."""
    rng = np.random.default_rng(seed(9))
    X = rng.standard_normal((200, 24)) * np.repeat([5.0, 0.1], [3, 21])
    y = np.sin(X[:, 0] / 3) + X[:, 1] / 5 > 0
    model = BayesPointClassifier(random_state=seed(0), n_models=1, tol=0.3).fit(X, y)
    assert isinstance(model.scaler_.warp, OneUnit)
    spread = model.scaler_.transform(X).std(axis=0)
    np.testing.assert_allclose(spread / X.std(axis=0), spread[0] / X[:, 0].std())
    np.testing.assert_allclose((spread**2).mean(), 1.0)
    model.fit(X[:, :19], y)  # too few
    assert not isinstance(getattr(model.scaler_, "warp", None), OneUnit)
    monkeypatch.setattr("bayespoint.tuning.scale._GAIN_OF_UNIT", 1e3)  # too little gain
    assert not isinstance(getattr(model.fit(X, y).scaler_, "warp", None), OneUnit)
