"""Derivatives with respect to sparse arrays: those of the stored numbers, at the same positions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import api, tree
from ... import numpy as jnp
from ...api.differentiated_arguments import require_callable
from ...trace.source import here
from ...trace.values import aval_of
from .bcsr import BCSR
from .formats import BCOO
from .sparsify_rules import is_sparse, with_data


class SparseArguments:
    """Arguments of a call, and the numbers stored in those that are differentiated.

    ``argnums`` are the positions of these. ``numbers`` has a list for each of them, with the data of its sparse
    leaves and its dense leaves themselves; ``rebuild`` turns such lists into trees. Raises TypeError for a call
    without positional arguments.
    """

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

    def substitute(self, data: Sequence[Sequence[Any]]) -> list[Any]:
        """Return all arguments, with other numbers in the differentiated ones.

        ``data`` has a list of numbers for each of these, like ``numbers``.
        """
        arguments = list(self.args)
        for index, rebuilt in zip(self.places, self.rebuild(data, with_stored_data), strict=True):
            arguments[index] = rebuilt
        return arguments

    def rebuild(self, data: Sequence[Sequence[Any]], how: Callable[[Any, Any], Any]) -> list[Any]:
        """Return trees like the differentiated arguments, whose leaves are ``how(old_leaf, new_numbers)``.

        ``data`` has a list of new numbers for each differentiated argument, like ``numbers``.
        """
        return [
            structure.unflatten([how(x, y) for x, y in zip(leaves, parts, strict=True)])
            for leaves, structure, parts in zip(self.leaves, self.structures, data, strict=True)
        ]


def with_stored_data(x: Any, data: Any) -> Any:
    """Return the sparse array ``x`` with other data; for a dense array ``x``, the data itself."""
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


def _function_of_data(fun: Callable[..., Any], moving: SparseArguments, kwargs: dict[str, Any]) -> Callable[..., Any]:
    """Return ``fun`` as a function of lists of numbers, one list for each differentiated argument."""
    return lambda *data: fun(*moving.substitute(data), **kwargs)


def grad(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """Differentiate like :func:`xlascope.grad`; gradients of sparse arguments are sparse, at the same positions.

    A single gradient is returned without a tuple, also if ``argnums`` is a tuple of one.

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
    """Differentiate like :func:`xlascope.value_and_grad`, also with respect to sparse arguments: see :func:`grad`."""
    require_callable("a derivative in sparse arrays", fun)

    @functools.wraps(fun)
    def both(*args: Any, **kwargs: Any) -> Any:
        moving = SparseArguments(args, argnums)
        numbers = tuple(range(len(moving.numbers)))
        transformed = api.value_and_grad(_function_of_data(fun, moving, kwargs), numbers, has_aux=has_aux, **options)
        value, slopes = transformed(*moving.numbers)
        restored = moving.rebuild(slopes, with_stored_data)
        return value, restored[0] if moving.single else tuple(restored)

    return both


def _jacobian(
    transform: Callable[..., Any], fun: Callable[..., Any], argnums: Any, has_aux: bool, options: dict[str, Any]
) -> Callable[..., Any]:
    """Return the Jacobian of ``fun`` with respect to sparse arguments; ``transform`` is ``jacfwd`` or ``jacrev``."""
    require_callable("a jacobian in sparse arrays", fun)

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        moving = SparseArguments(args, argnums)
        count = len(moving.numbers)
        transformed = transform(_function_of_data(fun, moving, kwargs), tuple(range(count)), has_aux=has_aux, **options)
        outputs = transformed(*moving.numbers)
        slopes, aux = outputs if has_aux else (outputs, None)
        of_results = tree.structure(tuple([0] * len(leaves) for leaves in moving.leaves))
        # for each result a tuple of lists of arrays, one for each differentiated leaf
        rebuilt = tree.map(
            lambda parts: _rebuild_derivatives(moving, parts),
            slopes,
            is_leaf=lambda x: isinstance(x, tuple) and tree.structure(x) == of_results,
        )
        return (rebuilt, aux) if has_aux else rebuilt

    return jacobian


def _rebuild_derivatives(moving: SparseArguments, parts: Sequence[Sequence[Any]]) -> Any:
    """Return one result's derivatives in the structure of the differentiated arguments."""
    rebuilt = moving.rebuild(parts, _sparse_derivative)
    return rebuilt[0] if moving.single else tuple(rebuilt)


def _sparse_derivative(x: Any, data: Any) -> Any:
    """Return the derivative of a result with respect to leaf ``x``, given that with respect to the leaf's data.

    Its axes are those of the result, followed by those of the leaf. Raises NotImplementedError for BCSR arrays.
    """
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
    """Differentiate like :func:`xlascope.jacfwd`, also with respect to the stored numbers of sparse arguments.

    The derivative of a dense result with respect to a sparse argument is a BCOO array, whose first axes, those of the
    result, are batch axes.

    >>> import xlascope.numpy as jnp
    >>> from xlascope.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
    >>> print(sparse.jacfwd(lambda x: x @ jnp.eye(3)[:, 1:])(x).todense())
    [[0. 1. 0.]
     [0. 0. 1.]]
    """
    return _jacobian(api.jacfwd, fun, argnums, has_aux, options)


def jacrev(fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, **options: Any) -> Callable[..., Any]:
    """Differentiate like :func:`xlascope.jacrev`, also with respect to sparse arguments; see :func:`jacfwd`."""
    return _jacobian(api.jacrev, fun, argnums, has_aux, options)


jacobian = jacrev
