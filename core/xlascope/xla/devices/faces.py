"""Python members of jaxlib's single array class, shared with jax: an array's type says which engine made it.

Without jax, members that we define with :func:`define_array_member` are set on the class. jax sets its members
with ``setattr`` in the modules below, whichever engine came first; each name that it sets is replaced at once by a
member that dispatches on the array's type, so that no array ever has the other engine's members.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable
from typing import Any

from ...ir.avals import WAY_TO_JAX, ShapedArray
from ...runtime import beside
from .backend import ArrayImpl

_JAX_SETS_ATTRIBUTES = ("jax._src.util", "jax._src.array", "jax._src.numpy.array_methods")
#: Binary operators: calls without ``*args`` are faster.
_TWO_OPERANDS = {
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"),
    *("__matmul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__getitem__"),
}
_NOT_FACE = ("__annotations__", "__dict__", "__doc__", "__module__", "__weakref__")

_ours: dict[str, Any] = {}
_theirs: dict[str, Any] = {}
_settled: dict[str, Any] = {}
_nothing: Any = object()
_lock = threading.Lock()


def is_ours(x: Any) -> bool:
    """Return whether a value is an array that this engine made.

    >>> import xlascope.numpy as jnp
    >>> is_xlascope_array(jnp.ones(3)), is_xlascope_array(3)
    (True, False)
    """
    return x.__class__ is ArrayImpl and x.aval.__class__ is ShapedArray


def is_foreign(x: Any) -> bool:
    """Return whether a value is an array that jax made."""
    return x.__class__ is ArrayImpl and x.aval.__class__ is not ShapedArray


def give(name: str, member: Any) -> None:
    """Define a method, property or value of this engine's arrays."""
    _ours[name] = member
    _settle(name)


def _set_attribute(owner: Any, name: str, value: Any) -> None:
    """Replace ``setattr`` in jax's modules."""
    if owner is ArrayImpl and name not in _NOT_FACE:
        _theirs[name] = value
        _settle(name)
    else:
        builtins.setattr(owner, name, value)


def _settle(name: str) -> None:
    with _lock:  # the last thread to enter sees the members of both
        member = _settled[name] = _member(name)
        setattr(ArrayImpl, name, member)


def _member(name: str) -> Any:
    xlascope_member, jax_member = _ours.get(name, _nothing), _theirs.get(name, _nothing)
    if jax_member is _nothing or xlascope_member == jax_member:
        return xlascope_member
    if xlascope_member is _nothing:  # jax uses these on its own arrays only, one before an array has a type
        return jax_member if _is_private(name) else _OnlyTheirs(name, jax_member)
    if callable(xlascope_member) and callable(jax_member):
        return _two_methods(name, xlascope_member, jax_member)
    if isinstance(xlascope_member, property) and isinstance(jax_member, property):
        return _two_properties(xlascope_member.fget, jax_member.fget)
    return property(lambda x: _bound(xlascope_member if x.aval.__class__ is ShapedArray else jax_member, x, ArrayImpl))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _bound(member: Any, x: Any, owner: type) -> Any:
    """Bind a member of a class to one of its objects, or to the class if ``x`` is None."""
    get = getattr(type(member), "__get__", None)
    return member if get is None else get(member, x, owner)


def _two_methods(name: str, xlascope_method: Callable[..., Any], jax_method: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (xlascope_method if self.aval.__class__ is ShapedArray else jax_method)(self, *args, **kwargs)

    def operator(self: Any, other: Any) -> Any:
        return (xlascope_method if self.aval.__class__ is ShapedArray else jax_method)(self, other)

    dispatcher = operator if name in _TWO_OPERANDS else method
    dispatcher.__name__, dispatcher.__doc__ = name, jax_method.__doc__
    return dispatcher


def _two_properties(xlascope_get: Any, jax_get: Any) -> property:
    return property(lambda x: xlascope_get(x) if x.aval.__class__ is ShapedArray else jax_get(x), doc=jax_get.__doc__)


class _OnlyTheirs:
    """Member that arrays of jax have and ours do not."""

    def __init__(self, name: str, member: Any) -> None:
        self._name, self._member = name, member
        self.__doc__ = member.__doc__

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return _bound(self._member, None, owner)
        if x.aval.__class__ is ShapedArray:
            raise AttributeError(f"an array of xlascope has no attribute {self._name!r}, one of jax has: {WAY_TO_JAX}")
        return _bound(self._member, x, owner)

    def __set__(self, x: Any, value: Any) -> None:
        raise AttributeError(f"{self._name!r} of an array cannot be set")


def _take_up_theirs() -> None:
    """Install dispatching members for those that jax has set already."""
    for name, member in list(vars(ArrayImpl).items()):
        if name not in _NOT_FACE and member is not _settled.get(name) and _is_python(member):
            _theirs[name] = member
            _settle(name)


def _is_python(member: Any) -> bool:
    """Return whether a member of the class was written in Python rather than by jaxlib."""
    return not type(getattr(member, "fget", member)).__name__.startswith(("nb_", "builtin_", "getset_", "wrapper_"))


if beside.here():
    _take_up_theirs()
for _module in _JAX_SETS_ATTRIBUTES:
    beside.setattr_of(_module, _set_attribute)
beside.on_import("jax", _take_up_theirs)
