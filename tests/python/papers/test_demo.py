"""The demonstration prints a correct table and writes a picture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from bayespoint import BayesPointClassifier
from bayespoint.datasets import load_sonar
from bayespoint.kernels import RBF, at_start

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


def line(text, title):
    """The columns of the line with this title."""
    [found] = [row for row in text.splitlines() if row.startswith(title)]
    return re.split(r"\s{2,}", found.removeprefix(title).strip())


def number(cell):
    return float(re.match(r"[\d.,]+", cell).group().replace(",", ""))


@pytest.mark.parametrize("title", [title for _, title, _ in demo.LINES])
def test_every_line_of_the_table_holds_finite_figures(run, title):
    text, _ = run
    cells = line(text, title)

    assert len(cells) == 2
    assert "±" in cells[1]
    assert all(np.isfinite(number(cell)) for cell in cells)


def test_figures_of_the_table_are_possible(run):
    text, _ = run

    for title in ("test error, Bayes point", "test error, maximal margin"):
        errors = number(line(text, title)[0]) / 100 * demo.TEST_SIZE
        assert abs(errors - round(errors)) < 0.05  # a count out of the test examples
    base = [number(cell) for cell in line(text, "log loss (nats), base rate")]
    # Stratified: 58 rocks and 67 mines train, so the loss of the base rate is close to ln 2.
    assert all(0.68 < loss < 0.70 for loss in base)
    touched = line(text, "walls touched")[0]
    assert 0 < number(touched) <= 125
    assert touched.endswith("of 125")
    counts = re.search(r"fewer errors on (\d+), as many on (\d+), more on (\d+) of 2 splits", text)
    assert sum(map(int, counts.groups())) == 2


def test_table_repeats_what_the_classifier_says(run):
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    text, _ = run
    X, y = load_sonar(return_X_y=True)
    train, test = next(StratifiedShuffleSplit(2, test_size=83, random_state=3).split(X, y))
    kernel = at_start(RBF(), StandardScaler().fit_transform(X[train]))
    classifier = make_pipeline(
        StandardScaler(), BayesPointClassifier(kernel, softness=0.1, random_state=3)
    ).fit(X[train], y[train])

    error = np.mean(classifier.predict(X[test]) != y[test])
    assert line(text, "test error, Bayes point")[0] == f"{error:.1%}"
    loss = log_loss(y[test], classifier.predict_proba(X[test]))
    assert line(text, "log loss (nats), Bayes point")[0] == f"{loss:.3f}"


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


def test_one_split_gives_a_table_without_a_mean(tmp_path, capsys):
    assert demo.main(["--out", str(tmp_path), "--splits", "1"]) == 0

    text = capsys.readouterr().out
    assert "±" not in text
    assert len(line(text, "R-hat")) == 1


def test_without_matplotlib_the_table_stands_and_the_extra_is_named(monkeypatch, tmp_path, capsys):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert demo.main(["--out", str(tmp_path), "--splits", "1"]) == 1

    captured = capsys.readouterr()
    assert "test error, Bayes point" in captured.out
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
