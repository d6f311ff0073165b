"""Pytrees: nested containers of leaves, on jaxlib's own registry."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

from . import bootstrap as _starting
from .names import explain_missing as _explain_missing
from .runtime.boot import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    PyTreeDef,
    SequenceKey,
    call_registry,
    default_registry,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

IsLeaf = Callable[[Any], bool] | None


def _require_structure(treedef: Any, name: str) -> None:
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(f"{name} is a structure of a tree, as tree.structure gives it, got {treedef!r}")


def _require_function(function: Any, name: str) -> None:
    if not callable(function):
        raise TypeError(f"{name} is a function, got {function!r} of type {type(function).__name__}")


_UNSPECIFIED: Any = object()


def flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Any]:
    """Return the leaves of a tree, and its structure.

    >>> leaves, structure = flatten({"b": 2, "a": (1, None)})
    >>> leaves
    [1, 2]
    """
    return _flatten(tree, is_leaf)


def _flatten(tree: Any, is_leaf: IsLeaf) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of a tree.

    Raises ValueError for a dict whose keys cannot be sorted, with the keys and the user's line in the
    message.
    """
    try:
        return default_registry.flatten(tree, is_leaf)
    except ValueError as error:
        raise _explain_error(error, tree) from None


def _explain_error(error: ValueError, tree: Any) -> ValueError:
    """Return the error for a tree that jaxlib cannot flatten: the problem, the location, and the fix.

    ``error`` is jaxlib's own, which is returned unless it is about unsortable keys.
    """
    if "sorting pytree dictionary keys" not in str(error):
        return error
    keys = _find_unsortable_keys(tree)
    text = "" if keys is None else f", {', '.join(builtins.map(repr, keys[:_MAX_LISTED_KEYS]))}"
    problem = (
        f"the keys of a dict in this tree{text} cannot be sorted: containers of arrays go by their keys in order, so "
        "those of one dict have to be of one type."
    )
    fix = (
        "Make them all text, as in {str(k): v for k, v in d.items()}, or use a list or a collections.OrderedDict, "
        "which keep their own order."
    )
    return ValueError(_starting.compose_message(problem, fix))


#: The maximum number of keys named in an error.
_MAX_LISTED_KEYS = 4


def _find_unsortable_keys(tree: Any) -> list[Any] | None:
    """Return the keys of the first dict in a tree whose keys cannot be sorted; None without one.

    Only dicts, lists and tuples are searched.
    """
    if isinstance(tree, dict):
        try:
            sorted(tree)
        except TypeError:
            return list(tree)
        tree = list(tree.values())
    if not isinstance(tree, (list, tuple)):
        return None
    return next((keys for x in tree if (keys := _find_unsortable_keys(x)) is not None), None)


def unflatten(treedef: Any, leaves: Iterable[Any]) -> Any:
    """Return the tree with that structure and those leaves; raise ValueError when their number differs."""
    _require_structure(treedef, "treedef")
    return treedef.unflatten(leaves)


@_starting.api_boundary
def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree, in order."""
    return _flatten(tree, is_leaf)[0]


@_starting.api_boundary
def structure(tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Return the structure of a tree."""
    return _flatten(tree, is_leaf)[1]


@_starting.api_boundary
def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply ``f`` to each leaf of ``tree`` and the corresponding subtrees of ``rest``; return the tree of results.

    Raises ValueError when a tree of ``rest`` does not have ``tree`` as a prefix.

    >>> map(lambda x, y: x + y, {"a": 1, "b": 2}, {"a": 10, "b": 20})
    {'a': 11, 'b': 22}
    """
    if not callable(f):
        raise TypeError(f"tree.map takes a function of leaves, got {f!r} of type {type(f).__name__}")
    first, treedef = _flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in first])
    flat_args = [_flatten_like(treedef, arg, number) for number, arg in enumerate(rest, 2)]
    return treedef.unflatten([f(*parts) for parts in zip(first, *flat_args, strict=True)])


def _flatten_like(treedef: Any, tree: Any, number: int, user: str = "tree.map") -> list[Any]:
    """Return the subtrees of ``tree`` at the leaves of the structure ``treedef``.

    Raises an error that names the first difference between the two; ``number`` is the position of ``tree``
    among the arguments, from 1 on, and ``user`` the function's name, both for the message.
    """
    try:
        return list(treedef.flatten_up_to(tree))
    except (ValueError, TypeError) as error:
        difference = _find_difference(treedef, tree, "", number)
        if difference is None:
            raise
        problem = f"{user}: tree {number} does not have the structure of the first one: {difference[0]}"
        raise type(error)(_starting.compose_message(problem, difference[1])) from None


def _find_difference(structure: Any, tree: Any, path: str, number: int) -> tuple[str, str] | None:
    """Return the first difference between a structure and a tree, and the fix, both as text; None without a difference.

    ``path`` is the key path, as text, that leads from the outermost tree, argument ``number``, to this one. Any
    subtree may stand at a leaf.
    """
    node = structure.node_data()
    if node is None:  # anything may be at a leaf
        return None
    pairs, actual = default_registry.flatten_with_path(tree, lambda _, x: x is not tree)
    children = structure.children()
    if actual.node_data() == node and len(pairs) == len(children):
        below = (
            _find_difference(child, x, path + keystr(keys), number)
            for child, (keys, x) in zip(children, pairs, strict=True)
        )
        return next((difference for difference in below if difference is not None), None)
    location = f"at {path}" if path else "at its root"
    leaf = f"a leaf of type {type(tree).__name__}"
    message = f"{location} the first one has {describe_node(structure, leaf)}, this one {describe_node(actual, leaf)}."
    if actual.node_data() is not None and actual.node_data()[0] is node[0] and node[0] in (list, builtins.tuple):
        return message, _suggest_length(path, number, len(children), len(pairs))
    return message, _suggest_fix(node, actual.node_data())


def _suggest_length(path: str, number: int, expected: int, count: int) -> str:
    """Return advice on a list or tuple of ``count`` elements in tree ``number``, where the first has ``expected``."""
    verb, opposite = ("Shorten", "lengthen") if count > expected else ("Lengthen", "shorten")
    noun = f"{path} of tree {number}" if path else f"tree {number}"
    first = "that of the first one" if path else "the first one"
    return f"{verb} {noun} to {expected} element{'s' * (expected != 1)} (or {opposite} {first} to {count})."


def _suggest_fix(node: tuple[Any, Any], actual: tuple[Any, Any] | None) -> str:
    """Return advice on containers that differ.

    ``node`` and ``actual`` are the type and the aux data of the expected container and of the actual one
    (None: a leaf).
    """
    if node[0] is type(None):
        return (
            "None counts as an empty tree, not as a leaf. To keep it: tree.map(lambda x, *others: None if x is None "
            "else f(x, *others), first, ..., is_leaf=lambda x: x is None)."
        )
    if actual is not None and node[0] is actual[0] is dict:
        missing = [key for key in node[1] if key not in actual[1]]
        extra = [key for key in actual[1] if key not in node[1]]
        listed = [_format_keys("it lacks", missing)] * bool(missing) + [
            _format_keys("it should not have", extra)
        ] * bool(extra)
        return f"Give it the same keys: {'; '.join(listed)}."
    return "Give it containers of the same kinds: tree.structure(x) shows those of a tree."


def _format_keys(words: str, keys: list[Any]) -> str:
    return f"{words} {', '.join(builtins.map(repr, keys))}"


def describe_node(structure: Any, leaf: str = "an array") -> str:
    """Describe the root of a structure: ``a tuple of 2``, ``a dict of 'a', 'b'``, or for a leaf the text ``leaf``.

    >>> describe_node(structure({"a": 1}))
    "a dict of 'a'"
    """
    node = structure.node_data()
    if node is None:
        return leaf
    kind, data = node
    if kind is type(None):
        return "None"
    if kind is dict:
        return f"a dict of {', '.join(builtins.map(repr, data))}" if data else "an empty dict"
    return f"a {kind.__name__} of {len(structure.children())}"


def reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _UNSPECIFIED, is_leaf: IsLeaf = None
) -> Any:
    """Fold the leaves of a tree with ``function``, from the left.

    >>> reduce(lambda total, x: total + x, [1, (2, 3)])
    6
    """
    _require_function(function, "function")
    first = () if initializer is _UNSPECIFIED else (initializer,)
    return functools.reduce(function, leaves(tree, is_leaf), *first)


def reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = _UNSPECIFIED, is_leaf: IsLeaf = None
) -> Any:
    """Fold the leaves of a tree in pairs, then the pairs' results; ``identity`` is the result without leaves.

    >>> reduce_associative(lambda x, y: x + y, ["a", ("b", "c"), "d"])
    'abcd'
    """
    _require_function(operation, "operation")
    values = leaves(tree, is_leaf)
    if not values:
        if identity is _UNSPECIFIED:
            raise TypeError("reduce_associative of a tree without leaves needs an identity")
        return identity
    while len(values) > 1:
        pairs = [operation(x, y) for x, y in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Return whether all leaves of a tree are true.

    >>> all({"a": True, "b": [1, 2]})
    True
    """
    return builtins.all(leaves(tree, is_leaf))


@_starting.api_boundary
def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Return a tree like ``full_tree``; each leaf of ``prefix_tree`` is repeated in the subtree of the same path.

    >>> broadcast({"a": 1, "b": 2}, {"a": [0, 0], "b": 0})
    {'a': [1, 1], 'b': 2}
    """
    prefixes, treedef = flatten(prefix_tree, is_leaf)
    parts = _flatten_like(treedef, full_tree, 2, "tree.broadcast")
    return treedef.unflatten([map(lambda _, x=x: x, part) for x, part in zip(prefixes, parts, strict=True)])


def transpose(outer_treedef: Any, inner_treedef: Any, pytree_to_transpose: Any) -> Any:
    """Turn a tree of trees inside out: from ``outer[inner[leaf]]`` to ``inner[outer[leaf]]``.

    ``inner_treedef`` may be None: then it is the common structure of the trees at the leaves of the outer
    one. Raises ValueError if they differ, TypeError for a tree of another structure.
    """
    _require_structure(outer_treedef, "outer_treedef")
    if inner_treedef is None:
        inner_treedef = _find_inner_structure(outer_treedef, pytree_to_transpose)
    _require_structure(inner_treedef, "inner_treedef")
    flat, actual = flatten(pytree_to_transpose)
    size = inner_treedef.num_leaves
    if outer_treedef.compose(inner_treedef) != actual and actual.num_leaves != size * outer_treedef.num_leaves:
        raise TypeError(f"expected a tree of structure {outer_treedef} of {inner_treedef}, got {actual}")
    columns = [outer_treedef.unflatten(flat[i::size]) for i in range(size)]
    return inner_treedef.unflatten(columns)


def _find_inner_structure(outer: Any, tree: Any) -> Any:
    inside = [structure(x) for x in outer.flatten_up_to(tree)]
    if not inside or any(s != inside[0] for s in inside):
        raise ValueError(f"transpose needs inner_treedef where trees differ or there are none, got {tree!r}")
    return inside[0]


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[tuple[Any, ...], Any]], Any]:
    """Return a list of pairs (key path, leaf) for the leaves of a tree, and the structure of the tree.

    A key path is a tuple of keys, such as ``SequenceKey`` and ``DictKey``. ``is_leaf(value)`` returns True
    for a value that is to be a leaf although it is a container; with ``is_leaf_takes_path`` it is called as
    ``is_leaf(path, value)``.

    >>> flatten_with_path([1, (2, 3)], lambda x: isinstance(x, tuple))[0][1]
    ((SequenceKey(idx=1),), (2, 3))
    """
    if is_leaf is not None:
        _require_function(is_leaf, "is_leaf")
    ask = is_leaf if bool(is_leaf_takes_path) or is_leaf is None else lambda _, x: is_leaf(x)
    try:
        pairs, treedef = default_registry.flatten_with_path(tree, ask)
    except ValueError as error:
        raise _explain_error(error, tree) from None
    return [(tuple(path), leaf) for path, leaf in pairs], treedef


@_starting.api_boundary
def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return a list of pairs (key path, leaf) for the leaves of a tree; see :func:`flatten_with_path`."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


@_starting.api_boundary
def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply ``f`` like :func:`map`, with the key path as its first argument; see :func:`flatten_with_path`."""
    _require_function(f, "f")
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    flat_args = [_flatten_like(treedef, arg, i, "tree.map_with_path") for i, arg in enumerate(rest, 2)]
    return treedef.unflatten([f(path, leaf, *parts) for (path, leaf), *parts in zip(pairs, *flat_args, strict=True)])


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return the text of a key path, as in ``['w'][0].bias``; ``simple`` omits brackets, quotes and dots.

    >>> path = leaves_with_path({"w": [1]})[0][0]
    >>> keystr(path), keystr(path, simple=True, separator="/")
    ("['w'][0]", 'w/0')
    """
    if not isinstance(separator, str):
        raise TypeError(f"separator is a text, got {separator!r} of type {type(separator).__name__}")
    return separator.join(_simple_key_text(key) if simple else str(key) for key in keys)


def _simple_key_text(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], Any] | None = None,
) -> None:
    """Make ``nodetype`` a container.

    ``flatten_func(node)`` returns (children, aux data), ``unflatten_func(aux data, children)`` inverts it,
    and ``flatten_with_keys_func(node)`` returns the children as pairs (key, child), and the aux data.
    """
    default_registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    call_registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make ``nodetype`` a container whose children have keys in key paths.

    ``flatten_with_keys(node)`` returns the children as pairs (key, child), and the aux data;
    ``unflatten_func(aux data, children)`` inverts it. ``flatten_func(node)``, if given, returns (children,
    aux data).
    """

    def without_keys(node: Any) -> tuple[Iterable[Any], Any]:
        pairs, auxiliary = flatten_with_keys(node)
        return [child for _, child in pairs], auxiliary

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: type) -> type:
    """Make a class with ``tree_flatten`` and ``tree_unflatten`` a container; for use as a decorator."""
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: type) -> type:
    """Make a class with ``tree_flatten_with_keys`` and ``tree_unflatten`` a container; for use as a decorator."""
    flatten_func = (lambda node: node.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda node: node.tree_flatten_with_keys(), cls.tree_unflatten, flatten_func)  # type: ignore[attr-defined]
    return cls


def register_static(cls: type) -> type:
    """Make hashable instances of a class part of the structure, without leaves; for use as a decorator."""
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def register_dataclass(
    nodetype: type,
    data_fields: Iterable[str] | None = None,
    meta_fields: Iterable[str] | None = None,
    drop_fields: Iterable[str] = (),
) -> type:
    """Make a dataclass a container of its ``data_fields``; its ``meta_fields`` belong to the structure.

    If either is None, fields with ``metadata={"static": True}`` are meta fields and all others data fields.
    ``drop_fields`` are fields that belong to neither. Works as a decorator. Raises ValueError unless data and
    meta fields are exactly the remaining fields that ``__init__`` takes.
    """
    fields = [f for f in dataclasses.fields(nodetype) if f.init] if dataclasses.is_dataclass(nodetype) else None
    if data_fields is None or meta_fields is None:
        if fields is None:
            raise TypeError(f"{nodetype.__name__} is no dataclass: say which are its data_fields and meta_fields")
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    data, meta = list(data_fields), list(meta_fields)
    if fields is not None and {f.name for f in fields} - set(drop_fields) != {*data, *meta}:
        names = sorted({f.name for f in fields} - set(drop_fields))
        raise ValueError(
            f"{nodetype.__name__}: data_fields and meta_fields have to name {names}, got {data} and {meta}"
        )
    default_registry.register_dataclass_node(nodetype, data, meta)
    call_registry.register_dataclass_node(nodetype, data, meta)
    return nodetype


def static(**kwargs: Any) -> Any:
    """Return a dataclass field that belongs to the structure: a ``dataclasses.field`` with ``static`` metadata.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     name: str = static(default="dense")
    >>> leaves(Layer(2.0))
    [2.0]
    """
    return dataclasses.field(**{**kwargs, "metadata": {**(kwargs.get("metadata") or {}), "static": True}})


class Partial(functools.partial):  # type: ignore[type-arg]
    """A ``functools.partial`` that is a container: its bound arguments are its children."""


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
register_pytree_node(
    collections.OrderedDict,
    lambda d: (tuple(d.values()), tuple(d.keys())),
    lambda keys, values: collections.OrderedDict(zip(keys, values, strict=True)),
    lambda d: ([(DictKey(key), value) for key, value in d.items()], tuple(d.keys())),
)
register_pytree_node(
    collections.defaultdict,
    lambda d: (tuple(d[k] for k in sorted(d)), (d.default_factory, tuple(sorted(d)))),
    lambda aux, values: collections.defaultdict(aux[0], zip(aux[1], values, strict=True)),
    lambda d: ([(DictKey(k), d[k]) for k in sorted(d)], (d.default_factory, tuple(sorted(d)))),
)

_explain_missing(__name__)
