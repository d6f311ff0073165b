"""``vectorize``: a function of scalars, or of arrays of few axes, made one of arrays, by vmap."""

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

_NAMES = r"\((?:\s*\w+\s*(?:,\s*\w+\s*)*,?)?\s*\)"
_SIGNATURE = re.compile(rf"\s*{_NAMES}(?:\s*,\s*{_NAMES})*\s*->\s*{_NAMES}(?:\s*,\s*{_NAMES})*\s*")


class Signature(NamedTuple):
    """The names of the core axes of each operand and of each result, as in ``(n,m),(m)->(n)``."""

    operands: tuple[tuple[str, ...], ...]
    results: tuple[tuple[str, ...], ...]


def parse_signature(text: str) -> Signature:
    """The names in a signature; raises ValueError when it is none.

    >>> parse_signature("(n,m),(m)->(n)")
    Signature(operands=(('n', 'm'), ('m',)), results=(('n',),))
    """
    if not _SIGNATURE.fullmatch(text):
        raise ValueError(f"not a signature of vectorize: {text!r}; write for instance '(n,m),(m)->(n)'")
    operands, results = (
        tuple(tuple(re.findall(r"\w+", names)) for names in re.findall(r"\([^)]*\)", side)) for side in text.split("->")
    )
    return Signature(operands, results)


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Iterable[int | str] = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """A function of scalars made one of arrays, by vmap over the axes in which its arguments meet.

    With a ``signature`` such as ``"(n,m),(m)->(n)"`` the function takes arrays with those axes, and the axes before
    them are mapped over. ``excluded`` names arguments, by position or name, that are passed on as they are; keyword
    arguments always are.

    >>> import xlascope.numpy as jnp
    >>> print(jnp.vectorize(lambda x, y: x * y + 1)(jnp.arange(3), 2))
    [1 3 5]
    >>> jnp.vectorize(jnp.dot, signature="(n),(n)->()")(jnp.ones((5, 1, 3)), jnp.ones((4, 3))).shape
    (5, 4)
    """
    apart = set(excluded)
    if any(not isinstance(each, (int, str)) for each in apart):
        raise TypeError(f"vectorize excludes arguments by position or name, got excluded={excluded!r}")
    if any(isinstance(each, int) and each < 0 for each in apart):
        raise ValueError(f"vectorize excludes arguments by position from 0 on, got excluded={excluded!r}")
    parsed = None if signature is None else parse_signature(signature)
    about = f" (vectorize with signature {signature!r})" if signature is not None else " (vectorize)"

    @functools.wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError(f"a vectorized function takes at least one positional argument{about}")
        places = [i for i in range(len(args)) if i not in apart]

        def of_mapped(*mapped: Any) -> Any:
            given = dict(zip(places, mapped, strict=True))
            return pyfunc(*(given.get(i, x) for i, x in enumerate(args)), **kwargs)

        return _mapped(of_mapped, [asarray(args[i]) for i in places], parsed, about)

    return vectorized


def _mapped(function: Callable[..., Any], operands: Sequence[Any], signature: Signature | None, about: str) -> Any:
    """A function applied along the axes before the core axes."""
    cores: tuple[tuple[str, ...], ...] = ((),) * len(operands)
    if signature is not None:
        cores = signature.operands
        if len(cores) != len(operands):
            raise TypeError(f"expected {len(cores)} positional arguments, got {len(operands)}{about}")
    sizes = _core_sizes([aval_of(x).shape for x in operands], cores, about)
    checked = function if signature is None else _checked(function, signature, sizes, about)
    own = [aval_of(x).shape[: aval_of(x).ndim - len(core)] for x, core in zip(operands, cores, strict=True)]
    try:
        lead = np.broadcast_shapes(*own)
    except ValueError:
        raise ValueError(f"the axes before the core axes do not fit: {' and '.join(map(str, own))}{about}") from None
    squeezed = [
        squeeze(x, tuple(i for i, size in enumerate(shape) if size == 1))
        for x, shape in zip(operands, own, strict=True)
    ]
    single = []
    for axis in reversed(range(len(lead))):
        in_axes = tuple(0 if _size_at(shape, len(lead), axis) != 1 else None for shape in own)
        if all(each is None for each in in_axes):
            single.append(axis)
        else:
            checked = vmap(checked, in_axes)
    results = checked(*squeezed)
    return tree.map(lambda y: expand_dims(y, tuple(single)), results) if single else results


def _size_at(shape: Sequence[int], rank: int, axis: int) -> int:
    """The size of an axis when axes of size 1 are put in front up to a rank."""
    return 1 if axis < rank - len(shape) else shape[axis - rank + len(shape)]


def _core_sizes(given: Sequence[tuple[int, ...]], cores: Sequence[tuple[str, ...]], about: str) -> dict[str, int]:
    """The sizes of the named axes; raises ValueError where they contradict each other."""
    sizes: dict[str, int] = {}
    for shape, core in zip(given, cores, strict=True):
        if len(shape) < len(core):
            raise ValueError(f"an argument of shape {shape} has too few axes for {_shown(core)}{about}")
        for name, size in zip(core, shape[len(shape) - len(core) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"the axis {name} has size {sizes[name]} and size {size}{about}")
    return sizes


def _checked(
    function: Callable[..., Any], signature: Signature, sizes: dict[str, int], about: str
) -> Callable[..., Any]:
    """A function whose results are compared with the signature."""

    def call(*operands: Any) -> Any:
        results = function(*operands)
        several = isinstance(results, (tuple, list))
        if len(signature.results) > 1 and not isinstance(results, tuple):
            raise TypeError(f"the function has to return a tuple of {len(signature.results)}, got {results!r}{about}")
        if (len(results) if several else 1) != len(signature.results):
            raise TypeError(
                f"the function returned {len(results) if several else 1} results, not {len(signature.results)}{about}"
            )
        known = dict(sizes)
        for y, core in zip(results if several else [results], signature.results, strict=True):
            shape = aval_of(y).shape
            if len(shape) != len(core) or any(known.setdefault(n, k) != k for n, k in zip(core, shape, strict=True)):
                raise ValueError(f"a result of shape {shape} does not fit {_shown(core)}{about}")
        return results

    return call


def _shown(core: Sequence[str]) -> str:
    return f"({','.join(core)})"
