"""Pytrees, as JAX spells it: ``tree_map`` for ``tree.map``, and so on."""

from collections.abc import Callable, Iterable
from typing import Any

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
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
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


def tree_multimap(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """The old name of ``tree_map`` with several trees."""
    return tree_map(f, tree, *rest, is_leaf=is_leaf)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether no element is a container."""
    return all(treedef_is_leaf(tree_structure(x, is_leaf)) for x in iterable)


def treedef_is_leaf(treedef: Any) -> bool:
    """Whether a structure is that of a single leaf."""
    return bool(treedef.num_nodes == 1 and treedef.num_leaves == 1)


def treedef_children(treedef: Any) -> list[Any]:
    """The structures of a container's children."""
    return list(treedef.children())


def treedef_tuple(treedefs: Iterable[Any]) -> Any:
    """The structure of a tuple of trees of those structures."""
    return tree_structure(tuple(treedef.unflatten([0] * treedef.num_leaves) for treedef in treedefs))
