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

from ...ir.avals import JAX_CONVERSION_HINT, ShapedArray
from ...runtime import array_spans, jax_coexistence
from .backend import ArrayImpl

_JAX_PATCHING_MODULES = ("jax._src.util", "jax._src.array", "jax._src.numpy.array_methods")
#: Binary operators: calls without ``*args`` are faster.
_BINARY_OPERATORS = {
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"),
    *("__matmul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__getitem__"),
}
_EXCLUDED_MEMBERS = ("__annotations__", "__dict__", "__doc__", "__module__", "__weakref__")

_xlascope_members: dict[str, Any] = {}
_jax_members: dict[str, Any] = {}
_installed_members: dict[str, Any] = {}
_MISSING: Any = object()
_lock = threading.Lock()


def is_xlascope_array(x: Any) -> bool:
    """Return whether a value is an array that this engine made.

    >>> import xlascope.numpy as jnp
    >>> is_xlascope_array(jnp.ones(3)), is_xlascope_array(3)
    (True, False)
    """
    return x.__class__ is ArrayImpl and x.aval.__class__ is ShapedArray


def is_jax_array(x: Any) -> bool:
    """Return whether a value is an array that jax made: of the same class, with another type of ``aval``."""
    return x.__class__ is ArrayImpl and x.aval.__class__ is not ShapedArray


def define_array_member(name: str, member: Any) -> None:
    """Define a method, property or value of this engine's arrays under ``name``.

    It is set on jaxlib's array class. If jax defines that name too, arrays of jax keep jax's member.
    """
    _xlascope_members[name] = member
    _install_member(name)


def _set_attribute(owner: Any, name: str, value: Any) -> None:
    """Set an attribute; jax's modules call this in place of ``setattr``.

    A member of jaxlib's array class is noted as jax's and set in a form that dispatches on the array's engine.
    """
    if owner is ArrayImpl and name not in _EXCLUDED_MEMBERS:
        _jax_members[name] = value
        _install_member(name)
    else:
        builtins.setattr(owner, name, value)


def _install_member(name: str) -> None:
    with _lock:  # the last thread to enter sees the members of both
        member = _installed_members[name] = _dispatching_member(name)
        setattr(ArrayImpl, name, member)


def _dispatching_member(name: str) -> Any:
    """Return the member to set on the array class under ``name``, from what the two engines have defined.

    A member of one engine is returned as it is, but a public one of jax's alone raises AttributeError for arrays of
    xlascope. Members of both are combined into one that dispatches on the array's type.
    """
    xlascope_member, jax_member = _xlascope_members.get(name, _MISSING), _jax_members.get(name, _MISSING)
    if jax_member is _MISSING or xlascope_member == jax_member:
        return xlascope_member
    if xlascope_member is _MISSING:  # jax uses these on its own arrays only, one before an array has a type
        return jax_member if _is_private(name) else _JaxOnlyMember(name, jax_member)
    if callable(xlascope_member) and callable(jax_member):
        return _dispatch_method(name, xlascope_member, jax_member)
    if isinstance(xlascope_member, property) and isinstance(jax_member, property):
        return _dispatch_property(xlascope_member.fget, jax_member.fget)
    return property(
        lambda x: _bind_member(xlascope_member if x.aval.__class__ is ShapedArray else jax_member, x, ArrayImpl)
    )


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _bind_member(member: Any, x: Any, owner: type) -> Any:
    """Return a member of the class ``owner``, as looked up on its instance ``x``, or on the class if ``x`` is None."""
    get = getattr(type(member), "__get__", None)
    return member if get is None else get(member, x, owner)


def _dispatch_method(
    name: str, xlascope_method: Callable[..., Any], jax_method: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a method that calls ``xlascope_method`` for arrays of this engine and ``jax_method`` for those of jax."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return (xlascope_method if self.aval.__class__ is ShapedArray else jax_method)(self, *args, **kwargs)

    def operator(self: Any, other: Any) -> Any:
        return (xlascope_method if self.aval.__class__ is ShapedArray else jax_method)(self, other)

    dispatcher = operator if name in _BINARY_OPERATORS else method
    dispatcher.__name__, dispatcher.__doc__ = name, jax_method.__doc__
    return dispatcher


def _dispatch_property(xlascope_get: Any, jax_get: Any) -> property:
    return property(lambda x: xlascope_get(x) if x.aval.__class__ is ShapedArray else jax_get(x), doc=jax_get.__doc__)


class _JaxOnlyMember:
    """Descriptor of an array member that jax alone defines: it raises AttributeError for arrays of xlascope."""

    def __init__(self, name: str, member: Any) -> None:
        self._name, self._member = name, member
        self.__doc__ = member.__doc__

    def __get__(self, x: Any, owner: type) -> Any:
        if x is None:
            return _bind_member(self._member, None, owner)
        if x.aval.__class__ is ShapedArray:
            raise AttributeError(
                f"an array of xlascope has no attribute {self._name!r}, one of jax has: {JAX_CONVERSION_HINT}"
            )
        return _bind_member(self._member, x, owner)

    def __set__(self, x: Any, value: Any) -> None:
        raise AttributeError(f"{self._name!r} of an array cannot be set")


def _adopt_jax_members() -> None:
    """Find the members that jax has set on jaxlib's array class so far, and replace them by dispatching ones.

    Arrays of jax keep jax's members, and arrays of xlascope do not see them. It is called if jax was imported before
    this module, and when jax is imported later. While arrays are watched, a replacement of ours stands for the member
    that it times.
    """
    for name, member in list(vars(ArrayImpl).items()):
        member = getattr(member, array_spans.ORIGINAL, member)
        if name not in _EXCLUDED_MEMBERS and member is not _installed_members.get(name) and _is_python_member(member):
            _jax_members[name] = member
            _install_member(name)


def _is_python_member(member: Any) -> bool:
    """Return whether a member of the array class was written in Python, as jax's are, rather than in jaxlib's C++."""
    return not type(getattr(member, "fget", member)).__name__.startswith(("nb_", "builtin_", "getset_", "wrapper_"))


if jax_coexistence.is_present():
    _adopt_jax_members()
for _module in _JAX_PATCHING_MODULES:
    jax_coexistence.setattr_of(_module, _set_attribute)
jax_coexistence.on_import("jax", _adopt_jax_members)
