"""Loaders: each data set as a Bunch, a pair or a frame."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from bayespoint.base import validation
from bayespoint.datasets import origin
from bayespoint.datasets.tables import bunch, bundled, filename, parsed


def load_sonar(
    *,
    split: str | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | os.PathLike[str] | None = None,
) -> Any:
    """Load the sonar data of Gorman and Sejnowski: rocks against mines.

    ==================  ====================
    Classes                                2
    Examples per class   97 (-1), 111 (+1)
    Examples                             208
    Features                              60
    Values                real, from 0 to 1
    ==================  ====================

    The rows are sorted by class: shuffle or stratify before splitting. The data set is part of the
    package; nothing is downloaded, unless `split` asks for the published one.

    Parameters
    ----------
    split : {"aspect"}, default=None
        "aspect": the original study's split by aspect angle, 104 examples for training (55 rocks,
        49 mines) and 104 for the test (42 rocks, 62 mines). It is not part of the package: see
        `data_home`.
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch; with ``split="aspect"`` the four
        ``(X_train, X_test, y_train, y_test)``.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.
    data_home : path, default=None
        Only with ``split="aspect"``: folder that holds ``sonar_aspect_split.csv``, or is to. None:
        the folder that the environment variable BAYESPOINT_DATA names or, if it is not there,
        ``~/.cache/bayespoint``. Where it is not found it is downloaded from UCI once.

    Returns
    -------
    sonar : sklearn.utils.Bunch or tuple
        With ``return_X_y=True`` a tuple, otherwise a dictionary whose keys are also attributes:

        data : ndarray or DataFrame of shape (208, 60)
            Energy in each frequency band, one example per row.
        target : ndarray or Series of shape (208,)
            -1 for a rock, +1 for a mine, integers.
        train, test : ndarray of shape (104,)
            With ``split="aspect"`` the rows of the two parts.
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
    ConnectionError
        If the split was not found and could not be downloaded.
    OSError
        If a file or a download does not hold the split, or cannot be read or written.
    ValueError
        If `split` is something else, or `data_home` is given without it.

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
    validation.choice("split", split, ("aspect", None))
    return_X_y = validation.boolean("return_X_y", return_X_y)
    if split is None and data_home is not None:
        raise ValueError("data_home must be None unless split='aspect': the data are bundled")
    more = {}
    if split is not None:
        lines, _ = origin.table("sonar_aspect_split", data_home)
        fields = [line.split(",") for line in lines[1:]]
        flags = np.zeros(len(fields), dtype=bool)
        for row, _, flag, _ in fields:
            flags[int(row)] = flag == "1"
        more = {"train": np.flatnonzero(flags), "test": np.flatnonzero(~flags)}
    found = _load(
        "sonar", "Sonar", ["rock", "mine"], return_X_y and split is None, as_frame, **more
    )
    if split is None or not return_X_y:
        return found
    train, test = more["train"], more["test"]
    if as_frame:
        X, y = found.data.iloc, found.target.iloc
        return X[train], X[test], y[train], y[test]
    return found.data[train], found.data[test], found.target[train], found.target[test]


def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the ionosphere data: radar returns that show structure, or do not.

    ==================  ====================
    Classes                                2
    Examples per class   126 (-1), 225 (+1)
    Examples                             351
    Features                              33
    Values               real, from -1 to 1
    ==================  ====================

    Part of the package. The second of UCI's 34 columns, constant, is left out.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_sonar` without a split. -1 is a bad return, +1 a good one.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    V. G. Sigillito, S. P. Wing, L. V. Hutton and K. B. Baker, "Classification of radar returns
    from the ionosphere using neural networks", Johns Hopkins APL Technical Digest 10 (1989).

    Examples
    --------
    >>> from bayespoint.datasets import load_ionosphere
    >>> load_ionosphere().data.shape
    (351, 33)
    """
    return _load("ionosphere", "Ionosphere", ["bad", "good"], return_X_y, as_frame)


def load_wisconsin(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Wisconsin breast cancer data (original): benign or malignant.

    ==================  ========================
    Classes                                    2
    Examples per class       444 (-1), 239 (+1)
    Examples                                 683
    Features                                   9
    Values               integers, from 1 to 10
    ==================  ========================

    Part of the package. These are the rows without a missing value.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_sonar` without a split. -1 is benign, +1 malignant.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    W. H. Wolberg and O. L. Mangasarian, "Multisurface method of pattern separation for medical
    diagnosis applied to breast cytology", Proceedings of the National Academy of Sciences 87
    (1990), 9193-9196.

    Examples
    --------
    >>> from bayespoint.datasets import load_wisconsin
    >>> load_wisconsin().data.shape
    (683, 9)
    """
    return _load("wisconsin", "Wisconsin", ["benign", "malignant"], return_X_y, as_frame)


def load_heart(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Statlog heart data: absence or presence of heart disease.

    ==================  ====================
    Classes                                2
    Examples per class   150 (-1), 120 (+1)
    Examples                             270
    Features                              13
    ==================  ====================

    Part of the package.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_sonar` without a split. -1 is absence, +1 presence.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    R. Detrano et al., "International application of a new probability algorithm for the diagnosis
    of coronary artery disease", American Journal of Cardiology 64 (1989), 304-310.

    Examples
    --------
    >>> from bayespoint.datasets import load_heart
    >>> load_heart().data.shape
    (270, 13)
    """
    return _load("heart", "Heart", ["absence", "presence"], return_X_y, as_frame)


def load_diabetes(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Pima Indians diabetes data: signs of diabetes within five years, or none.

    ==================  ====================
    Classes                                2
    Examples per class   500 (-1), 268 (+1)
    Examples                             768
    Features                               8
    ==================  ====================

    Part of the package. Not scikit-learn's data set of the same name, which is for regression.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_sonar` without a split. -1 is a negative test, +1 a positive one.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    J. W. Smith et al., "Using the ADAP learning algorithm to forecast the onset of diabetes
    mellitus", Proceedings of the Symposium on Computer Applications in Medical Care (1988),
    261-265.

    Examples
    --------
    >>> from bayespoint.datasets import load_diabetes
    >>> load_diabetes().data.shape
    (768, 8)
    """
    return _load("diabetes", "Diabetes", ["negative", "positive"], return_X_y, as_frame)


def load_banana(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Rätsch's banana data: two crescents in the plane that overlap.

    ==================  ======================
    Classes                                  2
    Examples per class   2924 (-1), 2376 (+1)
    Examples                              5300
    Features                                 2
    ==================  ======================

    Part of the package. Features have mean 0 and standard deviation 1.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_sonar` without a split.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    G. Rätsch, T. Onoda and K.-R. Müller, "Soft margins for AdaBoost", Machine Learning 42 (2001),
    287-320.

    Examples
    --------
    >>> from bayespoint.datasets import load_banana
    >>> load_banana().data.shape
    (5300, 2)
    """
    return _load("banana", "Banana", ["-1", "+1"], return_X_y, as_frame)


def load_thyroid(
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: str | os.PathLike[str] | None = None,
) -> Any:
    """Load the new-thyroid data: normal, or hyper- or hypothyroid.

    ==================  ===================
    Classes                               2
    Examples per class   150 (-1), 65 (+1)
    Examples                            215
    Features                              5
    ==================  ===================

    Not part of the package: see `data_home`. The two diseases are one class, as in Rätsch's
    benchmarks. The rows are in the order of their text, from whatever source.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.
    data_home : path, default=None
        Folder that holds ``thyroid.csv``, or is to. None: the folder that the environment variable
        BAYESPOINT_DATA names or, if it is not there, ``~/.cache/bayespoint``. Where it is not
        found it is downloaded from UCI once.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        As `load_sonar` without a split; `filename` is the path of the file, `data_module` None. -1
        is normal, +1 diseased.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.
    ConnectionError
        If it was not found and could not be downloaded.
    OSError
        If a file or a download does not hold the data, or cannot be read or written.

    References
    ----------
    D. Coomans, M. Broeckaert, M. Jonckheer and D. L. Massart, "Comparison of multivariate
    discriminant techniques for clinical data: application to the thyroid functional state",
    Methods of Information in Medicine 22 (1983), 93-101.
    """
    lines, path = origin.table("thyroid", data_home)
    columns, table = parsed(lines)
    return bunch(
        "Thyroid",
        columns,
        table,
        ["normal", "diseased"],
        return_X_y=return_X_y,
        as_frame=as_frame,
        file=path,
        data_module=None,
    )


def _load(
    name: str,
    title: str,
    target_names: list[str],
    return_X_y: bool,
    as_frame: bool,
    **more: Any,
) -> Any:
    """Return a bundled data set."""
    columns, table = bundled(name)
    return bunch(
        title,
        columns,
        table,
        target_names,
        return_X_y=return_X_y,
        as_frame=as_frame,
        file=filename(name),
        **more,
    )
