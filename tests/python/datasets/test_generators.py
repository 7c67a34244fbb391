"""Generators of data follow their documented distributions."""

import numpy as np
import pytest

from bayespoint.datasets import make_sets, make_teacher, make_words
from helpers import seed


def test_teacher_labels_its_examples():
    X, y, w = make_teacher(5000, 7, return_teacher=True, random_state=seed(3))
    assert np.linalg.norm(w) == pytest.approx(1)
    assert (np.where(X @ w > 0, 1, -1) == y).all()
    X, y, w = make_teacher(5000, 7, noise=0.2, return_teacher=True, random_state=seed(3))
    flipped = np.mean(np.where(X @ w > 0, 1, -1) != y)
    assert abs(flipped - 0.2) < 5 * np.sqrt(0.16 / 5000)
    assert abs(X.mean()) < 5 / np.sqrt(X.size)
    assert abs(X.var() - 1) < 5 * np.sqrt(2 / X.size)


def test_labels_say_whether_words_hold_the_motif():
    words, y = make_words(400, length=(4, 9), alphabet="xyz", motif="xyx", random_state=seed(4))
    assert {len(word) for word in words} == set(range(4, 10))
    assert set("".join(words)) == set("xyz")
    assert [("xyx" in word) for word in words] == (y == 1).tolist()
    assert 0.3 < (y == 1).mean() < 0.8


def test_sets_are_labeled_by_the_majority():
    sets, y = make_sets(2000, n_items=9, size=(1, 8), random_state=seed(5))
    assert {len(one) for one in sets} == {1, 3, 5, 7}
    assert set().union(*sets) == set(range(9))
    single = {next(iter(one)): label for one, label in zip(sets, y, strict=True) if len(one) == 1}
    teacher = {item for item, label in single.items() if label == 1}
    assert len(teacher) == 4
    most = [2 * len(one & teacher) > len(one) for one in sets]
    assert most == (y == 1).tolist()


@pytest.mark.parametrize("make", [make_teacher, make_words, make_sets])
def test_seeds(make):
    first, again, other = (make(20, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(first[1], again[1])
    assert str(first[0]) == str(again[0])
    assert str(first[0]) != str(other[0])
    assert set(np.unique(first[1])) <= {-1, 1}


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: make_teacher(0), ValueError, "n_samples must be an integer of at least 1"),
        (lambda: make_teacher(noise=0.5), ValueError, "noise must be"),
        (lambda: make_teacher(return_teacher=1), TypeError, "return_teacher must be True or False"),
        (lambda: make_words(alphabet="aa"), ValueError, "alphabet must have at least two"),
        (lambda: make_words(alphabet=3), TypeError, "alphabet must be a string"),
        (lambda: make_words(motif=""), ValueError, "motif must be one or more letters"),
        (lambda: make_words(length=(9, 8)), ValueError, r"length\[1\] must be .* at least 9"),
        (lambda: make_words(length=6), ValueError, "length must be a pair of integers"),
        (lambda: make_sets(n_items=5), ValueError, r"size\[1\] must be at most n_items = 5; got 9"),
        (lambda: make_sets(size=(4, 4)), ValueError, "size must be a range that holds an odd"),
    ],
)
def test_bad_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
