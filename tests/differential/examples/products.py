"""Products and what is made of them."""

from __future__ import annotations

import math

from .. import kinds
from ..draws import Draw
from ..language import array, tuple_of
from .declaring import Example, an_array, example_of, fn, of

_VECTOR, _MATRIX = (3,), (2, 3)
_EINSUMS = (
    *(("ij,jk->ik", [(2, 3), (3, 2)]), ("ij,jk", [(2, 3), (3, 2)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)])),
    *(("ij->ji", [_MATRIX]), ("ij->", [_MATRIX]), ("ii", [(3, 3)]), ("ii->i", [(3, 3)]), ("...->...", [_MATRIX])),
    *(("i,i", [_VECTOR, _VECTOR]), ("i,j->ij", [_VECTOR, (2,)]), ("i,i,i->", [_VECTOR] * 3), ("i", [_VECTOR])),
    *(("...i,i", [_MATRIX, _VECTOR]), (" i j , j -> i", [_MATRIX, _VECTOR]), ("ij,ij->i", [_MATRIX, _MATRIX])),
    *(("ij,jk->ii", [_MATRIX, (3, 2)]), ("i->ij", [_VECTOR]), ("ij,jk", [_MATRIX])),  # these are mistakes
)


@example_of("numpy.einsum_path")
def _einsum_path(draw: Draw) -> Example:
    subscripts, shapes = draw.pick(_EINSUMS)
    named = {"optimize": draw.pick([True, "greedy", "optimal"])} if draw.chance(0.4) else {}
    return [subscripts, *(an_array(draw, *shape) for shape in shapes)], named, None


@example_of("lax.ragged_dot")
def _ragged_dot(draw: Draw) -> Example:
    sizes = draw.pick([(1, 3), (2, 2), (0, 4), (4, 0), (1, 1)])
    dtype = draw.pick(["float32", "float16", "bfloat16"])
    # finite: jax multiplies the rows of other groups by zero, and so has their NaN
    rows, matrices = (array(dtype, shape, [draw.whole(-3, 3) for _ in range(12)]) for shape in ((4, 3), (2, 3, 2)))
    return of(rows, matrices, array("int32", (2,), list(sizes)))


#: Shapes of lhs and rhs, dimension numbers, ragged and group axes, and of sizes.
_RAGGED = (
    ((4, 3), (2, 3, 2), [[[1], [1]], [[], []]], 0, [0], (2,)),
    ((2, 4, 3), (2, 3, 2), [[[2], [1]], [[], []]], 1, [0], (2, 2)),
    ((2, 4, 3), (2, 2, 3), [[[2], [2]], [[0], [1]]], 1, [0], (2,)),  # one free axis each, and the groups in front
    ((4, 3), (4, 2), [[[0], [0]], [[], []]], 0, [], (3,)),
    ((2, 4, 3), (2, 4), [[[0, 1], [0, 1]], [[], []]], 1, [], (2, 2)),
    ((2, 4, 3), (2, 3, 2), [[[2], [1]], [[0], [0]]], 0, [], (2,)),
    ((4, 3), (2, 3, 2), [[[1], [1]], [[], []]], 0, [1], (2,)),  # these are mistakes
    ((4, 3), (4, 2), [[[0], [0]], [[], []]], 0, [1], (3,)),
    ((4, 3), (2, 3, 2), [[[1], [1]], [[], []]], 0, [0], (3,)),
)


@example_of("lax.ragged_dot_general")
def _ragged_dot_general(draw: Draw) -> Example:
    left, right, numbers, ragged, groups, shape = draw.pick(_RAGGED)
    dtype = draw.pick(["float32", "float16", "bfloat16", "int32"])
    operands = [array(dtype, each, [draw.whole(-3, 3) for _ in range(math.prod(each))]) for each in (left, right)]
    sizes = array(draw.pick(["int32", "uint8"]), shape, [draw.whole(0, 3) for _ in range(math.prod(shape))])
    made = {
        "make": {
            "attribute": "lax.RaggedDotDimensionNumbers",
            "kwargs": {
                "dot_dimension_numbers": numbers,
                "lhs_ragged_dimensions": [ragged],
                "rhs_group_dimensions": groups,
            },
        }
    }
    named = {"preferred_element_type": "float32"} if draw.chance(0.2) else {}
    return [*operands, sizes, made], named, None


@example_of("lax.scaled_dot")
def _scaled_dot(draw: Draw) -> Example:
    dtype = draw.pick(["float32", "bfloat16", "float16", "int8", "float8_e4m3fn"])
    left, right, *scales = draw.pick(
        [
            ((2, 4), (4, 3), (2, 2), (1, 3)),
            ((2, 2, 4), (2, 4, 3), (2, 2, 1), (2, 2, 3)),
            ((2, 4), (4, 3), (2, 4), (2, 3)),  # these are mistakes
            ((2, 4), (4, 3), (2, 3), (2, 3)),
            ((4,), (4,), (2,), (2,)),
        ]
    )
    operands = [array(dtype, each, [draw.whole(-3, 3) for _ in range(math.prod(each))]) for each in (left, right)]
    kind = draw.pick(["float32", "float8_e8m0fnu"])
    made = [array(kind, each, [draw.pick([0.5, 1, 2]) for _ in range(math.prod(each))]) for each in scales]
    named = {name: each for name, each in zip(("lhs_scale", "rhs_scale"), made, strict=True) if draw.chance(0.7)}
    if draw.chance(0.4):
        named["preferred_element_type"] = draw.pick(["float32", "float16", "bfloat16"])
    return operands, named, None


@example_of("nn.scaled_matmul")
def _scaled_matmul(draw: Draw) -> Example:
    shapes = draw.pick([((1, 2, 4), (1, 3, 4), (1, 2, 2), (1, 3, 2)), ((1, 2, 4), (1, 3, 4), (1, 2, 3), (1, 3, 3))])
    return of(*(an_array(draw, *shape, dtype="float32") for shape in shapes))


@example_of("nn.scaled_dot_general")
def _scaled_dot_general(draw: Draw) -> Example:
    left, right, dims = draw.pick(_PRODUCTS)
    named = {"preferred_element_type": draw.pick(["float32", "bfloat16"])} if draw.chance(0.4) else {}
    return [an_array(draw, *left, dtype="float32"), an_array(draw, *right, dtype="float32"), dims], named, None


@example_of("nn.get_scaled_dot_general_config")
def _scaled_config(draw: Draw) -> Example:
    return of(draw.pick(["mxfp8", "nvfp4", "mxfp4", ""]))


@example_of("lax.composite")
def _composite(draw: Draw) -> Example:
    version = {"version": draw.pick([0, 2])} if draw.chance(0.3) else {}
    return of(fn(draw.pick(["square", "double", "identity", "total"])), "my.composite", **version)


@example_of("numpy.einsum")
def _einsum(draw: Draw) -> Example:
    subscripts, shapes = draw.pick(_EINSUMS)
    operands = [an_array(draw, *shape) for shape in shapes]
    named = {"precision": draw.pick([None, "highest"])} if draw.chance(0.1) else {}
    if draw.chance(0.1):
        named["preferred_element_type"] = kinds.float_dtype(draw)
    return [subscripts, *operands], named, None


@example_of(
    "numpy.dot",
    "numpy.matmul",
    "numpy.inner",
    "array.__matmul__",
    "array.dot",
    "numpy.linalg.matmul",
    "numpy.matvec",
    "numpy.vecmat",
)
def _matmul(draw: Draw) -> Example:
    left, right = draw.pick(
        [
            ((3, 3), (3, 3)),
            ((2, 3), (3, 4)),
            ((3,), (3,)),
            ((2, 3, 4), (4, 3)),
            ((3,), (3, 2)),
            ((2, 3), (3,)),
            ((2, 3), (2, 3)),
            ((), (3,)),
            ((0, 3), (3, 2)),
            ((2, 0), (0, 3)),
        ]
    )
    named = {}
    if not draw.function.startswith("array.__") and draw.chance(0.1):
        named["preferred_element_type"] = kinds.float_dtype(draw)
    left_array = (
        an_array(draw, *left)
        if not draw.function.startswith("array.")
        else draw.array_of(draw.other_dtype(), left, "device")
    )
    return [left_array, an_array(draw, *right)], named, None


#: Shapes, and which axes are contracted and which are batched.
_PRODUCTS = (
    *(((3, 3), (3, 3), [[[1], [0]], [[], []]]), ((2, 3), (3, 4), [[[1], [0]], [[], []]])),
    *(((3,), (3,), [[[0], [0]], [[], []]]), ((2, 3), (3,), [[[1], [0]], [[], []]])),
    *(((2, 3, 4), (2, 4, 3), [[[2], [1]], [[0], [0]]]), ((2, 3), (2, 3), [[[], []], [[], []]])),
    ((2, 3), (4, 3), [[[1], [0]], [[], []]]),
)


@example_of("lax.dot", "lax.batch_matmul", "lax.dot_general")
def _lax_dot(draw: Draw) -> Example:
    left, right, dims = draw.pick(_PRODUCTS)
    args = [an_array(draw, *left), an_array(draw, *right)]
    if draw.function == "lax.dot_general":
        form = tuple_of([tuple_of([tuple_of(each) for each in pair]) for pair in dims]) if draw.chance(0.7) else dims
        args.append(form)
    named = (
        {"preferred_element_type": draw.pick(["float32", "int32", "complex64", draw.dtype])} if draw.chance(0.2) else {}
    )
    return args, named, None


@example_of("lax.conv_general_dilated")
def _convolution(draw: Draw) -> Example:
    return of(
        an_array(draw, 1, 2, 5, 5),
        an_array(draw, 3, 2, 2, 2),
        tuple_of([1, 1]),
        draw.pick(["SAME", "VALID", [[0, 1], [1, 0]]]),
    )


@example_of("numpy.gradient")
def _gradient(draw: Draw) -> Example:
    spacing = [draw.pick([1.0, 2, array("float32", (4,), [0, 1, 3, 6])])] if draw.chance(0.5) else []
    return of(
        an_array(draw, *draw.pick([(4,), (4, 4), (2, 3), (3,)])),
        *spacing,
        **({"axis": draw.pick([0, -1, None])} if draw.chance(0.3) else {}),
    )


@example_of("numpy.cross")
def _cross(draw: Draw) -> Example:
    left, right = draw.pick([((3,), (3,)), ((2, 3), (3,)), ((2,), (2,)), ((2,), (3,)), ((2, 3), (2, 3)), ((4,), (4,))])
    return of(an_array(draw, *left), an_array(draw, *right))


@example_of("numpy.matrix_power", "numpy.linalg.matrix_power")
def _matrix_power(draw: Draw) -> Example:
    return of(an_array(draw, 3, 3), draw.pick([0, 1, 2, 3, 5]))


@example_of("numpy.convolve", "numpy.correlate")
def _convolve(draw: Draw) -> Example:
    return of(
        kinds.vector(draw),
        kinds.vector(draw),
        **({"mode": draw.pick(["full", "same", "valid"])} if draw.chance(0.6) else {}),
    )
