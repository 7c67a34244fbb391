"""Progress of a fit by scikit-learn's callbacks."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier
from helpers import new_process, seed

TWO = make_blobs(60, centers=[[0, 0], [2, 2]], random_state=seed(0))
THREE = make_blobs(60, centers=[[0, 0], [2, 2], [0, 3]], random_state=seed(0))


def callbacks():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks first")


class Recorder:
    """A callback that records the tasks that began and ended."""

    def __init__(self, stop=False):
        self.begun, self.ended, self.stop = [], [], stop
        self.set_up = self.torn_down = 0
        self.fitted = None

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        assert len(X) == len(y)
        self.begun.append(context)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended.append(context)
        if fitted_estimator is not None:
            self.fitted = fitted_estimator
        return self.stop


def path(context):
    return () if context is None else (*path(context.parent), context.task_name)


@pytest.mark.parametrize("n_models", [1, 3])
@pytest.mark.parametrize("data", [TWO, THREE], ids=["two classes", "three"])
def test_the_tasks_of_a_fit(data, n_models):
    callbacks()
    seen = Recorder()
    model = BayesPointClassifier(random_state=seed(0), n_models=n_models, tol=0.1, n_jobs=2)
    model.set_callbacks(seen).fit(*data)
    assert (seen.set_up, seen.torn_down) == (1, 1)
    assert len(seen.begun) == len(seen.ended)
    top = [each.task_name for each in seen.begun if len(path(each)) == 2]
    assert top == ["search by evidence", *["billiard"] * n_models]
    tried = [each for each in seen.begun if path(each)[:-1] == ("fit", "search by evidence")]
    searches = {id(one.hyper.search.tried): one.hyper.search for one in model.models_}
    if n_models == 1:
        assert len(tried) == len(model.tuning_.tried)
    assert len(tried) >= max(len(one.tried) for one in searches.values())
    percents = [each for each in seen.begun if path(each)[:-1] == ("fit", "billiard")]
    assert len(percents) < 100 * n_models
    np.testing.assert_array_equal(seen.fitted.predict(data[0]), model.predict(data[0]))
    # Callbacks do not change the result.
    silent = clone(model).set_callbacks().fit(*data)
    np.testing.assert_array_equal(silent.dual_coef_, model.dual_coef_)


def test_a_request_to_stop_warns():
    callbacks()
    model = BayesPointClassifier(random_state=seed(0)).set_callbacks(Recorder(stop=True))
    with pytest.warns(
        UserWarning, match="a callback asked to stop the fit, which is not supported"
    ):
        model.fit(*TWO)


def test_an_error_ends_the_tasks():
    callbacks()
    seen = Recorder()
    with pytest.raises(ValueError, match="tol must be"):
        BayesPointClassifier(random_state=seed(0), tol=-1.0).set_callbacks(seen).fit(*TWO)
    assert seen.set_up == seen.torn_down
    assert not hasattr(BayesPointClassifier(), "_callback_fit_ctx")


@pytest.mark.long
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_progress_bar_of_scikit_learn(n_jobs, capsys):
    """Alone, and passed on by a grid search and a pipeline, also to other processes."""
    module = callbacks()
    pytest.importorskip("rich")
    inner = BayesPointClassifier(random_state=seed(0))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), inner),
        {"bayespointclassifier__kernel": ["linear", "rbf"]},
        cv=2,
        n_jobs=n_jobs,
    ).set_callbacks(module.ProgressBar(max_propagation_depth=None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that callbacks are not supported
        search.fit(*TWO)
    out = capsys.readouterr().out
    assert "GridSearchCV - fit" in out
    assert "BayesPointClassifier - fit" in out
    assert "billiard" in out


@pytest.mark.long
def test_nothing_breaks_without_callbacks():
    """With a scikit-learn without callbacks, simulated by removing the module."""
    code = (
        "import sys; import sklearn.base; sys.modules['sklearn.callback'] = None\n"
        "from bayespoint import BayesPointClassifier\n"
        "del sys.modules['sklearn.callback']\n"  # scikit-learn needs its own
        "X = [[0.0], [1.0], [3.0], [4.0]]; y = [0, 0, 1, 1]\n"
        "model = BayesPointClassifier(random_state=0, verbose=2).fit(X, y)\n"
        "print(hasattr(model, '_init_callback_context'), model.predict(X))\n"
    )
    run = new_process(code)
    assert run.stdout == "False [0 0 1 1]\n"
    assert "search by evidence" in run.stderr
