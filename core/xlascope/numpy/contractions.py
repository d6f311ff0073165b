"""``einsum``: sums of products by named axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..ir.requested_dtypes import requested_dtype
from ..operations.conversion import convert_element_type
from ..operations.linear_algebra import dot_general
from ..operations.out_shardings import out_sharded
from ..operations.shapes import expand_dims, squeeze, transpose
from ..trace.source import compose_message
from . import contraction_paths, ufuncs
from .axes import no_out
from .linear import meeting
from .promotion import as_dtype
from .reductions import sum
from .repeating import diagonal
from .shaping import shape_of
from .together import together

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Factor(NamedTuple):
    """An operand with a letter for each axis."""

    value: Any
    letters: str


@out_sharded
def einsum(
    subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto", precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """The sum of products that ``subscripts`` says: letters name axes, those missing behind ``->`` are summed over.

    Operands may also be given as operand, list of axis numbers, …, list of the result's axis numbers.

    >>> import xlascope.numpy as jnp
    >>> x = jnp.arange(6.0).reshape(2, 3)
    >>> print(jnp.einsum("ij,kj->ik", x, x))
    [[ 5. 14.]
     [14. 50.]]
    """
    if out is not None:
        raise no_out("einsum")
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists([subscripts, *operands])
    return _einsum(
        *operands,
        subscripts=subscripts.replace(" ", ""),
        optimize=contraction_paths.checked(optimize),
        precision=precision,
        preferred_element_type=None if preferred_element_type is None else requested_dtype(preferred_element_type),
    )


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[tuple[int, ...]], Any]:
    """The order in which :func:`einsum` multiplies, as steps that its ``optimize`` takes, and opt_einsum's account.

    A step names operands by their places; they are taken out, and their product goes to the end.

    >>> import xlascope.numpy as jnp
    >>> path, info = jnp.einsum_path("ij,jk,kl->il", jnp.ones((9, 2)), jnp.ones((2, 9)), jnp.ones((9, 2)))
    >>> path, int(info.opt_cost)
    ([(1, 2), (0, 1)], 144)
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists([subscripts, *operands])
    subscripts = subscripts.replace(" ", "")
    names, result = _named(subscripts, operands)
    sizes = _sizes(subscripts, names, operands)
    path = contraction_paths.path_of(names, result, sizes, contraction_paths.checked(optimize))
    return list(path), contraction_paths.cost_of(names, result, sizes, path)[1]


def _from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """The other calling convention, ``einsum(x, [0, 1], y, [1], [0])``, as letters."""
    pairs = len(arguments) // 2
    operands = tuple(arguments[2 * i] for i in range(pairs))
    lists = [arguments[2 * i + 1] for i in range(pairs)]

    def letters(axes: Sequence[Any]) -> str:
        return "".join("..." if axis is Ellipsis else _LETTERS[axis] for axis in axes)

    left = ",".join(map(letters, lists))
    return (f"{left}->{letters(arguments[-1])}" if len(arguments) % 2 else left), operands


def _named(subscripts: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with the ellipsis written out in letters of its own."""
    left, arrow, right = subscripts.partition("->")
    names = left.split(",")
    if len(names) != len(operands):
        raise ValueError(f"einsum {subscripts!r} names {len(names)} operands, got {len(operands)}")
    spare = [letter for letter in _LETTERS if letter not in subscripts]
    ranks = [len(shape_of(x)) for x in operands]
    hidden = max(
        [rank - len(n.replace("...", "")) for n, rank in zip(names, ranks, strict=True) if "..." in n], default=0
    )
    full = []
    for name, rank in zip(names, ranks, strict=True):
        count = rank - len(name.replace("...", ""))
        if count < 0 or (count and "..." not in name):
            raise ValueError(f"einsum {subscripts!r}: {name!r} names {len(name)} axes of an operand that has {rank}")
        full.append(name.replace("...", "".join(spare[hidden - count : hidden])))
    if not arrow:
        once = [letter for letter in sorted(set(left) - set(",.")) if left.count(letter) == 1]
        return full, "".join(spare[:hidden] + once)
    return full, right.replace("...", "".join(spare[:hidden]))


@together("subscripts", "precision", "preferred_element_type", "optimize")
def _einsum(*operands: Any, subscripts: str, precision: Any, preferred_element_type: Any, optimize: Any) -> Any:
    names, result = _named(subscripts, operands)
    unknown = set(result) - set("".join(names))
    if unknown or len(set(result)) != len(result):
        raise ValueError(f"einsum {subscripts!r}: the result names an axis twice, or one that no operand has")
    values = meeting(operands, preferred_element_type)
    sizes = _sizes(subscripts, names, values)
    factors = [_without_repeats(Factor(x, name)) for x, name in zip(values, names, strict=True)]
    for step in contraction_paths.path_of([f.letters for f in factors], result, sizes, optimize):
        taken = [factors[i] for i in sorted(step, reverse=True)]  # the newest first, as jax multiplies
        factors = [f for i, f in enumerate(factors) if i not in step]
        while len(taken) > 1:
            first, second, *taken = taken
            kept = set(result).union(*(f.letters for f in (*factors, *taken)))
            taken.insert(0, _product(first, second, kept, result, sizes, precision, preferred_element_type))
        factors.append(taken[0])
    made = _arranged(_summed(factors[0], set(result), preferred_element_type), result)
    return made if preferred_element_type is None else convert_element_type(made, preferred_element_type)


def _sizes(subscripts: str, names: Sequence[str], values: Sequence[Any]) -> dict[str, int]:
    """The size that each letter stands for; raises ValueError when operands disagree."""
    sizes: dict[str, int] = {}
    for name, x in zip(names, values, strict=True):
        for letter, size in zip(name, shape_of(x), strict=True):
            if 1 not in (size, sizes.setdefault(letter, size)) and sizes[letter] != size:
                said = (
                    f"einsum {subscripts!r}: axis {letter} has sizes {sizes[letter]} and {size}; they have to be equal."
                )
                raise ValueError(compose_message(said))
            sizes[letter] = max(sizes[letter], size)
    return sizes


def _without_repeats(factor: Factor) -> Factor:
    """A letter that an operand has twice stands for a diagonal."""
    x, letters = factor
    for letter in sorted(set(letters)):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            x = diagonal(x, 0, first, second)
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return Factor(x, letters)


def _summed(factor: Factor, kept: set[str], dtype: Any = None) -> Factor:
    """Summed over the axes that nobody needs, in the operand's own dtype unless there is another."""
    axes = tuple(i for i, letter in enumerate(factor.letters) if letter not in kept)
    letters = "".join(letter for letter in factor.letters if letter in kept)
    return Factor(sum(factor.value, axes, dtype or factor.value.dtype) if axes else factor.value, letters)


def _product(
    first: Factor, second: Factor, kept: set[str], result: str, sizes: dict[str, int], precision: Any, dtype: Any
) -> Factor:
    """Two operands multiplied, and summed over what no other needs: a dot_general, in the order of the result if that
    is one of the two orders.
    """
    first = _summed(_squeezed(first, second, sizes), kept | set(second.letters), dtype)
    second = _summed(_squeezed(second, first, sizes), kept | set(first.letters), dtype)
    shared = [letter for letter in first.letters if letter in second.letters]
    outer = not shared and kept >= set(first.letters + second.letters)
    if dtype is not None and (outer or first.value.dtype != second.value.dtype):
        first, second = (Factor(as_dtype(x, dtype), letters) for x, letters in (first, second))
    if outer:
        return _outer(first, second)
    batch = [letter for letter in shared if letter in kept]
    contract = [letter for letter in shared if letter not in kept]
    free, others = ([letter for letter in f.letters if letter not in shared] for f in (first, second))
    if "".join(batch + others + free) == result:
        first, second, free, others = second, first, others, free
    numbers = (_places(contract, first, second), _places(batch, first, second))
    made = dot_general(first.value, second.value, numbers, precision, dtype or first.value.dtype)
    return Factor(made, "".join(batch + free + others))


def _squeezed(factor: Factor, other: Factor, sizes: dict[str, int]) -> Factor:
    """Without axes of size 1 that stand for larger ones of the other operand."""
    shape = shape_of(factor.value)
    thin = [i for i, letter in enumerate(factor.letters) if shape[i] == 1 != sizes[letter] and letter in other.letters]
    letters = "".join(letter for i, letter in enumerate(factor.letters) if i not in thin)
    return Factor(squeeze(factor.value, thin), letters)


def _outer(first: Factor, second: Factor) -> Factor:
    rank, other = len(first.letters), len(second.letters)
    x = expand_dims(first.value, tuple(range(rank, rank + other)))
    return Factor(ufuncs.multiply(x, second.value), first.letters + second.letters)


def _places(letters: Sequence[str], first: Factor, second: Factor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(map(first.letters.index, letters)), tuple(map(second.letters.index, letters))


def _arranged(factor: Factor, result: str) -> Any:
    order = tuple(factor.letters.index(letter) for letter in result)
    value = factor.value if hasattr(factor.value, "aval") else convert_element_type(factor.value, factor.value.dtype)
    return transpose(value, order)
