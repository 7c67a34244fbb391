"""The base class of the kernels: what they offer, and their parameters as scikit-learn's."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from bayespoint.kernels.protocol import Floats, Inputs, Parameter

if TYPE_CHECKING:
    from typing_extensions import Self


class KernelObject:
    """A kernel whose parameters can be read, set and tuned.

    Kernels are frozen dataclasses: equal and of the same hash if all that they were made of is
    equal. `set_params` is the only way to change one.
    """

    requires_vector_input: bool | None = True
    """Whether inputs are the rows of a numeric array, or entries of any kind; None for both."""

    accepts_sparse: bool | None = False
    """Whether inputs may be the rows of a sparse matrix; None for a kernel that takes anything."""

    semidefinite = True
    """Whether the kernel is known to be positive semidefinite."""

    def __call__(self, X: Inputs, Y: Inputs | None = None) -> Floats:
        """Return the (n, n') matrix of kernel values; ``Y=None`` stands for `X`."""
        raise NotImplementedError

    def diag(self, X: Inputs) -> Floats:
        """Return the values ``k(x, x)``.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            What the kernel takes.

        Returns
        -------
        ndarray of shape (n,)
            One value for each example.
        """
        raise NotImplementedError

    def parameters(self, X: Inputs) -> tuple[Parameter, ...]:
        """Return the parameters that can be tuned.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            The training inputs: bounds and starts are of their scale.

        Returns
        -------
        tuple of Parameter
            Their names, bounds and starts.
        """
        return ()

    def with_values(self, values: Mapping[str, float]) -> Self:
        """Return the kernel with other values of declared parameters.

        Parameters
        ----------
        values : mapping of str to float
            New values, under the names that `parameters` gives.

        Returns
        -------
        kernel object
            Another one.
        """
        return dataclasses.replace(self, **values)  # type: ignore[type-var]

    def derivatives(self, X: Inputs, gram: Floats) -> Mapping[str, Floats]:
        """Return the derivatives of the kernel matrix by the logarithms of parameters.

        Parameters
        ----------
        X : array of shape (n, n_features), or a sequence of n examples
            What the kernel takes.
        gram : ndarray of shape (n, n)
            The matrix ``k(X)``.

        Returns
        -------
        mapping of str to ndarray of shape (n, n)
            By names of parameters, each computed when it is asked for. Those that are missing are
            searched without a derivative.
        """
        return {}

    # --- parameters by name, so that a grid can search ``kernel__sigma`` ---

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return what the kernel was made of.

        Parameters
        ----------
        deep : bool, default=True
            With the parameters of the kernels inside, as ``kernel__sigma`` for a multiple and
            ``0__sigma`` for the first part of a sum or product. ``0`` itself is that part.

        Returns
        -------
        dict
            Values by name.
        """
        own = _fields(self)
        if not deep:
            return own
        found: dict[str, Any] = {}
        for name, value in {**own, **_numbered(own)}.items():
            found[name] = value
            if _has_params(value):
                found.update({f"{name}__{key}": each for key, each in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change the kernel itself, as scikit-learn's are changed.

        Kernels inside are replaced and stay as they are elsewhere; so does the copy that a fitted
        classifier has in ``kernel_``. Do not change a kernel that is in a set or the key of a
        dictionary.

        Parameters
        ----------
        **params : dict
            Values under names of `get_params`.

        Returns
        -------
        kernel object
            The kernel itself.

        Raises
        ------
        ValueError
            If there is no such parameter, or a value is out of range: then nothing is changed.
        """
        assign(self, **_fields(_changed(self, params)))
        return self

    def __sklearn_clone__(self) -> Self:
        if not dataclasses.is_dataclass(self):
            return copy.deepcopy(self)
        return type(self)(**{k: clone(value, safe=False) for k, value in _fields(self).items()})


def assign(kernel: KernelObject, /, **values: Any) -> None:
    """Set fields of a kernel, which is frozen, to checked values."""
    for name, value in values.items():
        object.__setattr__(kernel, name, value)


def _fields(kernel: KernelObject) -> dict[str, Any]:
    """Return what a kernel was made of; nothing for a user's that is no dataclass."""
    known: tuple[Any, ...] = dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel) else ()
    return {each.name: getattr(kernel, each.name) for each in known}


def _numbered(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a sum or product by their numbers."""
    return {str(number): part for number, part in enumerate(fields.get("parts", ()))}


def _has_params(value: object) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _changed(kernel: KernelObject, params: Mapping[str, Any]) -> KernelObject:
    """Return a kernel with other parameters, named as in `get_params`."""
    whole: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for key, value in params.items():
        name, nested, rest = key.partition("__")
        if nested:
            inner.setdefault(name, {})[rest] = value
        else:
            whole[name] = value
    fields = _fields(kernel)
    fields.update({name: whole[name] for name in whole.keys() & fields.keys()})
    numbered = _numbered(fields)
    known = {**fields, **numbered}
    for name in (*whole, *inner):
        if name not in known:
            valid = ", ".join(sorted(known)) or "none"
            raise ValueError(f"the parameters of {kernel!r} are: {valid}; got {name!r}")
    known.update(whole)
    for name, values in inner.items():
        value = known[name]
        if isinstance(value, KernelObject):
            known[name] = _changed(value, values)
        elif _has_params(value):
            known[name] = clone(value, safe=False).set_params(**values)
        else:
            raise ValueError(
                f"{name} of {kernel!r} has no parameters to set; got {', '.join(values)}"
            )
    if numbered:
        known["parts"] = tuple(known[number] for number in numbered)
    return type(kernel)(**{name: known[name] for name in fields}) if fields else kernel
