"""Small data sets that the package carries or makes, in scikit-learn's form."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bayespoint import _validation
from bayespoint._validation import RandomState

__all__ = ["load_sonar", "make_elongated"]


def load_sonar(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the sonar data of Gorman and Sejnowski: rocks against mines.

    =================   ====================
    Classes                                2
    Examples per class   97 (-1), 111 (+1)
    Examples                             208
    Features                              60
    Values                real, from 0 to 1
    =================   ====================

    The rows are sorted by class: shuffle or stratify before splitting. The data set is part of the
    package; nothing is downloaded.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sonar : sklearn.utils.Bunch or tuple
        With ``return_X_y=True`` the pair ``(data, target)``, otherwise a dictionary whose keys are
        also attributes:

        data : ndarray or DataFrame of shape (208, 60)
            Energy in each frequency band, one example per row.
        target : ndarray or Series of shape (208,)
            -1 for a rock, +1 for a mine, integers.
        feature_names : list of str
            "x1" to "x60", from the lowest band to the highest.
        target_names : list of str
            ["rock", "mine"], the names of -1 and +1 in this order.
        frame : DataFrame of shape (208, 61) or None
            `data` and `target` together when ``as_frame=True``, the label in column "label".
        DESCR : str
            What the data are, their source and their license (CC BY 4.0).
        filename : str
            The name of the file that was read.
        data_module : str
            The module that holds the file.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    R. P. Gorman and T. J. Sejnowski, "Analysis of hidden units in a layered network trained to
    classify sonar targets", Neural Networks 1 (1988), 75-89.

    Examples
    --------
    >>> from bayespoint.datasets import load_sonar
    >>> sonar = load_sonar()
    >>> sonar.data.shape
    (208, 60)
    >>> [(name, int((sonar.target == label).sum()))
    ...  for label, name in zip((-1, 1), sonar.target_names)]
    [('rock', 97), ('mine', 111)]
    >>> X, y = load_sonar(return_X_y=True)
    >>> X[0, :3]
    array([0.02  , 0.0371, 0.0428])
    """
    filename = "sonar.csv"
    with resources.files(__name__).joinpath(filename).open(encoding="utf-8") as file:
        columns = file.readline().rstrip("\n").split(",")
        table = np.loadtxt(file, delimiter=",")
    data: Any = np.ascontiguousarray(table[:, :-1])
    target: Any = table[:, -1].astype(np.int64)
    frame = None
    if as_frame:
        frame = _to_frame(data, target, columns)
        data, target = frame[columns[:-1]], frame[columns[-1]]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=columns[:-1],
        target_names=["rock", "mine"],
        DESCR=_description("Sonar"),
        filename=filename,
        data_module=__name__,
    )


def make_elongated(
    n_train: int = 10,
    n_test: int = 10_000,
    *,
    n_features: int = 3,
    random_state: RandomState = None,
) -> Any:
    """Make a linear problem of few examples, whose version space may be long and thin.

    =================   ==================================
    Classes                                              2
    Examples            10 for training, 10 000 for a test
    Features                                             3
    Values              real, from -1 to 1
    =================   ==================================

    The toy problem of Herbrich, Graepel and Campbell (their Figure 4): points uniform in the cube,
    labeled by a random plane through the origin.

    Parameters
    ----------
    n_train : int, default=10
        Training examples, at least 1.
    n_test : int, default=10000
        Test examples, at least 1.
    n_features : int, default=3
        Dimensions, at least 1.
    random_state : None, int, Generator or RandomState, default=None
        Seed. None asks NumPy's global generator.

    Returns
    -------
    problem : sklearn.utils.Bunch
        A dictionary whose keys are also attributes:

        data : ndarray of shape (n_train, n_features)
            Training inputs.
        target : ndarray of shape (n_train,)
            -1 or +1, integers. With few examples all may be of one class.
        test_data : ndarray of shape (n_test, n_features)
            Test inputs.
        test_target : ndarray of shape (n_test,)
            Their labels.
        teacher : ndarray of shape (n_features,)
            Unit normal of the plane: +1 is where the product with it is positive.
        DESCR : str
            What the data are.

    Raises
    ------
    ValueError, TypeError
        If a number is too small or no integer, or `random_state` is no seed.

    See Also
    --------
    bayespoint.elongated.center_errors : Maximal margin against Bayes point on many of these.

    References
    ----------
    R. Herbrich, T. Graepel, C. Campbell, "Bayesian Learning in Reproducing Kernel Hilbert Spaces",
    Technical Report 99-11, Technical University of Berlin, 1999, Section 6.

    Examples
    --------
    >>> from bayespoint.datasets import make_elongated
    >>> problem = make_elongated(random_state=0)
    >>> problem.data.shape, problem.test_data.shape
    ((10, 3), (10000, 3))
    >>> bool((problem.target * (problem.data @ problem.teacher) > 0).all())
    True
    """
    n_train = _validation.integer("n_train", n_train, low=1)
    n_test = _validation.integer("n_test", n_test, low=1)
    n_features = _validation.integer("n_features", n_features, low=1)
    rng = np.random.default_rng(_validation.seed(random_state))
    teacher = rng.standard_normal(n_features)
    teacher /= np.linalg.norm(teacher)
    data, test_data = (rng.uniform(-1, 1, size=(n, n_features)) for n in (n_train, n_test))
    return Bunch(
        data=data,
        target=np.where(data @ teacher > 0, 1, -1),
        test_data=test_data,
        test_target=np.where(test_data @ teacher > 0, 1, -1),
        teacher=teacher,
        DESCR=(
            "Uniform points of a cube, labeled by a random plane through the origin: the toy "
            "problem of Herbrich, Graepel and Campbell (1999), Figure 4."
        ),
    )


def _to_frame(data: Any, target: Any, columns: list[str]) -> Any:
    """Join data and target in a DataFrame; say what to install when pandas is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: run `pip install pandas`, "
            "or use as_frame=False for NumPy arrays"
        ) from error
    frame = pd.DataFrame(data, columns=columns[:-1])
    frame[columns[-1]] = target
    return frame


def _description(title: str) -> str:
    """Return the section `title` of the README beside the data."""
    text = resources.files(__name__).joinpath("README.md").read_text(encoding="utf-8")
    section = text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    return f"{title}\n{section}".rstrip() + "\n"
