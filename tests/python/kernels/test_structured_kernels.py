"""Kernels of sets and strings, and the classifiers of such inputs."""

import itertools

import numpy as np
import pytest

import bayespoint
from bayespoint import kernels
from helpers import SETS, seed


def test_set_kernel_counts_common_subsets():
    """2^|A n S| is the number of common subsets, which are counted here."""
    gram = kernels.SetIntersection(2.0)(SETS, SETS[:7])
    for i, a in enumerate(SETS):
        for j, s in enumerate(SETS[:7]):
            subsets = itertools.chain.from_iterable(
                itertools.combinations(sorted(a), n) for n in range(len(a) + 1)
            )
            assert gram[i, j] == sum(set(subset) <= s for subset in subsets)
    kernel = kernels.SetIntersection(2.0)
    np.testing.assert_array_equal(kernel(SETS).diagonal(), kernel.diag(SETS))
    np.testing.assert_array_equal(kernel([list(s) * 2 for s in SETS]), kernel(SETS))
    assert np.linalg.eigvalsh(kernel(SETS)).min() > -1e-9
    assert kernel([set()], [set(), {1}]).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_spectrum_kernel_counts_substrings(length):
    kernel = kernels.Spectrum(length)
    rng = np.random.default_rng(seed(length))
    strings = ["".join(rng.choice(list("ab"), n)) for n in (0, 1, 2, 3, 9, 14, 20)]
    gram = kernel(strings, strings[3:])
    for i, s in enumerate(strings):
        for j, t in enumerate(strings[3:]):
            pairs = itertools.product(range(len(s) - length + 1), range(len(t) - length + 1))
            assert gram[i, j] == sum(s[a : a + length] == t[b : b + length] for a, b in pairs)
    np.testing.assert_array_equal(kernel(strings).diagonal(), kernel.diag(strings))
    lists = [list(s) for s in strings]
    np.testing.assert_array_equal(kernel(lists, lists[3:]), gram)
    np.testing.assert_array_equal(kernel([s.encode() for s in strings]), kernel(strings))


@pytest.mark.parametrize(
    ("kernel", "inputs", "text"),
    [
        (kernels.SetIntersection(2.0), [{1}, 2], r"X\[1\] must be a set or another collection"),
        (kernels.SetIntersection(2.0), ["word"], r"X\[0\] must be a set .* got 'word'"),
        (kernels.SetIntersection(2.0), [[{1}]], r"X\[0\] must hold hashable elements"),
        (kernels.Spectrum(), ["abc", 3], r"X\[1\] must be a string or another sequence; got 3"),
        (kernels.Spectrum(1), [[[]]], r"X\[0\] must hold hashable elements"),
    ],
)
def test_bad_structures(kernel, inputs, text):
    with pytest.raises(TypeError, match=text):
        kernel(inputs)
    good = [{1}] if isinstance(kernel, kernels.SetIntersection) else ["abc"]
    with pytest.raises(TypeError, match=text.replace("X", "Y", 1)):
        kernel(good, inputs)
    with pytest.raises(TypeError, match=r"^Y must be a sequence of inputs; got 3"):
        kernel(good, 3)


def sentences(n=60, index=0):
    """Strings over two letters; in one class runs are longer."""
    rng = np.random.default_rng(seed(index))
    y = np.resize([0, 1], n)
    strings = []
    for label in y:
        turn = rng.random(25) < (0.7 if label else 0.2)
        strings.append("".join(np.where(np.cumsum(turn) % 2, "a", "b")))
    return strings, y


def series(strings):
    return pytest.importorskip("pandas").Series(strings)


@pytest.mark.parametrize(
    ("kernel", "container"),
    [
        (kernels.normalize(kernels.Spectrum(2)), list),
        (kernels.Spectrum(3) * 0.1 + 1, np.array),
        (kernels.Spectrum(3) * 0.1 + 1, series),
    ],
)
def test_classifier_of_strings(kernel, container):
    """Fit, predict and pickle as with vectors."""
    strings, y = sentences()
    given = {"softness": 0.1, "random_state": seed(0)}
    model = bayespoint.BayesPointClassifier(kernel=kernel, **given)
    model.fit(container(strings), y)
    assert model.X_fit_.shape == (60,)
    assert model.X_fit_.dtype == object
    assert not hasattr(model, "n_features_in_")
    new, truth = sentences(200, index=1)
    assert model.score(container(new), truth) > 0.8
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
    gram = bayespoint.BayesPointClassifier(kernel="precomputed", **given)
    gram.fit(kernel(strings), y)
    np.testing.assert_array_equal(gram.dual_coef_, model.dual_coef_)


def test_structured_inputs_are_checked():
    model = bayespoint.BayesPointClassifier(kernel=kernels.Spectrum(1))
    for bad, error, text in [
        ("abc", TypeError, "X must be a sequence of inputs; got 'abc'"),
        ({"a", "b"}, TypeError, r"X must be a sequence of inputs; got \{"),
        (np.array([["ab"], ["cd"]]), ValueError, "one-dimensional sequence for this kernel; got 2"),
        (["ab"], ValueError, "inconsistent numbers of samples"),
    ]:
        with pytest.raises(error, match=text):
            model.fit(bad, [0, 1])
    hard = bayespoint.BayesPointClassifier(
        kernel=kernels.Spectrum(1), fit_intercept=False, softness=0.0
    )
    with pytest.raises(ValueError, match=r"must be positive; got 0\.0 at example 1"):
        hard.fit(["ab", ""], [0, 1])
    X = np.random.default_rng(seed(0)).standard_normal((30, 7))
    model.set_params(kernel="linear").fit(X, np.resize([0, 1], 30))
    assert model.n_features_in_ == 7
    model.set_params(kernel=kernels.Spectrum(1), random_state=seed(0)).fit(["ab", "cd"], [0, 1])
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match="X must hold at least one input"):
        model.predict([])
