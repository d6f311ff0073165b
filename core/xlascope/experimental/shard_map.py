"""``shard_map`` with its former name and parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api.shard_mapping import shard_map as _shard_map
from ..names import explain_missing as _explain_missing

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True, auto: Any = frozenset()
) -> Callable[..., Any]:
    """Return ``xlascope.shard_map`` of ``f``; ``check_rep`` is its ``check_vma``, ``auto`` are axes left to XLA."""
    names = frozenset(mesh.axis_names) - frozenset(auto) if auto else frozenset()
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep, axis_names=names)


_explain_missing(__name__)
