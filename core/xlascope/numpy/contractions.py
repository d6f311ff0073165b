"""``einsum``: sums of products over named axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ir.requested_dtypes import resolve_requested_dtype
from ..operations.conversion import convert_element_type, to_dtype
from ..operations.dot_product import dot_general_in_dtype
from ..operations.out_shardings import with_out_sharding
from ..operations.shapes import expand_dims, reduce_sum, squeeze, transpose
from ..trace.source import compose_message
from ..trace.values import aval_of
from . import contraction_paths, ufuncs
from .axes import reject_out
from .jit_wrapped import jit_wrapped
from .linear import promote_operands
from .promotion import as_dtype
from .repeating import diagonal
from .shaping import shape_of

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class EinsumOperand(NamedTuple):
    """Operand of einsum with a letter for each axis."""

    value: Any
    letters: str


@with_out_sharding
def einsum(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto", precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """Return the sum of products that ``subscripts`` describes.

    Letters name axes; those missing after ``->`` are summed over. Operands may also be given as operand, list of
    axis numbers, …, list of the result's axis numbers.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(6.0).reshape(2, 3)
    >>> print(jnp.einsum("ij,kj->ik", x, x))
    [[ 5. 14.]
     [14. 50.]]
    """
    if out is not None:
        raise reject_out("einsum")
    if not isinstance(subscripts, str):
        subscripts, operands = _subscripts_from_lists([subscripts, *operands])
    return _einsum(
        *operands,
        subscripts=subscripts.replace(" ", ""),
        optimize=contraction_paths.to_static_optimize(optimize),
        precision=precision,
        preferred_element_type=None
        if preferred_element_type is None
        else resolve_requested_dtype(preferred_element_type),
    )


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[tuple[int, ...]], Any]:
    """Return the order in which :func:`einsum` multiplies, as a value for its ``optimize``, and opt_einsum's cost info.

    A step gives the positions of operands in the list; they are removed, and their product is appended.

    >>> import xlascope.numpy as jnp
    >>> path, info = jnp.einsum_path("ij,jk,kl->il", jnp.ones((9, 2)), jnp.ones((2, 9)), jnp.ones((9, 2)))
    >>> path, int(info.opt_cost)
    ([(1, 2), (0, 1)], 144)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _subscripts_from_lists([subscripts, *operands])
    subscripts = subscripts.replace(" ", "")
    names, result = _parse_subscripts(subscripts, operands)
    sizes = _axis_sizes(subscripts, names, operands)
    path = contraction_paths.contraction_path(names, result, sizes, contraction_paths.to_static_optimize(optimize))
    return list(path), contraction_paths.path_and_cost(names, result, sizes, path)[1]


def _subscripts_from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Return subscripts and operands of the calling convention ``einsum(x, [0, 1], y, [1], [0])``."""
    pairs = len(arguments) // 2
    operands = tuple(arguments[2 * i] for i in range(pairs))
    lists = [arguments[2 * i + 1] for i in range(pairs)]

    def letters(axes: Sequence[Any]) -> str:
        return "".join("..." if axis is Ellipsis else _LETTERS[axis] for axis in axes)

    inputs = ",".join(map(letters, lists))
    return (f"{inputs}->{letters(arguments[-1])}" if len(arguments) % 2 else inputs), operands


def _parse_subscripts(subscripts: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """Return the axis letters of each operand and of the result, with the ellipsis expanded to unused letters.

    Without ``->`` the result has the axes of the ellipsis, then the letters that occur once, in alphabetical
    order. Raises ValueError if the number or ranks of the operands do not fit.
    """
    inputs, arrow, output = subscripts.partition("->")
    names = inputs.split(",")
    if len(names) != len(operands):
        raise ValueError(f"einsum {subscripts!r} names {len(names)} operands, got {len(operands)}")
    spare = [letter for letter in _LETTERS if letter not in subscripts]
    ranks = [len(shape_of(x)) for x in operands]
    ellipsis_rank = max(
        [rank - len(n.replace("...", "")) for n, rank in zip(names, ranks, strict=True) if "..." in n], default=0
    )
    expanded = []
    for name, rank in zip(names, ranks, strict=True):
        count = rank - len(name.replace("...", ""))
        if count < 0 or (count and "..." not in name):
            raise ValueError(f"einsum {subscripts!r}: {name!r} names {len(name)} axes of an operand that has {rank}")
        expanded.append(name.replace("...", "".join(spare[ellipsis_rank - count : ellipsis_rank])))
    if not arrow:
        once = [letter for letter in sorted(set(inputs) - set(",.")) if inputs.count(letter) == 1]
        return expanded, "".join(spare[:ellipsis_rank] + once)
    return expanded, output.replace("...", "".join(spare[:ellipsis_rank]))


@jit_wrapped("subscripts", "precision", "preferred_element_type", "optimize")
def _einsum(*operands: Any, subscripts: str, precision: Any, preferred_element_type: Any, optimize: Any) -> Any:
    names, result = _parse_subscripts(subscripts, operands)
    unknown = set(result) - set("".join(names))
    if unknown or len(set(result)) != len(result):
        raise ValueError(f"einsum {subscripts!r}: the result names an axis twice, or one that no operand has")
    values = promote_operands(operands, preferred_element_type)
    sizes = _axis_sizes(subscripts, names, values)
    factors = [_take_diagonals(EinsumOperand(x, name)) for x, name in zip(values, names, strict=True)]
    for step in contraction_paths.contraction_path([f.letters for f in factors], result, sizes, optimize):
        pending = [factors[i] for i in sorted(step, reverse=True)]  # the newest operands first, in JAX's order
        factors = [f for i, f in enumerate(factors) if i not in step]
        while len(pending) > 1:
            first, second, *pending = pending
            needed = set(result).union(*(f.letters for f in (*factors, *pending)))
            pending.insert(0, _multiply_pair(first, second, needed, result, sizes, precision, preferred_element_type))
        factors.append(pending[0])
    output = _transpose_to_result(_sum_unneeded_axes(factors[0], set(result), preferred_element_type), result)
    return output if preferred_element_type is None else convert_element_type(output, preferred_element_type)


def _axis_sizes(subscripts: str, names: Sequence[str], values: Sequence[Any]) -> dict[str, int]:
    """Return the axis size of each letter; raise ValueError if operands disagree, unless one of the sizes is 1.

    ``names`` are the axis letters of each operand in ``values``; ``subscripts`` is for the message.
    """
    sizes: dict[str, int] = {}
    for name, x in zip(names, values, strict=True):
        for letter, size in zip(name, shape_of(x), strict=True):
            if 1 not in (size, sizes.setdefault(letter, size)) and sizes[letter] != size:
                problem = (
                    f"einsum {subscripts!r}: axis {letter} has sizes {sizes[letter]} and {size}; they have to be equal."
                )
                raise ValueError(compose_message(problem))
            sizes[letter] = max(sizes[letter], size)
    return sizes


def _take_diagonals(factor: EinsumOperand) -> EinsumOperand:
    """Take the diagonal for each letter that occurs twice in an operand."""
    x, letters = factor
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            x = diagonal(x, 0, first, second)
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return EinsumOperand(x, letters)


def _sum_unneeded_axes(factor: EinsumOperand, needed: set[str], dtype: Any = None) -> EinsumOperand:
    """Sum over the axes whose letters are not in ``needed``, in ``dtype`` (None: the operand's own)."""
    axes = tuple(i for i, letter in enumerate(factor.letters) if letter not in needed)
    letters = "".join(letter for letter in factor.letters if letter in needed)
    return EinsumOperand(
        reduce_sum(as_dtype(factor.value, dtype or factor.value.dtype), axes) if axes else factor.value, letters
    )


def _multiply_pair(
    first: EinsumOperand,
    second: EinsumOperand,
    needed: set[str],
    result: str,
    sizes: dict[str, int],
    precision: Any,
    dtype: Any,
) -> EinsumOperand:
    """Multiply two operands and sum over the axes that nothing else needs, by a dot_general.

    ``needed`` are the letters of the result and of the remaining operands, ``result`` those of the result, in
    order; ``sizes`` is the axis size of each letter, ``dtype`` that of the product (None: the operands' own).
    Operands are swapped if that gives the axes in the order of the result.
    """
    first = _sum_unneeded_axes(_squeeze_broadcast_axes(first, second, sizes), needed | set(second.letters), dtype)
    second = _sum_unneeded_axes(_squeeze_broadcast_axes(second, first, sizes), needed | set(first.letters), dtype)
    shared = [letter for letter in first.letters if letter in second.letters]
    outer = not shared and needed >= set(first.letters + second.letters)
    if dtype is not None and (outer or first.value.dtype != second.value.dtype):
        first, second = (EinsumOperand(as_dtype(x, dtype), letters) for x, letters in (first, second))
    if outer:
        return _outer_product(first, second)
    batch = [letter for letter in shared if letter in needed]
    contract = [letter for letter in shared if letter not in needed]
    first_free, second_free = ([letter for letter in f.letters if letter not in shared] for f in (first, second))
    if "".join(batch + second_free + first_free) == result:
        first, second, first_free, second_free = second, first, second_free, first_free
    numbers = (_axis_positions(contract, first, second), _axis_positions(batch, first, second))
    product = dot_general_in_dtype(first.value, second.value, numbers, precision, dtype or first.value.dtype)
    return EinsumOperand(product, "".join(batch + first_free + second_free))


def _squeeze_broadcast_axes(factor: EinsumOperand, second: EinsumOperand, sizes: dict[str, int]) -> EinsumOperand:
    """Remove the axes of size 1 of ``factor`` that broadcast against larger axes of ``second``."""
    shape = shape_of(factor.value)
    axes = [i for i, letter in enumerate(factor.letters) if shape[i] == 1 != sizes[letter] and letter in second.letters]
    letters = "".join(letter for i, letter in enumerate(factor.letters) if i not in axes)
    return EinsumOperand(squeeze(factor.value, axes), letters)


def _outer_product(first: EinsumOperand, second: EinsumOperand) -> EinsumOperand:
    first_rank, second_rank = len(first.letters), len(second.letters)
    x = expand_dims(first.value, tuple(range(first_rank, first_rank + second_rank)))
    return EinsumOperand(ufuncs.multiply(x, second.value), first.letters + second.letters)


def _axis_positions(
    letters: Sequence[str], first: EinsumOperand, second: EinsumOperand
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(map(first.letters.index, letters)), tuple(map(second.letters.index, letters))


def _transpose_to_result(factor: EinsumOperand, result: str) -> Any:
    order = tuple(factor.letters.index(letter) for letter in result)
    value = factor.value if hasattr(factor.value, "aval") else to_dtype(factor.value, aval_of(factor.value).dtype)
    return transpose(value, order)
