"""Trees and their structures."""

from __future__ import annotations

from .. import kinds
from ..draws import Draw
from ..language import tuple_of
from .declaring import Example, example_of, fn, of


@example_of("tree.map", "tree_util.tree_map")
def _tree_map(draw: Draw) -> Example:
    one = kinds.tree(draw)
    return of(
        fn(draw.pick(["pair", "identity", "add"])),
        one,
        *([one] if draw.chance(0.5) else [kinds.tree(draw)] if draw.chance(0.2) else []),
    )


@example_of("tree.map_with_path", "tree_util.tree_map_with_path")
def _tree_map_with_path(draw: Draw) -> Example:
    return of(fn("path_and_leaf"), kinds.tree(draw))


@example_of("tree.reduce", "tree_util.tree_reduce", "tree.reduce_associative", "tree_util.tree_reduce_associative")
def _tree_reduce(draw: Draw) -> Example:
    operands = draw.pick([[1, 2, 3], tuple_of([1, [2.5, None]]), [], {"dict": [["a", 1]]}])
    initial = [draw.pick([0, 10, None])] if draw.chance(0.4) and not draw.function.endswith("associative") else []
    return of(fn("add"), operands, *initial)


@example_of("tree.transpose", "tree_util.tree_transpose")
def _tree_transpose(draw: Draw) -> Example:
    outer, inner = {"treedef": [1, 2]}, {"treedef": {"dict": [["a", 1], ["b", 2]]}}
    one = {"dict": [["a", 1], ["b", 2]]}
    return of(
        outer, inner if draw.chance(0.8) else None, draw.pick([[one, one], [one, one], tuple_of([one, one]), [one]])
    )


@example_of("tree.unflatten", "tree_util.tree_unflatten")
def _unflatten(draw: Draw) -> Example:
    return of(
        draw.pick([{"treedef": [1, 2]}, {"treedef": tuple_of([1, 2])}]),
        draw.pick([[5, 6], tuple_of([5, 6]), [5], [5, 6, 7]]),
    )


@example_of("tree.broadcast", "tree_util.tree_broadcast")
def _tree_broadcast(draw: Draw) -> Example:
    prefix, full = draw.pick(
        [
            (1, [2, 3]),
            ([1, 2], [[3, 4], 5]),
            ([1, 2], [3]),
            (None, [1]),
            (tuple_of([1, 2]), tuple_of([3, {"dict": [["a", 4]]}])),
        ]
    )
    return of(prefix, full)


@example_of("tree_util.keystr")
def _keystr(draw: Draw) -> Example:
    keys = [
        {"make": {"attribute": "tree_util.DictKey", "args": ["a"]}},
        {"make": {"attribute": "tree_util.SequenceKey", "args": [1]}},
    ]
    return of(tuple_of(keys), **({"simple": True, "separator": "/"} if draw.chance(0.5) else {}))


@example_of("tree_util.treedef_children", "tree_util.treedef_is_leaf")
def _treedef(draw: Draw) -> Example:
    return of(kinds.treedef(draw))
