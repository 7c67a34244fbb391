"""Small data sets that the package carries, with loaders in scikit-learn's form."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
from sklearn.utils import Bunch

__all__ = ["load_sonar"]


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
