"""Functions that take functions, and collectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import kinds
from ..draws import Draw
from ..language import Described, array, tuple_of
from .declaring import Example, an_array, example_of, fn, of


@example_of("lax.cond")
def _cond(draw: Draw) -> Example:
    pred = draw.pick(
        [
            True,
            False,
            0,
            1,
            2.5,
            array("bool", (), [True]),
            array("int32", (), [2], "numpy"),
            array("bool", (1,), [True]),
        ]
    )
    return of(
        pred,
        fn(draw.pick(["double", "square"])),
        fn(draw.pick(["square", "identity", "one_more", "halve"])),
        kinds.any_array(draw),
    )


@example_of("lax.platform_dependent")
def _platform_dependent(draw: Draw) -> Example:
    named = {"cpu": fn("square")} if draw.chance(0.5) else {"tpu": fn("halve")}
    return [kinds.any_array(draw)], {**named, "default": fn(draw.pick(["double", "identity"]))}, None


@example_of("lax.switch")
def _switch(draw: Draw) -> Example:
    where = draw.pick([0, 1, 2, -1, 9, array("int32", (), [1]), array("uint8", (), [1]), 1.0, True])
    return of(where, [fn("double"), fn("square"), fn("identity")][: draw.whole(0, 3)], kinds.any_array(draw))


@example_of("lax.scan")
def _scan(draw: Draw) -> Example:
    xs = draw.pick([an_array(draw, 3), an_array(draw, 0), an_array(draw, 2, 3), None])
    named: dict[str, Any] = {}
    if xs is None:
        named["length"] = draw.pick([0, 3, 2])
    if draw.chance(0.3):
        named["reverse"] = True
    if draw.chance(0.2):
        named["unroll"] = draw.pick([2, True, 1])
    function = "counting" if xs is None else draw.pick(["running", "running", "counting"])
    start = kinds.number(draw) if draw.chance(0.4) else draw.array_of(draw.dtype, (), "device")
    return [fn(function), start, xs], named, None


@example_of("lax.while_loop")
def _while(draw: Draw) -> Example:
    return of(
        fn("small"),
        fn("one_more"),
        draw.pick(
            [0, 3.5, array("int8", (), [3]), array("float32", (2,), [7.5, 9]), array("float16", (), [7.0], "numpy")]
        ),
    )


@example_of("lax.fori_loop")
def _fori(draw: Draw) -> Example:
    bound = array(draw.pick(["int32", "int8", "uint8", "int16"]), (), [3])
    lower, upper = draw.pick(
        [(0, 3), (2, 2), (3, 0), (0, bound), (array("int32", (), [1]), 4), (bound, bound), (1.0, 3), (True, 3)]
    )
    named = {"unroll": draw.pick([1, 2, True])} if draw.chance(0.2) else {}
    return [lower, upper, fn("step_of_loop"), kinds.any_array(draw)], named, None


@example_of("lax.map")
def _map(draw: Draw) -> Example:
    named = {"batch_size": draw.pick([1, 2, 5, 0])} if draw.chance(0.3) else {}
    return (
        [fn(draw.pick(["square", "double", "pair", "total"])), an_array(draw, *draw.pick([(3,), (2, 3), (0,)]))],
        named,
        None,
    )


@example_of("lax.associative_scan")
def _associative(draw: Draw) -> Example:
    named: dict[str, Any] = {"reverse": True} if draw.chance(0.3) else {}
    if draw.chance(0.3):
        named["axis"] = draw.pick([-1, 0, 1])
    return (
        [fn(draw.pick(["add", "multiply", "maximum"])), an_array(draw, *draw.pick([(5,), (2, 3), (3,), (0,), (1,)]))],
        named,
        None,
    )


@example_of("lax.custom_root")
def _root(draw: Draw) -> Example:
    return of(fn("root_function"), draw.pick([1.0, array("float32", (), [1.5])]), fn("newton"), fn("divide_by_slope"))


@example_of("lax.custom_linear_solve")
def _solve(draw: Draw) -> Example:
    return of(
        fn("halve"),
        an_array(draw, 3, dtype="float32"),
        fn("solve_twice"),
        **({"symmetric": True} if draw.chance(0.5) else {}),
    )


#: Collectives: two members of one axis.
COLLECTIVES: dict[str, Callable[[Draw], list[Described]]] = {
    **dict.fromkeys(["psum", "pmean", "pmax", "pmin", "all_gather", "psum_scatter"], lambda draw: []),
    "ppermute": lambda draw: [draw.pick([[[0, 1], [1, 0]], [[0, 1]], [[0, 0], [1, 1]], [[0, 1], [0, 0]], []])],
    "pshuffle": lambda draw: [draw.pick([[1, 0], [0, 1], [0]])],
    "pswapaxes": lambda draw: [draw.pick([0, 1, -1])],
    "pbroadcast": lambda draw: [draw.pick([0, 1])],
    "all_to_all": lambda draw: [draw.pick([0, 1]), draw.pick([0, 1])],
}


@example_of(*(f"lax.{name}" for name in COLLECTIVES))
def _collective(draw: Draw) -> Example:
    size = 2 if draw.chance(0.9) else 3
    operand = draw.array_of(
        draw.dtype, (size, *draw.pick([(), (2,), (2, 3), (2, 2)])), draw.pick(["device", "device", "numpy"])
    )
    return of(
        operand,
        draw.pick(["i", "i", "i", "i", "j"]),
        *COLLECTIVES[draw.function.removeprefix("lax.")](draw),
        how="vmap",
    )


@example_of("lax.axis_index", "lax.axis_size")
def _axis(draw: Draw) -> Example:
    return of(draw.pick(["i", "i", "i", "j"]), how="vmap")


@example_of("numpy.apply_along_axis")
def _along(draw: Draw) -> Example:
    return of(fn(draw.pick(["total", "first_half", "square", "pair"])), kinds.axis(draw), an_array(draw, *draw.shape))


@example_of("numpy.piecewise")
def _piecewise(draw: Draw) -> Example:
    conditions = [draw.array_of("bool", draw.shape) for _ in range(2)]
    functions = [draw.pick([fn("square"), 1, -2.5]) for _ in range(draw.pick([2, 2, 3, 1]))]
    return of(an_array(draw, *draw.shape), conditions, functions)


@example_of("numpy.fromfunction")
def _fromfunction(draw: Draw) -> Example:
    return of(
        fn("weighted"),
        tuple_of([2, 3]),
        **({"dtype": draw.pick(["float32", "int32", {"type": "int"}])} if draw.chance(0.5) else {}),
    )


@example_of("numpy.mask_indices")
def _mask_indices(draw: Draw) -> Example:
    return of(draw.pick([0, 1, 3]), fn("mask"), *([draw.pick([0, 1])] if draw.chance(0.5) else []))


@example_of("numpy.vectorize", "tree_util.Partial")
def _of_function(draw: Draw) -> Example:
    return of(fn("square"))
