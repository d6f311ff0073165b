"""``vectorize``: lifts a function of scalars, or of arrays with few axes, to arrays by vmap."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import tree
from ..api import vmap
from ..operations.shapes import expand_dims, squeeze
from ..trace.values import aval_of
from .creation import asarray

_CORE_PATTERN = r"\((?:\s*\w+\s*(?:,\s*\w+\s*)*,?)?\s*\)"
_SIGNATURE_PATTERN = re.compile(
    rf"\s*{_CORE_PATTERN}(?:\s*,\s*{_CORE_PATTERN})*\s*->\s*{_CORE_PATTERN}(?:\s*,\s*{_CORE_PATTERN})*\s*"
)


class CoreSignature(NamedTuple):
    """Names of the core axes of each operand and of each result, as in ``(n,m),(m)->(n)``."""

    operands: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]


def parse_signature(text: str) -> CoreSignature:
    """Return the axis names in a signature; raise ValueError for an invalid one.

    >>> parse_signature("(n,m),(m)->(n)")
    CoreSignature(operands=(('n', 'm'), ('m',)), results=(('n',),))
    """
    if not _SIGNATURE_PATTERN.fullmatch(text):
        raise ValueError(f"not a signature of vectorize: {text!r}; write for instance '(n,m),(m)->(n)'")
    operands, results = (
        tuple(tuple(re.findall(r"\w+", names)) for names in re.findall(r"\([^)]*\)", side)) for side in text.split("->")
    )
    return CoreSignature(operands, results)


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Iterable[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """Return a function of scalars lifted to arrays, by vmap over the broadcast axes of its arguments.

    With a ``signature`` such as ``"(n,m),(m)->(n)"`` the function takes arrays with those axes, and the axes
    before them are mapped over. ``excluded`` names arguments, by position or name, that are passed unchanged, as
    keyword arguments and None always are.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.vectorize(lambda x, y: x * y + 1)(jnp.arange(3), 2))
    [1 3 5]
    >>> jnp.vectorize(jnp.dot, signature="(n),(n)->()")(jnp.ones((5, 1, 3)), jnp.ones((4, 3))).shape
    (5, 4)
    """
    excluded_set = set(excluded)
    if any(not isinstance(entry, (int, str)) for entry in excluded_set):
        raise TypeError(f"vectorize excludes arguments by position or name, got excluded={excluded!r}")
    if any(isinstance(entry, int) and entry < 0 for entry in excluded_set):
        raise ValueError(f"vectorize excludes arguments by position from 0 on, got excluded={excluded!r}")
    parsed = None if signature is None else parse_signature(signature)
    about = f" (vectorize with signature {signature!r})" if signature is not None else " (vectorize)"

    @functools.wraps(pyfunc)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError(f"a vectorized function takes at least one positional argument{about}")
        included = [i for i in range(len(args)) if i not in excluded_set]
        positions = [i for i in included if args[i] is not None]
        cores = parsed if len(positions) == len(included) else _without_none(parsed, [args[i] for i in included], about)

        def call_with_mapped(*mapped: Any) -> Any:
            by_position = dict(zip(positions, mapped, strict=True))
            return pyfunc(*(by_position.get(i, x) for i, x in enumerate(args)), **kwargs)

        return _map_leading_axes(call_with_mapped, [asarray(args[i]) for i in positions], cores, about)

    return wrapper


def _without_none(signature: CoreSignature | None, operands: Sequence[Any], about: str) -> CoreSignature | None:
    """Return a signature without the operands that are None, which are passed on unchanged.

    Raises ValueError for one with core axes. ``about`` is the text that the message ends with.
    """
    if signature is None or len(signature.operands) != len(operands):
        return signature
    pairs = list(zip(operands, signature.operands, strict=True))
    if wrong := [i for i, (x, core) in enumerate(pairs) if x is None and core]:
        raise ValueError(f"argument {wrong[0]} is None, and its signature is {_format_core(pairs[wrong[0]][1])}{about}")
    return signature._replace(operands=tuple(core for x, core in pairs if x is not None))


def _map_leading_axes(
    function: Callable[..., Any], operands: Sequence[Any], signature: CoreSignature | None, about: str
) -> Any:
    """Apply a function with vmap over the axes before the core axes.

    ``signature`` None stands for a function of scalars; ``about`` is the text that error messages end with.
    """
    cores: tuple[tuple[str, ...], ...] = ((),) * len(operands)
    if signature is not None:
        cores = signature.operands
        if len(cores) != len(operands):
            raise TypeError(f"expected {len(cores)} positional arguments, got {len(operands)}{about}")
    sizes = _core_sizes([aval_of(x).shape for x in operands], cores, about)
    checked = function if signature is None else _check_results(function, signature, sizes, about)
    shapes = [aval_of(x).shape[: aval_of(x).ndim - len(core)] for x, core in zip(operands, cores, strict=True)]
    try:
        lead = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"the axes before the core axes do not fit: {' and '.join(map(str, shapes))}{about}") from None
    squeezed = [
        squeeze(x, tuple(i for i, size in enumerate(shape) if size == 1))
        for x, shape in zip(operands, shapes, strict=True)
    ]
    unmapped_axes = []
    for axis in reversed(range(len(lead))):
        in_axes = tuple(0 if _broadcast_axis_size(shape, len(lead), axis) != 1 else None for shape in shapes)
        if all(in_axis is None for in_axis in in_axes):
            unmapped_axes.append(axis)
        else:
            checked = vmap(checked, in_axes)
    results = checked(*squeezed)
    return tree.map(lambda y: expand_dims(y, tuple(unmapped_axes)), results) if unmapped_axes else results


def _broadcast_axis_size(shape: Sequence[int], rank: int, axis: int) -> int:
    """Return the size of an axis after the shape is padded to a rank with leading axes of size 1."""
    return 1 if axis < rank - len(shape) else shape[axis - rank + len(shape)]


def _core_sizes(shapes: Sequence[tuple[int, ...]], cores: Sequence[tuple[str, ...]], about: str) -> dict[str, int]:
    """Return the sizes of the named core axes; raise ValueError if they conflict.

    ``cores`` has the names of the last axes of each of ``shapes``; ``about`` is the text that error messages end
    with.
    """
    sizes: dict[str, int] = {}
    for shape, core in zip(shapes, cores, strict=True):
        if len(shape) < len(core):
            raise ValueError(f"an argument of shape {shape} has too few axes for {_format_core(core)}{about}")
        for name, size in zip(core, shape[len(shape) - len(core) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"the axis {name} has size {sizes[name]} and size {size}{about}")
    return sizes


def _check_results(
    function: Callable[..., Any], signature: CoreSignature, sizes: dict[str, int], about: str
) -> Callable[..., Any]:
    """Return a function that calls ``function`` and raises an error if its results do not fit the signature.

    ``sizes`` are those of the operands' named axes; ``about`` is the text that error messages end with. The error
    is TypeError for another number of results, ValueError for another shape.
    """

    def call(*operands: Any) -> Any:
        results = function(*operands)
        several = isinstance(results, (tuple, list))
        if len(signature.results) > 1 and not isinstance(results, tuple):
            raise TypeError(f"the function has to return a tuple of {len(signature.results)}, got {results!r}{about}")
        if (len(results) if several else 1) != len(signature.results):
            raise TypeError(
                f"the function returned {len(results) if several else 1} results, not {len(signature.results)}{about}"
            )
        bound = dict(sizes)
        for y, core in zip(results if several else [results], signature.results, strict=True):
            shape = aval_of(y).shape
            if len(shape) != len(core) or any(bound.setdefault(n, k) != k for n, k in zip(core, shape, strict=True)):
                raise ValueError(f"a result of shape {shape} does not fit {_format_core(core)}{about}")
        return results

    return call


def _format_core(core: Sequence[str]) -> str:
    return f"({','.join(core)})"
