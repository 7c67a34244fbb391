"""Parameters of kernels in scikit-learn's manner, so that a grid can search ``kernel__sigma``."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

if TYPE_CHECKING:
    from typing_extensions import Self


class ParamsMixin:
    """Methods by which scikit-learn reads, sets and copies what a dataclass was made of.

    Kernels are values: equal and of the same hash if all that they were made of is equal.
    `set_params` is the only way to change one.
    """

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
        own = self._own_params()
        if not deep:
            return own
        found: dict[str, Any] = {}
        for name, value in {**own, **self._numbered(own)}.items():
            found[name] = value
            if _has_params(value):
                found.update({f"{name}__{key}": each for key, each in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change the kernel itself, as scikit-learn's are changed.

        Kernels inside are replaced and stay as they are elsewhere; so does the copy that a fitted
        classifier has in ``kernel_``. A kernel that is the key of a dictionary or in a set must
        not be changed.

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
        self._set(**self._with_params(params)._own_params())
        return self

    def _with_params(self, params: Mapping[str, Any]) -> Self:
        """Return a kernel with other parameters, named as in `get_params`."""
        own = self._own_params()
        inner: dict[str, dict[str, Any]] = {}
        chosen: dict[str, Any] = {}
        for key, value in params.items():
            name, nested, rest = key.partition("__")
            if nested:
                inner.setdefault(name, {})[rest] = value
            elif name in own:
                own[name] = value
            else:
                chosen[name] = value
        numbered = self._numbered(own)
        for name in (*chosen, *inner):
            if name not in numbered and name not in own:
                valid = ", ".join(sorted({**own, **numbered})) or "none"
                raise ValueError(f"the parameters of {self!r} are: {valid}; got {name!r}")
        numbered.update(chosen)
        for name, values in inner.items():
            holder = own if name in own else numbered
            holder[name] = _changed(f"{name} of {self!r}", holder[name], values)
        if numbered:
            own["parts"] = tuple(numbered[str(k)] for k in range(len(numbered)))
        return type(self)(**own) if own else self

    def __sklearn_clone__(self) -> Self:
        if not dataclasses.is_dataclass(self):
            return copy.deepcopy(self)
        return type(self)(
            **{name: clone(value, safe=False) for name, value in self._own_params().items()}
        )

    def _own_params(self) -> dict[str, Any]:
        # A kernel of somebody else's that is no dataclass does not say what it was made of.
        known: tuple[Any, ...] = dataclasses.fields(self) if dataclasses.is_dataclass(self) else ()
        return {each.name: getattr(self, each.name) for each in known}

    @staticmethod
    def _numbered(own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a sum or product by their numbers."""
        return {str(number): part for number, part in enumerate(own.get("parts", ()))}

    def _set(self, **values: Any) -> None:
        """Set fields of a frozen dataclass: to checked values, or to others by `set_params`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _has_params(value: object) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _changed(name: str, value: Any, params: Mapping[str, Any]) -> Any:
    """Return a kernel inside another with other parameters."""
    if isinstance(value, ParamsMixin):
        return value._with_params(params)
    if not _has_params(value):
        raise ValueError(f"{name} has no parameters to set; got {', '.join(params)}")
    return clone(value, safe=False).set_params(**params)
