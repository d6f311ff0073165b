"""What is asked of experimental.sparse of both libraries: each program takes arrays and gives trees of dense ones.

This file imports neither library: the functions are given one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_RANDOM = np.random.default_rng(31)


def _drawn(*shape: int) -> np.ndarray:
    return (_RANDOM.normal(size=shape) * (_RANDOM.uniform(size=shape) < 0.5)).astype(np.float32)


#: A matrix, one that fits behind it, a cube, and a vector.
ARRAYS = {"m": _drawn(3, 4), "n": _drawn(4, 2), "c": _drawn(2, 3, 4), "v": _drawn(4), "s": _drawn(3, 4)}
#: Programs of the sparse arrays M, N, C, S of those arrays, their rows R, the arrays themselves, sparse, and lax.
PROGRAMS: dict[str, str] = {
    "product with a vector": "M @ v",
    "product with a matrix": "M @ n",
    "product from the left": "v @ N",
    "product of two": "M @ N",
    "product of rows": "R @ n",
    "product of rows and a vector": "R @ v",
    "general product": "sparse.bcoo_dot_general(C, n, dimension_numbers=(([2], [0]), ([], [])))",
    "product in a batch": "sparse.bcoo_dot_general(B, c, dimension_numbers=(([2], [2]), ([0], [0])))",
    "sum": "M.sum(0), M.sum(1), M.sum()",
    "arithmetic": "M + S, M - S, M * S, M * 3.0, M / 2.0, -M, abs(M), M**2, M * s",
    "parts": "M[0], M[:, 1], M[1:, ::2], M[0, 1], M[:, None], C[1], C[..., 0]",
    "shapes": "M.T, M.reshape(2, 6), C.transpose((2, 0, 1)), sparse.bcoo_squeeze(M[:, None], dimensions=(1,))",
    "repeated": "sparse.bcoo_broadcast_in_dim(M, shape=(2, 3, 4), broadcast_dimensions=(1, 2))",
    "joined": "sparse.bcoo_concatenate([M, S], dimension=0), sparse.bcoo_concatenate([M, S], dimension=1)",
    "turned": "sparse.bcoo_rev(C, (0, 2)), sparse.bcoo_dynamic_slice(C, (0, 1, 1), (2, 2, 2))",
    "slices": "sparse.bcoo_slice(C, start_indices=(0, 1, 0), limit_indices=(2, 3, 4), strides=(1, 1, 2))",
    "layouts": "C.update_layout(n_batch=1, on_inefficient=None), C.update_layout(n_dense=1, on_inefficient=None)",
    "extracted": "sparse.bcoo_extract(M, s), sparse.bcsr_extract(R.indices, R.indptr, s)",
    "duplicates": "(M + S).sum_duplicates(nse=12), sparse.bcoo_sum_duplicates(M + M, nse=12)",
    "data of a product": "sparse.bcoo_multiply_dense(M, s)",
    "sparsified": "sparse.sparsify(lambda x, y: lax.fori_loop(0, 2, lambda i, z: jnp.sin(x) @ (y.T @ z), s))(M, S)",
    "sparsified branches": "sparse.sparsify(lambda x: lax.cond(v[0] > 0, lambda y: y * 2, lambda y: -y, x))(M)",
    "sparsified sums": "sparse.sparsify(lambda x: (jnp.sum(x), jnp.sum(x, 0), x @ v))(M)",
    "made": "sparse.eye(3, 4, k=1), sparse.empty((2, 3)), sparse.random_bcoo(random.key(3), (3, 4), nse=5)",
}


#: Of which JAX has no gradient: it has no transpose of a product of two sparse arrays.
WITHOUT_GRADIENTS = {"product of two"}


def _sparse_ones(library: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    sparse = library.experimental.sparse
    made = {name.upper(): sparse.bcoo_fromdense(arrays[name], nse=arrays[name].size) for name in "mncs"}
    rows = sparse.bcsr_fromdense(arrays["m"], nse=12)
    return {**made, "R": rows, "B": sparse.bcoo_fromdense(arrays["c"], nse=12, n_batch=1)}


def _dense(library: Any, tree: Any) -> Any:
    sparse = library.experimental.sparse
    return library.tree_util.tree_map(sparse.todense, tree, is_leaf=lambda x: isinstance(x, sparse.JAXSparse))


def _program(library: Any, text: str) -> Callable[[dict[str, Any]], Any]:
    """From arrays to trees of dense ones."""
    known = {name: getattr(library, name) for name in ("lax", "random")}
    known |= {"sparse": library.experimental.sparse, "jnp": library.numpy}

    def program(arrays: dict[str, Any]) -> Any:
        return _dense(library, eval(text, {**known, **arrays, **_sparse_ones(library, arrays)}))

    return program


def _gradient(library: Any, program: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    def total(arrays: dict[str, Any]) -> Any:
        return sum(library.numpy.sum(x**2) for x in library.tree_util.tree_leaves(program(arrays)))

    return library.grad(total)


def _stored(library: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Derivatives in what is stored, by the functions of sparse."""
    sparse, ones = library.experimental.sparse, _sparse_ones(library, arrays)
    m, rows, n, v = ones["M"], ones["R"], arrays["n"], arrays["v"]

    def size(x: Any, y: Any) -> Any:
        return library.numpy.sum((x @ y) ** 2)

    return {
        "grad": sparse.grad(size)(m, n),
        "grad of a tuple of one": sparse.grad(size, (0,))(m, n),
        "grad of two": sparse.grad(size, (0, 1))(m, n),
        "grad of rows": sparse.grad(size)(rows, n).data,
        "value_and_grad": sparse.value_and_grad(size, 1)(m, n),
        "jacfwd": sparse.jacfwd(lambda x: x @ v)(m),
        "jacrev": sparse.jacrev(lambda x: x @ v)(m),
    }


def every(library: Any) -> dict[str, Any]:
    """What each program gives, also mapped over two sets of arrays, its gradient, and derivatives in entries."""
    import importlib  # noqa: PLC0415 -- JAX leaves this module to be imported

    importlib.import_module(f"{library.__name__}.experimental.sparse")
    programs = {name: _program(library, text) for name, text in PROGRAMS.items()}
    two = {name: np.stack([x, x[::-1]]) for name, x in ARRAYS.items()}

    def all_of(arrays: dict[str, Any]) -> dict[str, Any]:
        return {name: program(arrays) for name, program in programs.items()}

    def gradients(arrays: dict[str, Any]) -> dict[str, Any]:
        some = {name: program for name, program in programs.items() if name not in WITHOUT_GRADIENTS}
        return {name: _gradient(library, program)(arrays) for name, program in some.items()}

    found = {
        "alone": library.jit(all_of)(ARRAYS),
        "mapped": library.jit(library.vmap(all_of))(two),
        "gradient": library.jit(gradients)(ARRAYS),
        "entries": library.jit(lambda arrays: _dense(library, _stored(library, arrays)))(ARRAYS),
    }
    return {
        f"{name}, {how}": [np.asarray(x) for x in library.tree_util.tree_leaves(result)]
        for how, results in found.items()
        for name, result in results.items()
    }
