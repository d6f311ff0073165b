"""Rarely used methods of arrays, loaded when one of them is first used.

Names are JAX's; each method takes the same arguments as the function of its name.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import numpy
from ..trace.tracer import TracerBase
from ..xla.arrays.transfers import commit_to_device, put_on_device
from . import views
from .array_api import namespace_of


def _argpartition(self: Any, kth: int, axis: int = -1) -> Any:
    return numpy.argpartition(self, kth, axis)


def _argsort(
    self: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    return numpy.argsort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


def _byteswap(self: Any) -> Any:
    """Return the numbers with their bytes reversed; for complex numbers, in each part separately."""
    return views.byteswap(self)


def _choose(self: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    return numpy.choose(self, choices, out, mode)


def _compress(
    self: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    return numpy.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


def _nonzero(self: Any, *, fill_value: Any = None, size: int | None = None) -> tuple[Any, ...]:
    return numpy.nonzero(self, size=size, fill_value=fill_value)


def _ptp(self: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    return numpy.ptp(self, axis, out, keepdims)


def _search_sorted(self: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    return numpy.searchsorted(self, v, side, sorter, method=method)


def _sort(
    self: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    return numpy.sort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


def _to_device(self: Any, device: Any, *, stream: None = None) -> Any:
    """Return the array on ``device``, committed to it; with None, and for a tracer, return it unchanged.

    The method waits for the array, so another ``stream`` than None raises NotImplementedError.
    """
    if stream is not None:
        raise NotImplementedError(f"to_device waits for the array, so it takes no stream; got {stream!r}")
    if device is None or isinstance(self, TracerBase):
        return self
    return commit_to_device(put_on_device(self, self.aval, device), device)


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """Return the same bytes read as another dtype; the size of the last axis changes with the item size.

    ``dtype`` None returns the array itself; ``type`` has to be None, else NotImplementedError is raised.
    """
    if type is not None:
        raise NotImplementedError(f"arrays have one class, so view takes no type; got {type!r}")
    return self if dtype is None else views.view(self, dtype)


def _flat(self: Any) -> NoReturn:
    raise NotImplementedError("arrays cannot be changed in place, so they have no flat; x.ravel() has the elements")


METHODS: dict[str, Any] = {
    "__array_namespace__": namespace_of,
    "argpartition": _argpartition,
    "argsort": _argsort,
    "byteswap": _byteswap,
    "choose": _choose,
    "compress": _compress,
    "flat": property(_flat),
    "nonzero": _nonzero,
    "ptp": _ptp,
    "searchsorted": _search_sorted,
    "sort": _sort,
    "to_device": _to_device,
    "view": _view,
}
for _name, _method in METHODS.items():
    if callable(_method):
        _method.__name__ = _name
