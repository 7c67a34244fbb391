"""A toy problem whose version space may be long and thin.

Herbrich, Graepel and Campbell (1999, Section 6) show one problem of ten examples in three
dimensions where a hard-margin support vector machine has 15.1 % errors and the Bayes point 8.0 %.
The experiment ``figure-4`` makes the comparison on 500 of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bayespoint.base import validation
from bayespoint.base.validation import RandomState

__all__ = ["make_elongated"]


def make_elongated(
    n_train: int = 10,
    n_test: int = 10_000,
    *,
    n_features: int = 3,
    random_state: RandomState = None,
) -> Any:
    """Make a linear problem of few examples, whose version space may be elongated.

    The toy problem of Herbrich, Graepel and Campbell (Figure 4): uniform points in the cube
    [-1, 1]^d, labeled by a random plane through the origin.

    Parameters
    ----------
    n_train, n_test, n_features : int, default=10, 10000 and 3
        Numbers of training and test examples, and dimension of the cube, at least 1.
    random_state : None, int, Generator or RandomState, default=None
        Seed.

    Returns
    -------
    problem : sklearn.utils.Bunch
        A dictionary whose keys are also attributes:

        data, test_data : ndarray of shape (n_train, n_features) and (n_test, n_features)
            Inputs.
        target, test_target : ndarray of shape (n_train,) and (n_test,)
            Labels -1 and +1, integers. For few examples all of them may be the same.
        teacher : ndarray of shape (n_features,)
            Unit normal of the plane, on the side of +1.
        DESCR : str
            Description of the data.

    References
    ----------
    R. Herbrich, T. Graepel, C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
    Technical Report 99-11, Technical University of Berlin, 1999, Section 6.

    Examples
    --------
    >>> from bayespoint.papers.elongated import make_elongated
    >>> problem = make_elongated(random_state=0)
    >>> problem.data.shape, problem.test_data.shape
    ((10, 3), (10000, 3))
    >>> bool((problem.target * (problem.data @ problem.teacher) > 0).all())
    True
    """
    sizes = [
        validation.integer(name, value, low=1, high=10**8)
        for name, value in (("n_train", n_train), ("n_test", n_test), ("n_features", n_features))
    ]
    n_features = sizes.pop()
    rng = validation.generator(random_state)
    teacher = rng.standard_normal(n_features)
    teacher /= np.linalg.norm(teacher)
    data, test_data = (rng.uniform(-1, 1, size=(n, n_features)) for n in sizes)
    return Bunch(
        data=data,
        target=np.where(data @ teacher > 0, 1, -1),
        test_data=test_data,
        test_target=np.where(test_data @ teacher > 0, 1, -1),
        teacher=teacher,
        DESCR="Uniform points of a cube, labeled by a random plane through the origin: the toy "
        "problem of Herbrich, Graepel and Campbell (1999), Figure 4.",
    )
