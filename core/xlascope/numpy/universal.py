"""Methods of NumPy's ufuncs as attributes of functions: ``add.reduce``, ``maximum.accumulate``, ``add.at``.

``jnp.add`` stays a plain function; the methods are attributes of it, and import their implementation when
they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import starting

F = TypeVar("F", bound=Callable[..., Any])


class Method:
    """Method of a ufunc-like function, looked up by name in the module of implementations."""

    __slots__ = ("__name__", "_function")

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(starting.ufunc_methods(), self.__name__)(self._function, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<method {self.__name__} of {self._function.__name__}>"


def universal(nin: int, identity: Any) -> Callable[[F], F]:
    """Return a decorator that gives a function of ``nin`` operands the attributes of a ufunc.

    ``identity`` is its identity element.
    """

    def decorate(function: F) -> F:
        methods = ("at", "reduce", "reduceat", "accumulate", "outer") if nin == 2 else ("at",)
        attributes = {"nin": nin, "nout": 1, "nargs": nin, "identity": identity}
        function.__dict__.update(attributes, **{name: Method(function, name) for name in methods})
        return function

    return decorate
