"""Figures of daily use, one part for each way in which a user may be surprised.

    python benches/daily_use.py              all parts, some minutes
    python benches/daily_use.py mixing size  these

Seconds are those of the processor, but for silences and Ctrl-C. It runs with any version of the
package, so that two versions can be compared.
"""

import argparse
import io
import os
import pickle
import signal
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
    make_moons,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier, plotting
from bayespoint.kernels import RBF
from bayespoint.papers import displays as papers_displays


def fit(X, y, **settings):
    """Return a fitted classifier and the processor time that it took, in seconds."""
    start = time.process_time()
    model = BayesPointClassifier(approximation=None, random_state=0, **settings).fit(X, y)
    return model, time.process_time() - start


def views():
    """Print the seconds of the HTML view of a fitted classifier."""
    for m in (200, 500, 1000):
        X, y = make_classification(m, 10, random_state=0)
        model, seconds = fit(X, y)
        start = time.process_time()
        model._repr_mimebundle_()
        print(f"  {m}: fit {seconds:.2f} s, view {time.process_time() - start:.2f} s")


def rare_class():
    """Print the recall on a rare class, with class_weight="balanced"."""
    X, y = make_classification(
        3060, 10, n_informative=4, weights=[0.98], class_sep=0.8, flip_y=0.005, random_state=0
    )
    parts = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = parts
    for name, model in (
        ("bayespoint", BayesPointClassifier(random_state=0)),
        ("SVC", SVC()),
        ("logistic regression", LogisticRegression()),
    ):
        for weight in (None, "balanced"):
            found = model.set_params(class_weight=weight).fit(X_train, y_train).predict(X_test)
            print(
                f"  {name}, class_weight={weight}: recall {recall_score(y_test, found):.3f}, "
                f"balanced accuracy {balanced_accuracy_score(y_test, found):.3f}"
            )


def units():
    """Compare features of different units, as they are and standardized, by five folds."""
    for name, (X, y) in (
        ("wine", load_wine(return_X_y=True)),
        ("breast cancer", load_breast_cancer(return_X_y=True)),
    ):
        for form, model in (
            ("raw", BayesPointClassifier(random_state=0)),
            ("scaled", make_pipeline(StandardScaler(), BayesPointClassifier(random_state=0))),
        ):
            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            scores = cross_validate(model, X, y, cv=folds, scoring=("accuracy", "neg_log_loss"))
            print(
                f"  {name}, {form}: accuracy {scores['test_accuracy'].mean():.3f}, log loss "
                f"{-scores['test_neg_log_loss'].mean():.3f}, {scores['fit_time'].sum():.1f} s"
            )


def easy():
    """Print the seconds of easy problems, beside ordinary ones of the same size."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    classes = (X @ rng.standard_normal((10, 3))).argmax(axis=1)
    noisy = (X[:, 0] + rng.standard_normal(2000) > 0).astype(int)
    moons, arcs = make_moons(200, noise=0.3, random_state=0)
    sides = (X @ rng.standard_normal(10) > 0).astype(int)
    flipped = make_classification(1000, 10, flip_y=0.2, random_state=0)
    centers = [[0.0] * 10, [12 / np.sqrt(10)] * 10]
    digits, number = load_digits(return_X_y=True)
    found = fit_label_noise()
    for name, inputs, labels, settings in (
        ("ordinary, 2000 x 10", X, noisy, {}),
        ("three noise-free classes, 2000 x 10", X, classes, {}),
        (
            "two blobs 12 deviations apart, 1000 x 10",
            *make_blobs(1000, 10, centers=centers, random_state=0),
            {},
        ),
        ("separable, 500 x 10", X[:500], sides[:500], {}),
        ("separable, 1000 x 10", X[:1000], sides[:1000], {}),
        ("moons, 200", moons, arcs, {}),
        ("moons, four copies of each", np.tile(moons, (4, 1)), np.tile(arcs, 4), {}),
        ("1000 x 10 with label noise found", *flipped, found),
        ("half of the digits, 10 classes", digits[::2], number[::2], {}),
    ):
        _, seconds = fit(inputs, labels, **settings)
        print(f"  {name}: {seconds:.2f} s")


def fit_label_noise():
    """Return the setting by which the label noise is found, in the version that runs."""
    found = {"label_noise": None}
    try:
        BayesPointClassifier(**found).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    except (TypeError, ValueError):
        found = {"label_noise": "evidence"}
    return found


def mixing():
    """Print diagnostics of default fits, and the largest change of P between two seeds."""
    rng = np.random.default_rng(0)
    pure = rng.standard_normal((1000, 10)), rng.integers(2, size=1000)
    for name, (X, y) in (
        ("30 % flipped, 1000 x 20", make_classification(1000, 20, flip_y=0.3, random_state=0)),
        ("pure noise, 1000 x 10", pure),
        ("8000 x 20", make_classification(8000, 20, random_state=0)),
    ):
        model, seconds = fit(X, y)
        run = model.billiard_
        other = BayesPointClassifier(
            model.kernel_, softness=model.softness_, approximation=None, random_state=1
        ).fit(X, y)
        again = BayesPointClassifier(
            model.kernel_, softness=model.softness_, approximation=None, random_state=2
        ).fit(X, y)
        new = rng.standard_normal((1000, X.shape[1]))
        p, q = (one.predict_proba(new, method="mixture")[:, 1] for one in (other, again))
        print(
            f"  {name}: {seconds:.1f} s, R-hat {run.r_hat:.3f}, "
            f"ESS {run.ess:.0f}; P of two seeds differs by {np.abs(p - q).max():.3f} at most, "
            f"{np.abs(p - q).mean():.4f} in the mean"
        )


def grid():
    """Print the scores of a grid over the length scale."""
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        BayesPointClassifier(RBF(1.0), random_state=0),
        {"kernel__sigma": [0.3, 1.0, 5.0]},
        scoring="neg_log_loss",
    )
    print("  mean log loss:", np.round(-search.fit(X, y).cv_results_["mean_test_score"], 4))


def progress():
    """Print the longest silence of the progress bars, and the seconds until Ctrl-C ends a fit."""

    class Log(io.TextIOBase):
        encoding = "utf-8"

        def __init__(self):
            self.written = [(time.perf_counter(), "")]

        def write(self, text):
            self.written.append((time.perf_counter(), text))
            return len(text)

    X, y = make_classification(4000, 20, random_state=0)
    kept, sys.stderr = sys.stderr, Log()
    try:
        fit(X, y, verbose=2)
        log = [*sys.stderr.written, (time.perf_counter(), "")]
    finally:
        sys.stderr = kept
    times = [moment for moment, _ in log]
    print(
        f"  4000 x 20, {times[-1] - times[0]:.1f} s: longest silence {max(np.diff(times)):.2f} s, "
        f"'nan' in {sum('nan' in text for _, text in log)} lines"
    )
    waits = []
    for after in np.linspace(0.05, 0.95, 8) * (times[-1] - times[0]):
        sent = []

        def interrupt(after=after, sent=sent):
            time.sleep(after)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        try:
            thread.start()
            fit(X, y)
            thread.join()
        except KeyboardInterrupt:
            waits.append(time.perf_counter() - sent[0])
    print(
        f"  Ctrl-C ended {len(waits)} fits after {np.mean(waits):.2f} s, at most {max(waits):.2f}"
    )


def size():
    """Print the megabytes of pickled classifiers."""
    X, y = make_classification(2000, 10, n_informative=4, n_classes=3, random_state=0)
    for name, labels in (("two classes", np.minimum(y, 1)), ("three classes", y)):
        model, _ = fit(X, labels)
        start = time.perf_counter()
        p = model.predict_proba(X[:1])
        usual = time.perf_counter() - start
        data = pickle.dumps(model)
        copy = pickle.loads(data)
        start = time.perf_counter()
        same = (copy.predict_proba(X[:1]) == p).all()
        print(
            f"  2000 x 10, {name}: {len(data) / 1e6:.1f} MB; first prediction of the copy "
            f"{time.perf_counter() - start:.2f} s (of the fitted one {usual:.3f} s), "
            f"{'the same' if same else 'other'} numbers"
        )


def messages():
    """Print the answer to a frame with words, and to one with missing values."""
    import pandas

    frame = pandas.DataFrame({"city": ["Rome", "Oslo", "Rome", "Oslo"], "age": [31.0, 45, 18, 77]})
    holes = pandas.DataFrame({"age": [31.0, np.nan, 18, 77], "income": [1.0, 2, 3, 4]})
    for X in (frame, holes):
        try:
            BayesPointClassifier().fit(X, [0, 1, 0, 1])
        except (TypeError, ValueError) as error:
            print("  ", str(error).replace("\n", "\n   "))


def displays():
    """Try which displays `from_estimator` draws in one line, for two and three classes."""
    import matplotlib

    matplotlib.use("agg")
    X, y = make_moons(200, noise=0.25, random_state=0)
    flowers = load_iris()
    two, _ = fit(X, y)
    three, _ = fit(flowers.data, flowers.target_names[flowers.target])
    classes = {**vars(plotting), **vars(papers_displays)}
    for name in sorted(name for name in classes if name.endswith("Display")):
        row = []
        for model, data in (
            (two, (X, y)),
            (three, (flowers.data, flowers.target_names[flowers.target])),
        ):
            draw = getattr(classes[name], "from_estimator", None)
            for arguments in ((), data):
                start = time.perf_counter()
                try:
                    draw(model, *arguments)
                except Exception as error:  # a count of what works
                    answer = f"{type(error).__name__}: {error}"[:60].replace("\n", " ")
                else:
                    answer = f"{time.perf_counter() - start:.2f} s"
                    break
            row.append(answer)
        print(f"  {name}: two classes {row[0]}, three {row[1]}")


PARTS = {
    part.__name__: part
    for part in (
        views,
        rare_class,
        units,
        easy,
        mixing,
        grid,
        progress,
        size,
        messages,
        displays,
    )
}


def main():
    """Print the figures of the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    for name in parser.parse_args().parts or PARTS:
        print(f"{name}: {PARTS[name].__doc__}", flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PARTS[name]()
        sys.stdout.flush()


if __name__ == "__main__":
    main()
