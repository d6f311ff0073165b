"""Pytrees under JAX's names: ``tree_map`` for ``tree.map``, and so on."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from .names import explain_missing as _explain_missing
from .runtime.boot import default_registry
from .tree import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    IsLeaf,
    Partial,
    PyTreeDef,
    SequenceKey,
    keystr,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from .tree import all as tree_all
from .tree import broadcast as tree_broadcast
from .tree import flatten as tree_flatten
from .tree import flatten_with_path as tree_flatten_with_path
from .tree import leaves as tree_leaves
from .tree import leaves_with_path as tree_leaves_with_path
from .tree import map as tree_map
from .tree import map_with_path as tree_map_with_path
from .tree import reduce as tree_reduce
from .tree import reduce_associative as tree_reduce_associative
from .tree import structure as tree_structure
from .tree import transpose as tree_transpose
from .tree import unflatten as tree_unflatten

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_multimap",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

#: A key of any kind, and a path of keys, in the functions with paths.
KeyEntry = TypeVar("KeyEntry")
KeyPath = tuple[KeyEntry, ...]


def tree_multimap(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply ``tree_map`` to several trees, under its old name."""
    return tree_map(f, tree, *rest, is_leaf=is_leaf)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Return whether all elements are leaves."""
    if not isinstance(iterable, Iterable):
        raise TypeError(f"all_leaves takes an iterable of leaves, got {iterable!r} of type {type(iterable).__name__}")
    elements = list(iterable)
    leaves = tree_leaves(elements, is_leaf)
    return len(leaves) == len(elements) and all(x is y for x, y in zip(leaves, elements, strict=True))


def is_tree_node(typ: type) -> bool:
    """Return whether values of a type are containers; None counts as one, without children.

    >>> is_tree_node(dict), is_tree_node(int)
    (True, False)
    """
    return bool(default_registry.is_node(typ))


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """Return the children of a container, and its auxiliary data; raise ValueError for a leaf.

    >>> flatten_one_level({"b": 1, "a": (2,)})
    (((2,), 1), ('a', 'b'))
    """
    result: tuple[Iterable[Any], Any] | None = default_registry.flatten_one_level(tree)
    if result is None:
        raise ValueError(f"flatten_one_level takes a container, got {tree!r} of type {type(tree).__name__}, a leaf")
    return result


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Return the children of a container with their keys, and its auxiliary data; raise ValueError for a leaf.

    >>> flatten_one_level_with_keys([5])
    (((SequenceKey(idx=0), 5),), None)
    """
    result: tuple[Iterable[tuple[Any, Any]], Any] | None = default_registry.flatten_one_level_with_keys(tree)
    if result is None:
        raise ValueError(
            f"flatten_one_level_with_keys takes a container, got {tree!r} of type {type(tree).__name__}, a leaf"
        )
    return result


def treedef_is_leaf(treedef: Any) -> bool:
    """Return whether a structure has no children: that of a single leaf, and that of None."""
    return bool(_require_treedef("treedef_is_leaf", treedef).num_nodes == 1)


def treedef_children(treedef: Any) -> list[Any]:
    """Return the structures of a container's children."""
    return list(_require_treedef("treedef_children", treedef).children())


def _require_treedef(name: str, treedef: Any) -> Any:
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(f"{name} takes structures of trees (tree.structure(x)), got {treedef!r}")
    return treedef


def treedef_tuple(treedefs: Iterable[Any]) -> Any:
    """Return the structure of a tuple of trees of those structures."""
    treedefs = [_require_treedef("treedef_tuple", treedef) for treedef in treedefs]
    return tree_structure(tuple(treedef.unflatten([0] * treedef.num_leaves) for treedef in treedefs))


_explain_missing(__name__)
