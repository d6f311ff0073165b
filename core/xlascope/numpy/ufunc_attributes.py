"""Methods of NumPy's ufuncs as attributes of functions: ``add.reduce``, ``maximum.accumulate``, ``add.at``.

``jnp.add`` stays a plain function; the methods are attributes of it, and import their implementation when
they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .. import bootstrap

F = TypeVar("F", bound=Callable[..., Any])


class UfuncMethod:
    """Method of an elementwise function, such as ``reduce`` of ``add``, that is an attribute of the function.

    A call passes the elementwise function as first argument to the function of the method's name in
    ``ufunc_methods``, which is imported then.
    """

    __slots__ = ("__name__", "_function")

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(bootstrap.ufunc_methods(), self.__name__)(self._function, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<method {self.__name__} of {self._function.__name__}>"


def add_ufunc_attributes(nin: int, identity: Any) -> Callable[[F], F]:
    """Return a decorator that gives a function of ``nin`` operands the attributes of a ufunc.

    These are ``at`` and, for two operands, ``reduce``, ``reduceat``, ``accumulate`` and ``outer``. ``identity``
    is the function's identity element, or None.
    """

    def decorate(function: F) -> F:
        methods = ("at", "reduce", "reduceat", "accumulate", "outer") if nin == 2 else ("at",)
        attributes = {"nin": nin, "nout": 1, "nargs": nin, "identity": identity}
        function.__dict__.update(attributes, **{name: UfuncMethod(function, name) for name in methods})
        return function

    return decorate
