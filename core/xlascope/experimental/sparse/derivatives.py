"""Derivatives with respect to sparse arrays: those of the stored numbers, at the same positions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import api, tree
from ... import numpy as jnp
from ...api.arguments import require_callable
from ...trace.source import here
from ...trace.values import aval_of
from .bcsr import BCSR
from .sparsifying import is_sparse, with_data
from .stored import BCOO


class Moving:
    """Arguments of a call by which it is differentiated, as trees of their stored numbers."""

    def __init__(self, args: Sequence[Any], argnums: Any) -> None:
        self.args = args
        if not args:
            raise TypeError(f"a function that is differentiated takes at least one argument{here()}")
        places = [argnums] if isinstance(argnums, int) else list(argnums)
        #: A single derivative is returned without a tuple, also where ``argnums`` is one, as in JAX.
        self.single = len(places) == 1
        self.places = [n % len(args) for n in places]
        flat = [tree.flatten(args[index], is_leaf=is_sparse) for index in self.places]
        self.leaves = [leaves for leaves, _ in flat]
        self.structures = [structure for _, structure in flat]
        self.numbers = [[x.data if is_sparse(x) else x for x in leaves] for leaves in self.leaves]

    def whole(self, moved: Sequence[Sequence[Any]]) -> list[Any]:
        """Return all arguments, the differentiated ones with other numbers."""
        arguments = list(self.args)
        for index, rebuilt in zip(self.places, self.restored(moved, with_numbers), strict=True):
            arguments[index] = rebuilt
        return arguments

    def restored(self, moved: Sequence[Sequence[Any]], how: Callable[[Any, Any], Any]) -> list[Any]:
        """Return trees like the differentiated arguments, with ``how`` applied to the old and the new leaves."""
        return [
            structure.unflatten([how(x, y) for x, y in zip(leaves, parts, strict=True)])
            for leaves, structure, parts in zip(self.leaves, self.structures, moved, strict=True)
        ]


def with_numbers(x: Any, data: Any) -> Any:
    """Return a sparse array with other numbers; for a dense array the numbers."""
    if isinstance(x, BCOO):
        return with_data(x, data)
    if isinstance(x, BCSR):
        return BCSR(
            (data, x.indices, x.indptr),
            shape=x.shape,
            indices_sorted=x.indices_sorted,
            unique_indices=x.unique_indices,
        )
    return data


def _of_numbers(fun: Callable[..., Any], moving: Moving, kwargs: dict[str, Any]) -> Callable[..., Any]:
    return lambda *moved: fun(*moving.whole(moved), **kwargs)


def grad(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """Differentiate like :func:`xlascope.grad`; gradients of sparse arguments are sparse, at the same positions.

    A single gradient is returned without a tuple, also where ``argnums`` is a tuple of one.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
    >>> print(sparse.grad(lambda x: (x @ jnp.arange(3.0)) ** 2)(x).todense())
    [ 0. 16. 32.]
    """
    both = value_and_grad(fun, argnums, has_aux, **options)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, slopes = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return gradient


def value_and_grad(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any
) -> Callable[..., Any]:
    """Differentiate like :func:`xlascope.value_and_grad`, also in sparse arguments: see :func:`grad`."""
    require_callable("a derivative in sparse arrays", fun)

    @functools.wraps(fun)
    def both(*args: Any, **kwargs: Any) -> Any:
        moving = Moving(args, argnums)
        numbers = tuple(range(len(moving.numbers)))
        transformed = api.value_and_grad(_of_numbers(fun, moving, kwargs), numbers, has_aux=has_aux, **options)
        value, slopes = transformed(*moving.numbers)
        restored = moving.restored(slopes, with_numbers)
        return value, restored[0] if moving.single else tuple(restored)

    return both


def _jacobian(
    transform: Callable[..., Any], fun: Callable[..., Any], argnums: Any, has_aux: bool, options: dict[str, Any]
) -> Callable[..., Any]:
    require_callable("a jacobian in sparse arrays", fun)

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        moving = Moving(args, argnums)
        count = len(moving.numbers)
        transformed = transform(_of_numbers(fun, moving, kwargs), tuple(range(count)), has_aux=has_aux, **options)
        outputs = transformed(*moving.numbers)
        slopes, aux = outputs if has_aux else (outputs, None)
        of_results = tree.structure(tuple([0] * len(leaves) for leaves in moving.leaves))
        # for each result a tuple of lists of arrays, one for each differentiated leaf
        rebuilt = tree.map(
            lambda parts: _restored(moving, parts),
            slopes,
            is_leaf=lambda x: isinstance(x, tuple) and tree.structure(x) == of_results,
        )
        return (rebuilt, aux) if has_aux else rebuilt

    return jacobian


def _restored(moving: Moving, parts: Sequence[Sequence[Any]]) -> Any:
    rebuilt = moving.restored(parts, _slope)
    return rebuilt[0] if moving.single else tuple(rebuilt)


def _slope(x: Any, data: Any) -> Any:
    """Return the derivative of a result by a leaf: the axes of the result, followed by those of the leaf."""
    if not is_sparse(x):
        return data
    if not isinstance(x, BCOO):
        raise NotImplementedError(f"jacobians in BCSR arrays: use x.to_bcoo(){here()}")
    shape = aval_of(data).shape
    front = len(shape) - len(aval_of(x.data).shape)
    indices = jnp.expand_dims(x.indices, tuple(range(front)))
    return BCOO(
        (data, indices),
        shape=(*shape[:front], *x.shape),
        indices_sorted=x.indices_sorted,
        unique_indices=x.unique_indices,
    )


def jacfwd(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """Differentiate like :func:`xlascope.jacfwd`, dense results also by the stored numbers of sparse arguments.

    Each derivative is a BCOO array whose first axes, those of the result, are batch axes.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
    >>> print(sparse.jacfwd(lambda x: x @ jnp.eye(3)[:, 1:])(x).todense())
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    return _jacobian(api.jacfwd, fun, argnums, has_aux, options)


def jacrev(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """Differentiate like :func:`xlascope.jacrev`, also in sparse arguments; see :func:`jacfwd`."""
    return _jacobian(api.jacrev, fun, argnums, has_aux, options)


jacobian = jacrev
