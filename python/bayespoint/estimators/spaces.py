"""The version spaces of a fitted classifier's binary problems, as a mixin of its class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayespoint import kernels
from bayespoint.base import memory, validation
from bayespoint.base.validation import Floats, Labels
from bayespoint.engine.problem import Problem
from bayespoint.version_space import VersionSpace


class SpacesMixin:
    """A classifier with a kernel that remembers the settings and labels of its fit."""

    kernel_: Any
    X_fit_: NDArray[Any] | None
    _offset: float
    _index: NDArray[np.intp]
    _softness: Floats

    def _labels(self, index: NDArray[np.intp]) -> Labels:
        raise NotImplementedError

    def _training_inputs(self, gram: ArrayLike | None) -> Any:
        """Return the training inputs, or with kernel="precomputed" the matrix given again."""
        m = len(self._index)
        if isinstance(self.kernel_, str):
            if gram is None:
                raise ValueError(
                    "gram must be the (n_samples, n_samples) matrix given to fit with "
                    "kernel='precomputed'; got None"
                )
            inputs = validation.dense("gram", gram)
            if inputs.shape != (m, m):
                raise ValueError(f"gram must have shape ({m}, {m}); got shape {inputs.shape}")
            return inputs
        if gram is not None:
            raise ValueError("gram must be None unless kernel='precomputed'")
        memory.require(8.0 * m * m, f"the kernel matrix of {m} examples")
        return self.X_fit_

    def _spaces(self, gram: ArrayLike | None) -> list[VersionSpace]:
        """Return the version space of each binary problem, all on one matrix."""
        inputs = self._training_inputs(gram)
        matrix, _ = kernels.training_gram(self.kernel_, inputs, self._offset, self._softness)
        return [
            VersionSpace.over(Problem(matrix, labels, self._softness, self._offset))
            for labels in self._labels(self._index)
        ]
