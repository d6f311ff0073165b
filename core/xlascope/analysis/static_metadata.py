"""Differences in the static data of two pytree structures: which field of which class, and the values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .retrace_reasons import shorten

#: Maximum number of reported differences, depth of comparison, and number of compared values.
MAX_CHANGES, MAX_DEPTH, MAX_COMPARED = 3, 16, 20_000
_IDENTITY: Any = object.__eq__
_CONTAINERS = (dict, list, tuple, type(None))


class MetadataChange(NamedTuple):
    """Static value that differs between two pytrees.

    ``node`` is the path of the pytree node that holds it, ``owner`` the node's class, and ``path`` leads to the value
    within the node's static data.
    """

    node: str
    owner: str
    path: str
    old: Any
    new: Any

    @property
    def text(self) -> str:
        """Return the change as text."""
        old, new = shorten(repr(self.old)), shorten(repr(self.new))
        if _is_another_object(self.old, self.new):
            new = "another object" if old == new or callable(self.new) else new
        inner = f"{self.path.removeprefix('.')}: " if self.path else ""
        return f"{self.node} (static data of {self.owner}): {inner}{old} → {new}"

    @property
    def fix(self) -> str:
        """Return how to avoid the retrace."""
        if _is_another_object(self.old, self.new):
            subject = "Functions compare" if callable(self.new) else f"{type(self.new).__name__} compares"
            return (
                f"{subject} by identity, so each new object is traced again: create it once, outside of the loop, and "
                "pass the same object" + ("." if callable(self.new) else ", or define __eq__ and __hash__.")
            )
        return (
            f"Static data of {self.owner} is part of what a trace belongs to: keep it equal in every call, or make the "
            "value a leaf of the pytree if it is a number or an array."
        )


def metadata_changes(old: Any, new: Any, name: str = "") -> list[MetadataChange]:
    """Return the first few differences in the static data of two structures (PyTreeDef).

    ``name`` is the name of the root. The result is empty where other things differ too: containers of other
    types, and other numbers of leaves.
    """
    search = _MetadataSearch()
    try:
        search.compare_structures(old, new, name)
    except _OtherStructureError:
        return []
    return search.changes


class _OtherStructureError(Exception):
    """Structures that differ in more than their static data."""


class _MetadataSearch:
    """Search for differences in static data; ``changes`` are those found, at most ``MAX_CHANGES``."""

    def __init__(self) -> None:
        self.changes: list[MetadataChange] = []
        self._compared = 0

    def compare_structures(self, old: Any, new: Any, path: str) -> None:
        """Add the differences in the static data of two tree structures, whose root has the name ``path``.

        Raises _OtherStructureError if they differ in anything else.
        """
        if old == new:
            return
        was, now = old.node_data(), new.node_data()
        children = old.children(), new.children()
        if was is None or now is None or was[0] is not now[0] or len(children[0]) != len(children[1]):
            raise _OtherStructureError
        kind = was[0]
        if kind in _CONTAINERS and not _are_equal(was[1], now[1]):
            raise _OtherStructureError  # other keys
        if not _are_equal(was[1], now[1]):
            node = path, kind.__name__
            fields = _static_fields(kind, old, new)
            if fields:
                for field, a, b in fields:
                    self.compare_values(a, b, node, f".{field}", 1)
            else:
                self.compare_values(was[1], now[1], node, "", 0)
        for key, a, b in zip(_keys(kind, was[1], len(children[0])), *children, strict=True):
            self.compare_structures(a, b, f"{path}{key}")

    def compare_values(self, old: Any, new: Any, node: tuple[str, str], path: str, depth: int) -> None:
        """Add the innermost differences of two unequal values in the static data of a node.

        ``node`` is its path and its class's name, ``path`` leads to the values within its data, at this ``depth``.
        """
        self._compared += 1
        if len(self.changes) >= MAX_CHANGES:
            return
        parts = _parts(old, new, depth) if depth < MAX_DEPTH and self._compared < MAX_COMPARED else None
        differing = [] if parts is None else [part for part in parts if not _are_equal(*part[1:])]
        if not differing:
            self.changes.append(MetadataChange(*node, path, old, new))
        for key, a, b in differing:
            self.compare_values(a, b, node, f"{path}{key}", depth + 1)


def _static_fields(kind: type, old: Any, new: Any) -> list[tuple[str, Any, Any]]:
    """Return (name, old, new) of the static fields of a dataclass that differ; none for other classes.

    ``kind`` is the class of a node, ``old`` and ``new`` are its tree structures.
    """
    if not dataclasses.is_dataclass(kind):
        return []
    try:  # unflatten with placeholder leaves: fields without a placeholder are static
        was, now = (item.unflatten([_LEAF] * item.num_leaves) for item in (old, new))
    except Exception:  # whatever its constructor does
        return []
    names = [item.name for item in dataclasses.fields(kind) if hasattr(was, item.name) and hasattr(now, item.name)]
    return [
        (name, a, b)
        for name in names
        for a, b in [(getattr(was, name), getattr(now, name))]
        if not _are_equal(a, b) and not _holds_leaf(a)
    ]


_LEAF = object()


def _holds_leaf(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_leaf, value))
    return any(map(_holds_leaf, value.values())) if isinstance(value, dict) else value is _LEAF


def _keys(kind: type, data: Any, count: int) -> Sequence[str]:
    """Return the path suffix of each of the ``count`` children of a node, such as ``[0]`` or ``.weights``.

    ``kind`` is the class of the node, ``data`` its static data.
    """
    if kind is dict:
        return [f"[{key!r}]" for key in data]
    fields = getattr(kind, "_fields", None)
    if isinstance(fields, tuple) and len(fields) == count:
        return [f".{field}" for field in fields]
    if count == 1 and kind not in _CONTAINERS:
        return [""]
    return [f"[{i}]" for i in range(count)]


def _parts(old: Any, new: Any, depth: int) -> list[tuple[str, Any, Any]] | None:
    """Return (access path, old, new) for each element or field of two values of one type.

    None for values that have none, or not the same ones: such values are compared by ``==`` only. ``depth`` is 0 for
    the static data itself.
    """
    if type(old) is not type(new) or isinstance(old, (str, bytes, type)):
        return None
    if isinstance(old, Mapping):
        return _entries(old, new, "[{!r}]") if old.keys() == new.keys() else None
    if isinstance(old, (tuple, list)):
        if len(old) != len(new):
            return None
        names = getattr(old, "_fields", None)
        if names is not None:
            return list(zip([f".{item}" for item in names], old, new, strict=True))
        if depth and len(old) == 2 and isinstance(old[0], str) and old[0] == new[0]:  # a name and its value
            return [(f".{old[0]}", old[1], new[1])]
        return [(f"[{i}]" if len(old) > 1 else "", a, b) for i, (a, b) in enumerate(zip(old, new, strict=True))]
    if dataclasses.is_dataclass(old):
        names = [item.name for item in dataclasses.fields(old) if item.compare]
        return [(f".{item}", getattr(old, item, None), getattr(new, item, None)) for item in names]
    if callable(old) or not hasattr(old, "__dict__") or type(old).__eq__ is _IDENTITY:
        return None
    return _entries(vars(old), vars(new), ".{}") if vars(old).keys() == vars(new).keys() else None


def _entries(old: Mapping[Any, Any], new: Mapping[Any, Any], form: str) -> list[tuple[str, Any, Any]]:
    return [(form.format(key), old[key], new[key]) for key in old]


def _are_equal(old: Any, new: Any) -> bool:
    if old is new:
        return True
    try:
        return bool(old == new)
    except Exception:  # whatever the user's class does, such as an array that is compared elementwise
        return False


def _is_another_object(old: Any, new: Any) -> bool:
    return type(old) is type(new) and type(new).__eq__ is _IDENTITY and not isinstance(new, type)


def argument_metadata(old: Any, new: Any, names: Sequence[str]) -> tuple[str, str] | None:
    """Return reason and fix of a retrace for arguments that differ in static data alone, otherwise None.

    ``names`` are the names of the positional arguments. The result is None where other things differ as well. ``old``
    and ``new`` are the tree structures of ``((args), {kwargs})``.
    """
    (old_args, old_named), (new_args, new_named) = old.children(), new.children()
    if old_named.node_data() != new_named.node_data() or len(old_args.children()) != len(new_args.children()):
        return None
    names = [*names[: len(new_args.children())], *(new_named.node_data()[1] if new_named.children() else ())]
    before, after = (*old_args.children(), *old_named.children()), (*new_args.children(), *new_named.children())
    if len(names) != len(after):
        return None
    changes: list[MetadataChange] = []
    for name, was, now in zip(names, before, after, strict=True):
        if was != now:
            differences = metadata_changes(was, now, name)
            if not differences:
                return None
            changes += differences
    shown = changes[:MAX_CHANGES]
    text, fix = ([change.text for change in shown], [change.fix for change in shown])
    return "; ".join(dict.fromkeys(text)), " ".join(dict.fromkeys(fix))
