"""Generators of random examples with labels -1 and +1."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.base.validation import Flags, Integers, RandomState


def make_teacher(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    noise: float = 0.0,
    return_teacher: bool = False,
    random_state: RandomState = None,
) -> Any:
    """Draw Gaussian examples labeled by a random plane through the origin (a teacher perceptron).

    Parameters
    ----------
    n_samples, n_features : int, default=100 and 10
        Numbers of examples and of features, at least 1.
    noise : float, default=0.0
        Probability in [0, 0.5) that a label is flipped.
    return_teacher : bool, default=False
        Also return the teacher's weight vector.
    random_state : None, int, Generator or RandomState, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Independent standard normal features.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1; of few examples all may be the same.
    teacher : ndarray of shape (n_features,)
        With ``return_teacher=True`` the unit weight vector, uniform on the sphere.
    """
    m, r = _count("n_samples", n_samples), _count("n_features", n_features)
    rng = validation.generator(random_state)
    teacher = rng.standard_normal(r)
    teacher /= np.linalg.norm(teacher)
    X = rng.standard_normal((m, r))
    y = _flipped(X @ teacher > 0, noise, rng)
    return (X, y, teacher) if validation.boolean("return_teacher", return_teacher) else (X, y)


def make_words(
    n_samples: int = 100,
    *,
    length: tuple[int, int] = (6, 12),
    alphabet: str = "abcd",
    motif: str = "abba",
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[list[str], Integers]:
    """Draw random words, some of which hold a motif: for `bayespoint.kernels.Spectrum`.

    Parameters
    ----------
    n_samples : int, default=100
        Number of words, at least 1.
    length : pair of ints, default=(6, 12)
        Smallest and largest length of a word, at least that of the motif.
    alphabet, motif : str, default="abcd" and "abba"
        At least two different letters, and a nonempty string of these.
    noise, random_state
        As for `make_teacher`.

    Returns
    -------
    words : list of str
        In half of them, on average, the motif was placed; others may hold it by chance.
    y : ndarray of shape (n_samples,)
        +1 for words with the motif, -1 for others, before the noise.

    Examples
    --------
    >>> words, y = make_words(50, random_state=0)
    >>> all(("abba" in word) == (label == 1) for word, label in zip(words, y))
    True
    """
    n = _count("n_samples", n_samples)
    for name, value in (("alphabet", alphabet), ("motif", motif)):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a string; got {value!r}")
    letters = sorted(set(alphabet))
    if len(letters) < 2:
        raise ValueError(f"alphabet must have at least two different letters; got {alphabet!r}")
    if not motif or set(motif) - set(letters):
        raise ValueError(
            f"motif must be one or more letters of alphabet, {alphabet!r}; got {motif!r}"
        )
    shortest, longest = _range("length", length, low=len(motif))
    rng = validation.generator(random_state)
    words = []
    for size in rng.integers(shortest, longest + 1, size=n):
        word = "".join(rng.choice(letters, size=size))
        if rng.random() < 0.5:
            place = rng.integers(size - len(motif) + 1)
            word = word[:place] + motif + word[place + len(motif) :]
        words.append(word)
    return words, _flipped(np.array([motif in word for word in words]), noise, rng)


def make_sets(
    n_samples: int = 100,
    *,
    n_items: int = 20,
    size: tuple[int, int] = (3, 9),
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[list[frozenset[int]], Integers]:
    """Draw random sets, with labels by the majority: for `bayespoint.kernels.SetIntersection`.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sets, at least 1.
    n_items : int, default=20
        Number of items, at least 2: the numbers from 0. A random half is the teacher's.
    size : pair of ints, default=(3, 9)
        Smallest and largest size, from 1 to `n_items`; to avoid ties only odd ones are drawn.
    noise, random_state
        As for `make_teacher`.

    Returns
    -------
    sets : list of frozenset of int
        Items drawn without replacement.
    y : ndarray of shape (n_samples,)
        +1 if most elements are the teacher's, otherwise -1, before the noise.
    """
    n = _count("n_samples", n_samples)
    items = _count("n_items", n_items, low=2)
    smallest, largest = _range("size", size, low=1)
    if largest > items:
        raise ValueError(f"size[1] must be at most n_items = {items}; got {largest}")
    sizes = np.arange(smallest | 1, largest + 1, 2)
    if not len(sizes):
        raise ValueError(f"size must be a range that holds an odd number; got {size!r}")
    rng = validation.generator(random_state)
    chosen = frozenset(rng.permutation(items)[: items // 2].tolist())
    sets = [
        frozenset(rng.choice(items, size=count, replace=False).tolist())
        for count in rng.choice(sizes, size=n)
    ]
    most = np.array([2 * len(one & chosen) > len(one) for one in sets])
    return sets, _flipped(most, noise, rng)


def _flipped(positive: Flags, noise: float, rng: np.random.Generator) -> Integers:
    """Return labels -1 and +1, each flipped with probability `noise`."""
    rate = validation.rate("noise", noise)
    if rate:
        positive = positive ^ (rng.random(len(positive)) < rate)
    return np.where(positive, 1, -1)


def _range(name: str, value: Any, *, low: int) -> tuple[int, int]:
    """Return a checked pair of integers in order, the first at least `low`."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name} must be a pair of integers; got {value!r}")
    first = _count(f"{name}[0]", value[0], low=low)
    return first, _count(f"{name}[1]", value[1], low=first)


_count = partial(validation.integer, low=1, high=validation.MANY)
