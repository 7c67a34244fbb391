"""The demonstration prints correct tables and writes a picture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from bayespoint import BayesPointClassifier, kernels
from bayespoint.datasets import load_sonar

pytest.importorskip("matplotlib")

# The demonstration is run once, and in one process.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("demo")]

DEMO = Path(__file__).parents[3] / "examples" / "demo.py"
sys.modules["demo"] = demo = module_from_spec(spec_from_file_location("demo", DEMO))
demo.__spec__.loader.exec_module(demo)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run with two splits: its output and its directory."""
    out = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    done = subprocess.run(
        [
            sys.executable,
            DEMO,
            "--out",
            out,
            "--splits",
            "2",
            "--seed",
            "3",
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        cwd=out.parent.parent,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, out


def table(text, number):
    """The rows of the table under the heading with this number: title and cells."""
    [block] = re.findall(rf"^{number}\. .*\n\n.*\n-+ .*\n((?:.*\n)*?)\(", text, flags=re.MULTILINE)
    rows = [re.split(r"\s{2,}", row.strip()) for row in block.splitlines()]
    return {title: cells for title, *cells in rows}


def number(cell):
    return float(re.match(r"-?[\d.]+", cell).group())


@pytest.fixture(scope="module")
def splits():
    """The data and the two splits of the run."""
    X, y = load_sonar(return_X_y=True)
    return X, y, list(StratifiedShuffleSplit(2, test_size=83, random_state=3).split(X, y))


@pytest.mark.parametrize(
    ("section", "titles", "n_columns"),
    [(1, demo.CLASSIFIERS, 4), (2, demo.CLASSIFIERS, 3), (3, demo.KERNELS, 3)],
)
def test_every_table_has_its_rows_of_finite_figures(run, section, titles, n_columns):
    found = table(run[0], section)

    assert set(found) == set(titles)
    for cells in found.values():
        assert len(cells) == n_columns
        assert all(np.isfinite(number(cell)) for cell in cells)


def test_first_two_tables_repeat_what_the_classifier_says(run, splits):
    X, y, both = splits
    errors, expected, losses, shares, others, costs = [], [], [], [], [], []
    for train, test in both:
        classifier = BayesPointClassifier(random_state=3).fit(X[train], y[train])
        proba = classifier.predict_proba(X[test])
        wrong = classifier.predict(X[test]) != y[test]
        _, rejected = classifier.reject(X[test], cost=0.1)
        errors.append(wrong.mean())
        expected.append(proba.min(axis=1).mean())
        losses.append(log_loss(y[test], proba))
        shares.append(rejected.mean())
        others.append(wrong[~rejected].mean())
        costs.append((wrong[~rejected].sum() + 0.1 * rejected.sum()) / len(test))

    half = abs(losses[0] - losses[1]) / 2  # the standard error of a mean of two
    cells = table(run[0], 1)[demo.OURS]
    assert cells[:3] == [
        f"{np.mean(errors):.1%}",
        f"{np.mean(expected):.1%}",
        f"{np.mean(losses):.3f} ± {half:.3f}",
    ]
    assert table(run[0], 2)[demo.OURS] == [
        f"{np.mean(shares):.1%}",
        f"{np.mean(others):.1%}",
        f"{np.mean(costs):.3f}",
    ]


def test_kernels_are_ordered_by_evidence(run, splits):
    X, y, both = splits
    rows = table(run[0], 3)
    kernel = kernels.Scaled(kernels.Matern(nu=2.5))
    fits = [
        BayesPointClassifier(kernel, random_state=3).fit(X[train], y[train]) for train, _ in both
    ]

    values = [number(cells[0]) for cells in rows.values()]
    assert values == sorted(values, reverse=True)
    own = rows["Matérn, nu = 5/2"]
    assert own[0] == f"{np.mean([fit.tuning_.log_evidence for fit in fits]):.1f}"
    errors = [1 - fit.score(X[test], y[test]) for fit, (_, test) in zip(fits, both, strict=True)]
    assert own[1] == f"{np.mean(errors):.1%}"


def test_count_of_the_splits_with_the_lowest_loss(capsys, monkeypatch):
    for ours, theirs, count in (("prior", "uniform", 2), ("uniform", "prior", 0)):
        rivals = {demo.OURS: ours, "rival": theirs}
        monkeypatch.setattr(
            demo,
            "CLASSIFIERS",
            {
                name: lambda X, y, seed, strategy=strategy: DummyClassifier(
                    strategy=strategy, random_state=seed
                ).fit(X, y)
                for name, strategy in rivals.items()
            },
        )
        demo.compare_classifiers(0, 2)
        assert f"lowest log loss on {count} of 2 splits" in capsys.readouterr().out


def test_scores_of_hand_made_probabilities():
    y = np.array([1, 1, -1, -1])
    proba = np.array([[0.05, 0.95], [0.4, 0.6], [0.02, 0.98], [0.97, 0.03]])
    scores = demo.Scores.of(y, proba, 1.5)

    assert scores.error == 0.25  # the third
    assert scores.expected_error == pytest.approx((0.05 + 0.4 + 0.02 + 0.03) / 4)
    assert scores.log_loss == pytest.approx(-np.log([0.95, 0.6, 0.02, 0.97]).mean())
    assert scores.rejected == 0.25  # the second
    assert scores.error_on_others == pytest.approx(1 / 3)
    assert scores.cost == pytest.approx((0.1 + 1.0) / 4)
    assert scores.seconds == 1.5


def test_picture_is_written_where_the_text_says(run):
    text, out = run
    picture = out / "decision_function.png"

    assert str(picture.resolve()) in text
    from matplotlib.image import imread

    image = imread(picture)
    assert image.shape[:2] == (448, 576)
    assert picture.stat().st_size < 200_000  # it is in the README
    shades = np.unique((image[::4, ::4, :3] * 255).astype(int).reshape(-1, 3), axis=0)
    assert len(shades) > 50  # a field with contours and examples, not an empty canvas


def test_one_split_gives_tables_without_standard_errors(tmp_path, capsys):
    assert demo.main(["--out", str(tmp_path), "--splits", "1"]) == 0

    text = capsys.readouterr().out
    assert not re.search(r"\d ± \d", text)
    assert number(table(text, 1)[demo.OURS][2]) > 0


def test_without_matplotlib_the_tables_stand_and_the_package_is_named(
    monkeypatch, tmp_path, capsys
):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert demo.main(["--out", str(tmp_path), "--splits", "1"]) == 1

    captured = capsys.readouterr()
    assert set(table(captured.out, 3)) == set(demo.KERNELS)
    assert "pip install matplotlib" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--splits", "0"], "argument --splits: must be at least 1, got 0"),
        (["--seed", "-1"], "argument --seed: must be from 0 to"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x'"),
    ],
)
def test_bad_arguments_are_named(capsys, arguments, message):
    with pytest.raises(SystemExit) as stop:
        demo.main(arguments)

    assert stop.value.code == 2
    assert message in capsys.readouterr().err
