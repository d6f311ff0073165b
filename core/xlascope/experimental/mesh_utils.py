"""Arrangement of devices in arrays of a given shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.distribution import make_mesh as _make_mesh
from ..names import explain_missing as _explain_missing

__all__ = ["create_device_mesh"]


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> Any:
    """Return the devices as an array of shape ``mesh_shape``, in their order.

    The keyword arguments after ``devices`` have no effect. Raises ValueError if there are not as many devices.
    """
    del contiguous_submeshes, allow_split_physical_axes
    return _make_mesh(mesh_shape, tuple(f"axis{i}" for i in range(len(mesh_shape))), devices=devices).devices


_explain_missing(__name__)
