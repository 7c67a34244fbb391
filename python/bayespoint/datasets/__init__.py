"""The data of the papers, bundled or fetched, and generators, in scikit-learn's form.

=================  ==================================================================
`load_sonar`       rocks against mines, also split by aspect angle
`load_ionosphere`  radar returns from the ionosphere
`load_wisconsin`   breast cancer, Wisconsin
`load_heart`       heart disease
`load_diabetes`    diabetes among Pima women
`load_banana`      two crescents in the plane
`load_thyroid`     the thyroid's function (fetched: not part of the package)
`make_waveform`    Breiman's waveforms
`make_teacher`     examples labeled by a perceptron
`make_elongated`   few examples in a cube, labeled by a plane
`make_words`       words, some with a motif, for string kernels
`make_sets`        sets, for set kernels
=================  ==================================================================

Labels are -1 and +1. What is not part of the package is read from the folder `data_home` or, if
that is None, from the one that the environment variable BAYESPOINT_DATA names; where neither has
it, it is downloaded once, checked and kept.
"""

from __future__ import annotations

from bayespoint.datasets.generators import (
    make_elongated,
    make_sets,
    make_teacher,
    make_waveform,
    make_words,
)
from bayespoint.datasets.loaders import (
    load_banana,
    load_diabetes,
    load_heart,
    load_ionosphere,
    load_sonar,
    load_thyroid,
    load_wisconsin,
)

__all__ = [
    "load_banana",
    "load_diabetes",
    "load_heart",
    "load_ionosphere",
    "load_sonar",
    "load_thyroid",
    "load_wisconsin",
    "make_elongated",
    "make_sets",
    "make_teacher",
    "make_waveform",
    "make_words",
]
