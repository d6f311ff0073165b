"""Calls of experimental.sparse: arrays of which two in three elements are zero, in every layout."""

from __future__ import annotations

import math
from typing import Any

from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, example_of, fn, of

_ROOM = "experimental.sparse"


def _named(names: str, prefix: str = "") -> list[str]:
    return [f"{_ROOM}.{prefix}{name}" for name in names.split()]


def _dense(draw: Draw, *shape: int, dtype: str | None = None) -> Any:
    dtype = dtype or draw.weighted({"float32": 8, "int32": 2, "complex64": 1})
    entries: list[Any] = [draw.whole(-8, 8) if draw.chance(0.4) else 0 for _ in range(math.prod(shape))]
    if dtype == "float32":
        entries = [each / 4 for each in entries]
    if dtype == "complex64":
        entries = [[each / 4, draw.whole(-2, 2) / 2 if each else 0.0] for each in entries]
    return array(dtype, shape, entries, draw.pick(["device", "device", "numpy"]))


class _Layout:
    """A shape, and how many of its axes are batch axes and dense ones."""

    def __init__(self, draw: Draw, *shape: int, plain: float = 0.6) -> None:
        self.shape = shape or draw.pick([(3,), (3, 4), (2, 3), (4, 1), (2, 3, 4), (3, 2, 2)])
        rank = len(self.shape)
        self.batch = 0 if draw.chance(plain) else draw.whole(0, rank)
        self.dense = 0 if draw.chance(plain) else draw.whole(0, rank - self.batch)

    def made(self, draw: Draw, dtype: str | None = None, form: str = "BCOO") -> Any:
        named = {"n_batch": self.batch, "n_dense": self.dense}
        given = {name: each for name, each in named.items() if each}
        made = {"attribute": f"{_ROOM}.{form}.fromdense", "args": [_dense(draw, *self.shape, dtype=dtype)]}
        return {"make": {**made, "kwargs": given}}


def _rows(draw: Draw, *shape: int, dtype: str | None = None) -> Any:
    layout = _Layout(draw, *(shape or draw.pick([(3, 4), (4, 2), (2, 3, 4)])))
    layout.batch, layout.dense = len(layout.shape) - 2, 0
    return layout.made(draw, dtype, "BCSR")


def _how(draw: Draw, layout: _Layout | None = None) -> str | None:
    """Also its gradient, and mapped where there is a batch axis."""
    hows = {"eager": 5, "jit": 3, "grad": 2}
    return draw.weighted({**hows, "vmap": 3} if layout is not None and layout.batch else hows)


def _float(how: str | None) -> str | None:
    return "float32" if how == "grad" else None


_UNARY = "bcoo_todense bcoo_sort_indices bcoo_sum_duplicates todense"
_METHODS = "todense sort_indices sum_duplicates __neg__ __abs__"


@example_of(*_named(_UNARY), *_named(_METHODS, "BCOO."))
def _of_one(draw: Draw) -> Example:
    layout = _Layout(draw)
    how = _how(draw, layout)
    if how == "grad" and draw.function.endswith("sort_indices"):
        how = "jit"
    more = {"nse": draw.whole(1, 12)} if draw.function.endswith("sum_duplicates") and draw.chance(0.4) else {}
    if draw.function.endswith("sum_duplicates") and how == "jit" and not more:
        how = "eager"
    return of(layout.made(draw, _float(how)), how=how, **more)


@example_of(*_named("bcsr_todense bcsr_sum_duplicates BCSR.todense BCSR.to_bcoo BCSR.sum_duplicates"))
def _of_rows(draw: Draw) -> Example:
    how = _how(draw)
    more = {"nse": draw.whole(1, 12)} if draw.function.endswith("sum_duplicates") and draw.chance(0.6) else {}
    if draw.function.endswith("sum_duplicates") and how != "grad":
        how = "eager"
    return of(_rows(draw, dtype=_float(how)), how=how, **more)


@example_of(*_named("bcoo_fromdense bcsr_fromdense BCOO.fromdense BCSR.fromdense"))
def _from_dense(draw: Draw) -> Example:
    rows = ".bcsr" in draw.function or ".BCSR" in draw.function
    layout = _Layout(draw, *([draw.pick([2, 3]), 4] if rows else []))
    how = draw.weighted({"eager": 5, "jit": 3, "grad": 2})
    named: dict[str, Any] = {}
    if rows:
        layout.batch = layout.dense = 0
    if layout.batch:
        named["n_batch"] = layout.batch
    if layout.dense:
        named["n_dense"] = layout.dense
    if how != "eager" or draw.chance(0.4):
        named["nse"] = draw.pick([math.prod(layout.shape), 3, 5])
    if draw.chance(0.2):
        named["index_dtype"] = draw.pick(["int32", "uint32", "int8"])
    return of(_dense(draw, *layout.shape, dtype=_float(how)), how=how, **named)


@example_of(*_named("BCOO"))
def _bcoo(draw: Draw) -> Example:
    data = _dense(draw, 3, dtype="float32")
    indices = array("int32", (3, 2), [draw.whole(0, 3) for _ in range(6)], "device")
    named = {each: False for each in ("indices_sorted", "unique_indices") if draw.chance(0.3)}
    return of(tuple_of([data, indices]), shape=tuple_of([3, draw.pick([3, 4])]), **named)


@example_of(*_named("BCSR"))
def _bcsr(draw: Draw) -> Example:
    data = _dense(draw, 4, dtype="float32")
    columns = array("int32", (4,), draw.pick([[0, 2, 1, 0], [0, 1, 2, 1], [2, 0, 1, 2]]), "device")
    starts = array("int32", (4,), draw.pick([[0, 2, 3, 4], [0, 0, 2, 4], [0, 1, 1, 3]]), "device")
    return of(tuple_of([data, columns, starts]), shape=tuple_of([3, 3]))


@example_of(*_named("BCSR.from_bcoo"))
def _rows_from_entries(draw: Draw) -> Example:
    layout = _Layout(draw, 3, 4)
    layout.batch = layout.dense = 0
    return of(layout.made(draw))


@example_of(*_named("bcoo_reduce_sum BCOO.sum BCSR.sum"))
def _summed(draw: Draw) -> Example:
    layout = _Layout(draw)
    how = _how(draw)
    name = "axes" if draw.function.endswith("bcoo_reduce_sum") else "axis"
    axes = draw.pick([[0], [len(layout.shape) - 1], list(range(len(layout.shape)))])
    named: dict[str, Any] = {name: tuple_of(axes)} if name == "axes" or draw.chance(0.7) else {}
    return of(_rows(draw) if ".BCSR" in draw.function else layout.made(draw, _float(how)), how=how, **named)


@example_of(*_named("bcoo_transpose BCOO.transpose BCSR.transpose bcoo_rev"))
def _turned(draw: Draw) -> Example:
    layout = _Layout(draw, plain=0.8)
    how = _how(draw)
    rank = len(layout.shape)
    order = sorted(range(rank), key=lambda _: draw.whole(0, 99))
    made = _rows(draw) if ".BCSR" in draw.function else layout.made(draw, _float(how))
    if draw.function.endswith("bcoo_transpose"):
        return of(made, permutation=tuple_of(order), how=how)
    if draw.function.endswith("rev"):
        return of(made, tuple_of(order[: draw.whole(0, rank)]), how=how)
    return of(made, *([tuple_of(order)] if draw.chance(0.6) else []), how=how)


@example_of(*_named("bcoo_reshape BCOO.reshape"))
def _reshaped(draw: Draw) -> Example:
    shape, new = draw.pick(
        [((3, 4), (12,)), ((3, 4), (2, 6)), ((2, 3, 4), (6, 4)), ((2, 3, 4), (2, 12)), ((4,), (2, 2))]
    )
    layout = _Layout(draw, *shape, plain=0.8)
    how = _how(draw)
    made = layout.made(draw, _float(how))
    if draw.function.endswith("bcoo_reshape"):
        return of(made, new_sizes=tuple_of(new), how=how)
    return of(made, *([tuple_of(new)] if draw.chance(0.5) else new), how=how)


@example_of(*_named("bcoo_squeeze"))
def _squeezed(draw: Draw) -> Example:
    shape, axes = draw.pick([((3, 1), [1]), ((1, 3), [0]), ((1, 3, 1), [0, 2]), ((2, 1, 3), [1]), ((3, 1), [])])
    how = _how(draw)
    return of(_Layout(draw, *shape).made(draw, _float(how)), dimensions=tuple_of(axes), how=how)


@example_of(*_named("bcoo_broadcast_in_dim bcsr_broadcast_in_dim"))
def _broadcast(draw: Draw) -> Example:
    how = _how(draw)
    if ".bcsr" in draw.function:
        return of(_rows(draw, 3, 4), shape=tuple_of([2, 3, 4]), broadcast_dimensions=tuple_of([1, 2]))
    shape, new, places = draw.pick(
        [
            ((3,), (2, 3), [1]),
            ((3,), (3, 2), [0]),
            ((3, 4), (2, 3, 4), [1, 2]),
            ((3, 1), (3, 4), [0, 1]),
            ((1,), (3,), [0]),
        ]
    )
    layout = _Layout(draw, *shape, plain=0.8)
    return of(layout.made(draw, _float(how)), shape=tuple_of(new), broadcast_dimensions=tuple_of(places), how=how)


@example_of(*_named("bcoo_concatenate bcsr_concatenate"))
def _joined(draw: Draw) -> Example:
    count, axis = draw.pick([1, 2, 3]), draw.pick([0, 1])
    if ".bcsr" in draw.function:
        return of([_rows(draw, 3, 4, dtype="float32") for _ in range(count)], dimension=axis)
    layout = _Layout(draw, 3, 4, plain=0.8)
    return of([layout.made(draw, "float32") for _ in range(count)], dimension=axis)


@example_of(*_named("bcoo_slice bcoo_dynamic_slice"))
def _cut(draw: Draw) -> Example:
    layout = _Layout(draw, 3, 4, plain=0.8)
    how = _how(draw)
    made = layout.made(draw, _float(how))
    starts = [draw.whole(0, 1), draw.whole(0, 2)]
    if draw.function.endswith("dynamic_slice"):
        return of(made, tuple_of(starts), tuple_of([draw.whole(1, 3), draw.whole(1, 2)]), how=how)
    named: dict[str, Any] = {"start_indices": tuple_of(starts), "limit_indices": tuple_of([draw.whole(1, 3), 4])}
    if draw.chance(0.4):
        named["strides"] = tuple_of([draw.pick([1, 2]), draw.pick([1, 2])])
    return of(made, how=how, **named)


@example_of(*_named("BCOO.__getitem__"))
def _part(draw: Draw) -> Example:
    how = _how(draw)
    one: Any = draw.pick([0, -1, {"slice": [0, 2, None]}, {"slice": [None, None, 2]}, {"ellipsis": None}, None])
    index = draw.pick([one, tuple_of([one, draw.pick([0, {"slice": [1, None, None]}])])])
    return of(_Layout(draw, 3, 4, plain=0.8).made(draw, _float(how)), index, how=how)


@example_of(*_named("bcoo_extract bcoo_multiply_dense"))
def _beside_dense(draw: Draw) -> Example:
    layout = _Layout(draw, plain=0.8)
    how = _how(draw)
    shape = layout.shape
    if draw.function.endswith("dense") and draw.chance(0.4):
        shape = draw.pick([tuple(1 for _ in shape), shape[1:], ()])
    return of(layout.made(draw, "float32"), _dense(draw, *shape, dtype="float32"), how=how)


@example_of(*_named("bcsr_extract"))
def _of_places(draw: Draw) -> Example:
    columns = array("int32", (4,), [0, 2, 1, 0], "device")
    starts = array("int32", (4,), draw.pick([[0, 2, 3, 4], [0, 0, 2, 4]]), "device")
    return of(columns, starts, _dense(draw, 3, 3, dtype="float32"), how=_how(draw))


@example_of(*_named("bcoo_multiply_sparse"), *_named("__mul__ __rmul__ __add__ __sub__ __truediv__", "BCOO."))
def _beside(draw: Draw) -> Example:
    layout = _Layout(draw, plain=0.9)
    how = _how(draw)
    name = draw.function.rpartition(".")[2]
    made = layout.made(draw, "float32")
    number = draw.pick([2, 0.5, -1.0])
    others = {
        "bcoo_multiply_sparse": [layout.made(draw, "float32")],
        "__add__": [layout.made(draw, "float32")],
        "__sub__": [layout.made(draw, "float32")],
        "__truediv__": [number],
    }
    other = draw.pick(
        others.get(name, [number, layout.made(draw, "float32"), _dense(draw, *layout.shape, dtype="float32")])
    )
    return of(made, other, how=how)


@example_of(*_named("BCOO.__pow__"))
def _power(draw: Draw) -> Example:
    how = _how(draw)
    return of(_Layout(draw).made(draw, "float32"), draw.pick([1, 2, 3]), how=how)


@example_of(*_named("BCOO.__matmul__ BCOO.__rmatmul__ BCSR.__matmul__ BCSR.__rmatmul__"))
def _product(draw: Draw) -> Example:
    how = _how(draw)
    reflected = draw.function.endswith("__rmatmul__")
    layout = _Layout(draw, 3, 4, plain=1.0)
    made = _rows(draw, 3, 4, dtype="float32") if ".BCSR" in draw.function else layout.made(draw, "float32")
    shape = draw.pick([(3,), (2, 3)] if reflected else [(4,), (4, 2), (4, 1)])
    other = _dense(draw, *shape, dtype="float32")
    if not reflected and ".BCOO" in draw.function and draw.chance(0.4):
        other = _Layout(draw, *shape, plain=1.0).made(draw, "float32")
    return of(made, other, how=how)


@example_of(*_named("bcoo_dot_general bcsr_dot_general"))
def _contracted(draw: Draw) -> Example:
    how = _how(draw)
    left, right, numbers = draw.pick(
        [
            ((3, 4), (4, 2), [[[1], [0]], [[], []]]),
            ((3, 4), (4,), [[[1], [0]], [[], []]]),
            ((3, 4), (3, 2), [[[0], [0]], [[], []]]),
            ((3, 4), (3, 4), [[[0, 1], [0, 1]], [[], []]]),
            ((2, 3, 4), (2, 4, 2), [[[2], [1]], [[0], [0]]]),
            ((3,), (2,), [[[], []], [[], []]]),
        ]
    )
    dimensions = tuple_of([tuple_of(each) for each in numbers])
    batch = len(numbers[1][0])
    if ".bcsr" in draw.function:
        if len(left) < 2:
            left, right, dimensions = (3, 4), (4, 2), tuple_of([tuple_of([[1], [0]]), tuple_of([[], []])])
        made = _rows(draw, *left, dtype="float32")
        return of(made, _dense(draw, *right, dtype="float32"), dimension_numbers=dimensions, how=how)
    sides = []
    for shape in (left, right):
        layout = _Layout(draw, *shape, plain=1.0)
        layout.batch = batch
        sides.append(layout.made(draw, "float32") if draw.chance(0.7) else _dense(draw, *shape, dtype="float32"))
    return of(*sides, dimension_numbers=dimensions, how=how)


@example_of(*_named("bcoo_update_layout BCOO.update_layout"))
def _laid_out(draw: Draw) -> Example:
    layout = _Layout(draw, plain=0.5)
    how = _how(draw)
    rank = len(layout.shape)
    named: dict[str, Any] = {}
    if draw.chance(0.7):
        named["n_batch"] = draw.whole(0, rank)
    if draw.chance(0.5):
        named["n_dense"] = draw.whole(0, rank)
    if draw.chance(0.8):
        named["on_inefficient"] = None
    return of(layout.made(draw, _float(how)), how=how, **named)


@example_of(*_named("BCOO.astype"))
def _typed(draw: Draw) -> Example:
    return of(_Layout(draw).made(draw), draw.pick(["float32", "int32", "complex64", "bool"]))


@example_of(*_named("empty eye"))
def _declared(draw: Draw) -> Example:
    named: dict[str, Any] = {}
    if draw.chance(0.5):
        named["dtype"] = draw.pick(["float32", "int32"])
    if draw.chance(0.2):
        named["index_dtype"] = draw.pick(["int32", "uint8"])
    if draw.chance(0.2):
        named["sparse_format"] = draw.pick(["bcoo", "bcsr", "none"])
    if draw.function.endswith("empty"):
        return of(tuple_of(draw.pick([(3,), (2, 3), (0,)])), **named)
    if draw.chance(0.3):
        named["k"] = draw.pick([0, 1, -1, 5])
    return of(draw.pick([1, 3, 4]), *([draw.pick([2, 3, None])] if draw.chance(0.5) else []), **named)


@example_of(*_named("random_bcoo"))
def _drawn(draw: Draw) -> Example:
    named: dict[str, Any] = {}
    if draw.chance(0.6):
        named["nse"] = draw.pick([0.5, 3, 1, 0.2])
    if draw.chance(0.3):
        named["n_batch"] = 1
    if draw.chance(0.3):
        named["n_dense"] = 1
    if draw.chance(0.3):
        named["unique_indices"] = draw.pick([True, False])
    if draw.chance(0.3):
        named["dtype"] = "float32"
    return of(
        {"key": {"seed": draw.whole(0, 9), "typed": True}}, tuple_of(draw.pick([(4,), (3, 4), (2, 3, 4)])), **named
    )


@example_of(*_named("grad jacfwd jacobian jacrev value_and_grad sparsify"))
def _derived(draw: Draw) -> Example:
    return of(fn(draw.pick(["square", "total", "double"])))
