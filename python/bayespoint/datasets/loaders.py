"""The bundled data sets. What is known of each stands in README.md, beside the data."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bayespoint.base import validation

_MODULE = "bayespoint.datasets"
_DOCSTRING = """Load {summary}.

    {n} examples with {d} features: {negatives} of class -1 ({names[0]}) and {positives} of class +1
    ({names[1]}).
    Features: {features}
    The rows may be sorted by class: shuffle or stratify before splitting.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return the pair ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return `data` as a pandas DataFrame, `target` as a Series; ImportError without pandas.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``return_X_y=True`` the pair, otherwise a dictionary whose keys are also attributes:
        `data` of shape ({n}, {d}), an example per row; `target` of shape ({n},), integers -1 and
        +1; `feature_names` and `target_names`, of the columns and of -1 and +1; `frame`, data and
        target or None; `DESCR`, with source and license; `filename` in the package `data_module`.

    References
    ----------
    {reference}
    """


def _loader(name: str, summary: str) -> Callable[..., Any]:
    folder = resources.files(_MODULE)
    text = folder.joinpath("README.md").read_text(encoding="utf-8")
    section = text.split(f"## {name.capitalize()}\n", 1)[1].split("\n## ", 1)[0].rstrip()
    points = dict(re.findall(r"^- (\w+): (.*(?:\n  .*)*)", section, flags=re.MULTILINE))
    n, d = re.findall(r"(\d+) examples, (\d+) features", points["File"])[0]
    counts = re.findall(r"([-+]1) ?(\w*) \((\d+) examples\)", points["File"])
    names = [own or label for label, own, _ in counts]
    filename = points["File"].split("`")[1]

    def loader(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
        return_X_y = validation.boolean("return_X_y", return_X_y)
        as_frame = validation.boolean("as_frame", as_frame)
        content = folder.joinpath(filename).read_bytes()
        if filename.endswith(".gz"):
            content = gzip.decompress(content)
        header, *lines = content.decode().splitlines()
        *columns, label = header.split(",")
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
        data: Any = np.ascontiguousarray(table[:, :-1])
        target: Any = table[:, -1].astype(np.int64)
        frame = None
        if as_frame:
            try:
                import pandas as pd
            except ImportError as error:
                raise ImportError(
                    "as_frame=True needs pandas, which is not installed: run "
                    "`pip install pandas`, or use as_frame=False for NumPy arrays"
                ) from error
            frame = pd.DataFrame(data, columns=columns).assign(**{label: target})
            data, target = frame[columns], frame[label]
        if return_X_y:
            return data, target
        return Bunch(
            data=data,
            target=target,
            frame=frame,
            feature_names=columns,
            target_names=list(names),
            DESCR=f"{name.capitalize()}\n{section}\n",
            filename=filename,
            data_module=_MODULE,
        )

    loader.__name__ = loader.__qualname__ = f"load_{name}"
    loader.__doc__ = _DOCSTRING.format(
        summary=summary,
        names=names,
        n=n,
        d=d,
        negatives=counts[0][2],
        positives=counts[1][2],
        features=points["Features"].replace("\n", "\n  "),
        reference=points["Reference"].replace("\n", "\n  "),
    )
    return loader


load_sonar = _loader("sonar", "the sonar data of Gorman and Sejnowski: rocks against mines")
load_ionosphere = _loader(
    "ionosphere", "the ionosphere data: radar returns that show structure, or do not"
)
load_wisconsin = _loader(
    "wisconsin", "the Wisconsin breast cancer data (original): benign or malignant"
)
load_heart = _loader("heart", "the Statlog heart data: absence or presence of heart disease")
load_diabetes = _loader(
    "diabetes", "the Pima Indians diabetes data: signs of diabetes within five years, or none"
)
load_banana = _loader("banana", "Rätsch's banana data: two crescents in the plane that overlap")
