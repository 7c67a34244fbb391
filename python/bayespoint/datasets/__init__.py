"""Bundled data sets and generators, with scikit-learn's interface. Labels are -1 and +1.

=================  ==================================================================
`load_sonar`       rocks against mines
`load_ionosphere`  radar returns from the ionosphere
`load_wisconsin`   breast cancer, Wisconsin
`load_heart`       heart disease
`load_diabetes`    diabetes among Pima women
`load_banana`      two crescents in the plane
`make_teacher`     examples labeled by a perceptron
`make_words`       words, some with a motif, for string kernels
`make_sets`        sets, for set kernels
=================  ==================================================================
"""

from bayespoint.datasets.generators import make_sets, make_teacher, make_words
from bayespoint.datasets.loaders import (
    load_banana,
    load_diabetes,
    load_heart,
    load_ionosphere,
    load_sonar,
    load_wisconsin,
)

__all__ = [
    "load_banana",
    "load_diabetes",
    "load_heart",
    "load_ionosphere",
    "load_sonar",
    "load_wisconsin",
    "make_sets",
    "make_teacher",
    "make_words",
]
