"""The bundled data sets: one table of them, and one function that loads any of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from bayespoint.base import validation
from bayespoint.base.validation import Floats

_MODULE = "bayespoint.datasets"


class _DataSet(NamedTuple):
    """Facts about a data set for its documentation; its file is ``<name>.csv`` or ``.csv.gz``."""

    summary: str
    target_names: tuple[str, str]
    examples: tuple[int, int]
    n_features: int
    notes: str
    reference: str


_DATA_SETS = {
    "sonar": _DataSet(
        "the sonar data of Gorman and Sejnowski: rocks against mines",
        ("rock", "mine"),
        (97, 111),
        60,
        "Features are the energies in 60 frequency bands, from the lowest, between 0 and 1.",
        'R. P. Gorman and T. J. Sejnowski, "Analysis of hidden units in a layered network trained '
        'to\n    classify sonar targets", Neural Networks 1 (1988), 75-89.',
    ),
    "ionosphere": _DataSet(
        "the ionosphere data: radar returns that show structure, or do not",
        ("bad", "good"),
        (126, 225),
        33,
        "Features are between -1 and 1. The second of UCI's 34 columns, constant, is left out.",
        'V. G. Sigillito, S. P. Wing, L. V. Hutton and K. B. Baker, "Classification of radar '
        'returns\n    from the ionosphere using neural networks", Johns Hopkins APL Technical '
        "Digest 10 (1989).",
    ),
    "wisconsin": _DataSet(
        "the Wisconsin breast cancer data (original): benign or malignant",
        ("benign", "malignant"),
        (444, 239),
        9,
        "Features are integers from 1 to 10. These are the rows without a missing value.",
        'W. H. Wolberg and O. L. Mangasarian, "Multisurface method of pattern separation for '
        'medical\n    diagnosis applied to breast cytology", Proceedings of the National Academy '
        "of Sciences 87\n    (1990), 9193-9196.",
    ),
    "heart": _DataSet(
        "the Statlog heart data: absence or presence of heart disease",
        ("absence", "presence"),
        (150, 120),
        13,
        "Features have very different scales: standardize them.",
        'R. Detrano et al., "International application of a new probability algorithm for the '
        'diagnosis\n    of coronary artery disease", American Journal of Cardiology 64 (1989), '
        "304-310.",
    ),
    "diabetes": _DataSet(
        "the Pima Indians diabetes data: signs of diabetes within five years, or none",
        ("negative", "positive"),
        (500, 268),
        8,
        "Not scikit-learn's data set of the same name, which is for regression.",
        'J. W. Smith et al., "Using the ADAP learning algorithm to forecast the onset of diabetes\n'
        '    mellitus", Proceedings of the Symposium on Computer Applications in Medical Care '
        "(1988),\n    261-265.",
    ),
    "banana": _DataSet(
        "Rätsch's banana data: two crescents in the plane that overlap",
        ("-1", "+1"),
        (2924, 2376),
        2,
        "Features have mean 0 and standard deviation 1.",
        'G. Rätsch, T. Onoda and K.-R. Müller, "Soft margins for AdaBoost", Machine Learning 42 '
        "(2001),\n    287-320.",
    ),
}

_DOCSTRING = """Load {summary}.

    {n} examples with {n_features} features: {examples[0]} of class -1 ({target_names[0]}) and
    {examples[1]} of class +1 ({target_names[1]}).
    {notes}
    The rows may be sorted by class: shuffle or stratify before splitting.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame and `target` as a Series; needs pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``return_X_y=True`` a pair, otherwise a dictionary whose keys are also attributes:

        data : ndarray or DataFrame of shape ({n}, {n_features})
            One example per row.
        target : ndarray or Series of shape ({n},)
            Labels -1 and +1, integers.
        feature_names, target_names : list of str
            Names of the columns, and of -1 and +1 in this order.
        frame : DataFrame or None
            `data` and `target` together when ``as_frame=True``.
        DESCR : str
            Description of the data, with source and license.
        filename, data_module : str
            The file, and the package that contains it.

    Raises
    ------
    ImportError
        If ``as_frame=True`` and pandas is not installed.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from bayespoint.datasets import load_{name}
    >>> load_{name}().data.shape
    ({n}, {n_features})
    """


def load(name: str, *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Return a bundled data set by its name, in scikit-learn's form."""
    return_X_y = validation.boolean("return_X_y", return_X_y)
    as_frame = validation.boolean("as_frame", as_frame)
    filename, columns, table = _table(name)
    data: Any = np.ascontiguousarray(table[:, :-1])
    target: Any = table[:, -1].astype(np.int64)
    frame = None
    if as_frame:
        frame = _frame(data, target, columns)
        data, target = frame[columns[:-1]], frame[columns[-1]]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=columns[:-1],
        target_names=list(_DATA_SETS[name].target_names),
        DESCR=_description(name.capitalize()),
        filename=filename,
        data_module=_MODULE,
    )


def _table(name: str) -> tuple[str, list[str], Floats]:
    """Return the name of a bundled file, its columns and its values."""
    folder = resources.files(_MODULE)
    packed = folder.joinpath(f"{name}.csv.gz").is_file()
    filename = f"{name}.csv.gz" if packed else f"{name}.csv"
    content = folder.joinpath(filename).read_bytes()
    header, *lines = (gzip.decompress(content) if packed else content).decode().splitlines()
    return filename, header.split(","), np.loadtxt(lines, delimiter=",", ndmin=2)


def _frame(data: Any, target: Any, columns: list[str]) -> Any:
    """Return data and target in one DataFrame; raise ImportError without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: run "
            "`pip install pandas`, or use as_frame=False for NumPy arrays"
        ) from error
    frame = pd.DataFrame(data, columns=columns[:-1])
    frame[columns[-1]] = target
    return frame


def _description(title: str) -> str:
    """Return the section `title` of the README beside the data."""
    text = resources.files(_MODULE).joinpath("README.md").read_text(encoding="utf-8")
    section = text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    return f"{title}\n{section}".rstrip() + "\n"


def _loader(name: str) -> Callable[..., Any]:
    """Return the public function that loads a data set."""

    def loader(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
        return load(name, return_X_y=return_X_y, as_frame=as_frame)

    known = _DATA_SETS[name]
    loader.__name__ = loader.__qualname__ = f"load_{name}"
    loader.__doc__ = _DOCSTRING.format(name=name, n=sum(known.examples), **known._asdict())
    return loader


load_sonar = _loader("sonar")
load_ionosphere = _loader("ionosphere")
load_wisconsin = _loader("wisconsin")
load_heart = _loader("heart")
load_diabetes = _loader("diabetes")
load_banana = _loader("banana")
