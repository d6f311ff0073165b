"""Class ``ufunc``: an elementwise function with the methods of NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .ufunc_attributes import UfuncMethod
from .vectorizing import vectorize


class _UfuncMeta(type):
    """Metaclass of :class:`ufunc`, which makes functions with the attributes of a ufunc count as instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(getattr(instance, "at", None), UfuncMethod)


class ufunc(metaclass=_UfuncMeta):  # noqa: N801  (NumPy's name)
    """Elementwise function of arrays with ``reduce``, ``accumulate``, ``at`` and so on.

    ``jnp.add`` and similar functions count as instances; :func:`frompyfunc` creates others. ``nin`` and ``nout``
    are the numbers of operands and results, ``identity`` is the identity element or None.
    """

    def __init__(
        self, func: Callable[..., Any], nin: int, nout: int, *, name: str | None = None, identity: Any = None
    ) -> None:
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        self.nin, self.nout, self.nargs, self.identity = nin, nout, max(nin, nout), identity
        self._vectorized = vectorize(func)
        self.at = UfuncMethod(self, "at")
        if (nin, nout) == (2, 1):
            for method in ("reduce", "reduceat", "accumulate", "outer"):
                setattr(self, method, UfuncMethod(self, method))

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} operands, got {len(args)}")
        return self._vectorized(*args)

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__}>"


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return an elementwise, broadcasting :class:`ufunc` of a function of scalars.

    ``func`` takes ``nin`` arrays without axes and returns ``nout`` (a tuple if more than one); ``identity`` is
    its identity element, if it has one. It is traced like any function. Raises TypeError if ``func`` is not
    callable, ValueError for negative numbers.

    >>> import xlascope.numpy as jnp
    >>> larger = jnp.frompyfunc(lambda x, y: jnp.where(x > y, x, y), 2, 1)
    >>> print(larger(jnp.array([1, 5]), 3), larger.reduce(jnp.array([2, 7, 4])))
    [3 5] 7
    """
    if not callable(func):
        raise TypeError(f"frompyfunc takes a function, got {func!r} of type {type(func).__name__}")
    if nin < 0 or nout < 0:
        raise ValueError(f"nin and nout are numbers of operands and results, at least 0, got {nin} and {nout}")
    return ufunc(func, nin, nout, identity=identity)
