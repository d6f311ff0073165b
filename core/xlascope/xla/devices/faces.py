"""The Python face of jaxlib's one class of arrays. Beside jax it has two, and an array's type says whose it is.

Where there is no jax, what we :func:`give` is set on the class. jax sets its own face with ``setattr`` in the modules
below, whichever engine came first; each name that it sets is settled at once, so that no array is ever seen with the
other's face.
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
#: Operators of two operands: calls that need no ``*args`` are quicker.
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
    """Whether something is an array that this engine made.

    >>> import xlascope.numpy as jnp
    >>> is_ours(jnp.ones(3)), is_ours(3)
    (True, False)
    """
    return x.__class__ is ArrayImpl and x.aval.__class__ is ShapedArray


def is_foreign(x: Any) -> bool:
    """Whether something is an array that jax made."""
    return x.__class__ is ArrayImpl and x.aval.__class__ is not ShapedArray


def give(name: str, member: Any) -> None:
    """Give arrays of this engine a method, a property or a value of that name."""
    _ours[name] = member
    _settle(name)


def _set_attribute(owner: Any, name: str, value: Any) -> None:
    """``setattr`` for jax's modules."""
    if owner is ArrayImpl and name not in _NOT_FACE:
        _theirs[name] = value
        _settle(name)
    else:
        builtins.setattr(owner, name, value)


def _settle(name: str) -> None:
    with _lock:  # who comes last has seen what both have set
        member = _settled[name] = _member(name)
        setattr(ArrayImpl, name, member)


def _member(name: str) -> Any:
    ours, theirs = _ours.get(name, _nothing), _theirs.get(name, _nothing)
    if theirs is _nothing or ours == theirs:
        return ours
    if ours is _nothing:  # private names are asked of nobody else's arrays, one of them before there is a type
        return theirs if _is_private(name) else _OnlyTheirs(name, theirs)
    if callable(ours) and callable(theirs):
        return _two_methods(name, ours, theirs)
    if isinstance(ours, property) and isinstance(theirs, property):
        return _two_properties(ours.fget, theirs.fget)
    return property(lambda x: _bound(ours if x.aval.__class__ is ShapedArray else theirs, x, ArrayImpl))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _bound(member: Any, x: Any, owner: type) -> Any:
    """What a member of a class is for one of its objects, or (None) for the class."""
    get = getattr(type(member), "__get__", None)
    return member if get is None else get(member, x, owner)


def _two_methods(name: str, ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if self.aval.__class__ is ShapedArray else theirs)(self, *args, **kwargs)

    def operator(self: Any, other: Any) -> Any:
        return (ours if self.aval.__class__ is ShapedArray else theirs)(self, other)

    made = operator if name in _TWO_OPERANDS else method
    made.__name__, made.__doc__ = name, theirs.__doc__
    return made


def _two_properties(ours: Any, theirs: Any) -> property:
    return property(lambda x: ours(x) if x.aval.__class__ is ShapedArray else theirs(x), doc=theirs.__doc__)


class _OnlyTheirs:
    """A member that arrays of jax have and ours do not."""

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
    """Settle what jax has set already, however it did."""
    for name, member in list(vars(ArrayImpl).items()):
        if name not in _NOT_FACE and member is not _settled.get(name) and _is_python(member):
            _theirs[name] = member
            _settle(name)


def _is_python(member: Any) -> bool:
    """Whether a member of the class was written in Python, and is not jaxlib's own."""
    return not type(getattr(member, "fget", member)).__name__.startswith(("nb_", "builtin_", "getset_", "wrapper_"))


if beside.here():
    _take_up_theirs()
for _module in _JAX_SETS_ATTRIBUTES:
    beside.setattr_of(_module, _set_attribute)
beside.on_import("jax", _take_up_theirs)
