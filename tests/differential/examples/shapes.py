"""Shapes given, joined, padded, broadcast."""

from __future__ import annotations

from .. import kinds
from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, an_array, example_of, of


@example_of("lax.pad")
def _lax_pad(draw: Draw) -> Example:
    config = [tuple_of([draw.whole(-1, 2), draw.whole(-1, 2), draw.pick([0, 0, 1])]) for _ in draw.shape]
    return of(
        draw.array_of(draw.dtype, draw.shape),
        draw.array_of(draw.dtype, ()) if draw.chance(0.7) else kinds.number(draw),
        config,
    )


@example_of("lax.broadcast_in_dim")
def _broadcast_in_dim(draw: Draw) -> Example:
    shape, dims = draw.pick(
        [
            ((2, *draw.shape), range(1, draw.rank + 1)),
            (draw.shape, range(draw.rank)),
            ((*draw.shape, 2), range(draw.rank)),
        ]
    )
    return of(draw.array_of(draw.dtype, draw.shape), tuple_of(shape), tuple_of(dims))


@example_of("lax.concatenate", "numpy.concatenate", "numpy.concat", "numpy.stack", "lax.stack")
def _joined(draw: Draw) -> Example:
    items = [draw.array_of(draw.other_dtype(), draw.shape) for _ in range(draw.whole(1, 3))]
    named = {"dtype": kinds.dtype(draw)} if draw.function.startswith("numpy") and draw.chance(0.2) else {}
    axis = kinds.axis(draw)
    return (
        [
            tuple_of(items) if draw.chance(0.5) else items,
            *([axis] if draw.function == "lax.concatenate" or draw.chance(0.6) else []),
        ],
        named,
        None,
    )


@example_of("lax.expand_dims")
def _expand(draw: Draw) -> Example:
    return of(
        kinds.any_array(draw), draw.pick([tuple_of([0]), tuple_of([-1]), [0, 1], tuple_of([]), tuple_of([0, 0]), 0])
    )


@example_of("lax.split")
def _lax_split(draw: Draw) -> Example:
    return of(draw.array_of(draw.dtype, draw.pick([(3,), (3, 2)])), draw.pick([tuple_of([1, 2]), [3], [0, 3], [1, 1]]))


@example_of("lax.reshape")
def _lax_reshape(draw: Draw) -> Example:
    named = {"dimensions": kinds.permutation(draw)} if draw.chance(0.2) else {}
    return [kinds.any_array(draw), kinds.new_shape(draw)], named, None


@example_of("array.reshape")
def _array_reshape(draw: Draw) -> Example:
    sizes = kinds.new_shape(draw)
    spread = sizes["tuple"] if isinstance(sizes, dict) and draw.chance(0.5) else [sizes]
    return (
        [draw.array_of(draw.dtype, draw.shape, "device"), *spread],
        {"order": draw.pick("CFA")} if draw.chance(0.2) else {},
        None,
    )


@example_of("array.transpose")
def _array_transpose(draw: Draw) -> Example:
    axes = kinds.permutation(draw)
    spread = draw.pick([[], [axes], axes["tuple"], [None]])
    return of(draw.array_of(draw.dtype, draw.shape, "device"), *spread)


@example_of("numpy.resize")
def _resize(draw: Draw) -> Example:
    return of(kinds.any_array(draw), kinds.shape(draw))


@example_of("numpy.meshgrid")
def _meshgrid(draw: Draw) -> Example:
    named = {"indexing": draw.pick(["xy", "ij"])} if draw.chance(0.4) else {}
    return (
        [kinds.vector(draw) for _ in range(draw.whole(0, 3))],
        {**named, **({"sparse": True} if draw.chance(0.3) else {})},
        None,
    )


@example_of("numpy.roll")
def _roll(draw: Draw) -> Example:
    shift, axis = draw.pick(
        [
            (1, None),
            (-2, 0),
            (tuple_of([1, 2]), tuple_of([0, 1])),
            (tuple_of([1, 2]), 0),
            (array("int32", (), [2]), -1),
            (7, 0),
        ]
    )
    return of(an_array(draw, *draw.shape), shift, *([axis] if draw.chance(0.8) else []))


@example_of("numpy.broadcast_shapes", "lax.broadcast_shapes")
def _broadcast_shapes(draw: Draw) -> Example:
    return (
        [
            draw.pick(
                [tuple_of([2, 3]), tuple_of([3]), tuple_of([1]), tuple_of([]), tuple_of([2, 1]), tuple_of([0]), 3]
            )
            for _ in range(draw.whole(0, 3))
        ],
        {},
        None,
    )
