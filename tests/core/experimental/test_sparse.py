"""Sparse arrays against dense ones, in every layout; each layout is one compiled program."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.experimental import sparse

RANDOM = np.random.default_rng(29)


def drawn(*shape: int) -> np.ndarray:
    """Numbers of which two in five are not zero."""
    return (RANDOM.normal(size=shape) * (RANDOM.uniform(size=shape) < 0.4)).astype(np.float32)


CUBE, ROWS, COLUMNS = drawn(2, 3, 4), drawn(4, 5), drawn(5, 3)
FACTOR, STACK = drawn(2, 1, 4), RANDOM.normal(size=(2, 4, 3)).astype(np.float32)
#: What is done to a sparse array of the shape of CUBE, and to the dense one: all of it holds for any layout.
EVERY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "itself": (lambda x: x, lambda x: x),
    "sort_indices": (lambda x: sparse.bcoo_rev(x, (0, 1, 2)).sort_indices(), lambda x: x[::-1, ::-1, ::-1]),
    "update_layout": (lambda x: x.update_layout(n_batch=1, n_dense=1, on_inefficient=None), lambda x: x),
    "and back": (
        lambda x: x.update_layout(n_batch=0, n_dense=0, on_inefficient=None).update_layout(
            n_batch=2, on_inefficient=None
        ),
        lambda x: x,
    ),
    "concatenate": (lambda x: sparse.bcoo_concatenate([x, x], dimension=0), lambda x: np.concatenate([x, x])),
    "reduce_sum 0": (lambda x: sparse.bcoo_reduce_sum(x, axes=(0,)), lambda x: x.sum(0)),
    "reduce_sum 1": (lambda x: sparse.bcoo_reduce_sum(x, axes=(1,)), lambda x: x.sum(1)),
    "reduce_sum 2": (lambda x: sparse.bcoo_reduce_sum(x, axes=(2,)), lambda x: x.sum(2)),
    "reduce_sum": (lambda x: sparse.bcoo_reduce_sum(x, axes=(0, 1, 2)), lambda x: x.sum()),
    "multiply_dense": (
        lambda x: sparse.BCOO((sparse.bcoo_multiply_dense(x, FACTOR), x.indices), shape=x.shape),
        lambda x: x * FACTOR,
    ),
    "multiply_sparse": (lambda x: sparse.bcoo_multiply_sparse(x, sparse.bcoo_rev(x, ())), lambda x: x * x),
    "slice": (
        lambda x: sparse.bcoo_slice(x, start_indices=(0, 1, 0), limit_indices=(2, 3, 4), strides=(1, 1, 2)),
        lambda x: x[:, 1:, ::2],
    ),
    "dynamic_slice": (lambda x: sparse.bcoo_dynamic_slice(x, (1, 9, 1), (1, 2, 2)), lambda x: x[1:, 1:, 1:3]),
    "broadcast_in_dim": (
        lambda x: sparse.bcoo_broadcast_in_dim(x, shape=(3, 2, 3, 4), broadcast_dimensions=(1, 2, 3)),
        lambda x: np.broadcast_to(x, (3, 2, 3, 4)),
    ),
    "extract": (lambda x: sparse.bcoo_extract(x, 2 * x.todense()), lambda x: 2 * x),
    "sum_duplicates": (
        lambda x: sparse.bcoo_sum_duplicates(sparse.sparsify(jnp.add)(x, 2 * x), nse=x.nse),
        lambda x: 3 * x,
    ),
    "nonlinear": (lambda x: sparse.sparsify(lambda y: jnp.sin(y) * 2 - y)(x), lambda x: 2 * np.sin(x) - x),
}
#: Numbers of batch and dense axes; all but one are slow. Arrays are concatenated along an axis that is not dense.
LAYOUTS = [
    pytest.param(n_batch, n_dense, marks=[] if n_batch == n_dense == 1 else pytest.mark.slow)
    for n_batch in range(4)
    for n_dense in range(4 - n_batch)
    if n_dense < 3
]


def dense(x: Any) -> Any:
    """As an array without sparse ones."""
    return xs.tree_util.tree_map(sparse.todense, x, is_leaf=lambda y: isinstance(y, sparse.JAXSparse))


def agrees(found: Any, wanted: Any, what: str) -> None:
    assert found.shape == np.shape(wanted), what
    np.testing.assert_allclose(found, wanted, atol=1e-5, rtol=1e-5, err_msg=what)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_functions_in_every_layout(n_batch: int, n_dense: int) -> None:
    nse = int((np.any(CUBE, tuple(range(3 - n_dense, 3)))).sum(tuple(range(n_batch, 3 - n_dense))).max())

    @xs.jit
    def every(x: Any) -> dict[str, Any]:
        made = sparse.bcoo_fromdense(x, nse=nse + 1, n_batch=n_batch, n_dense=n_dense)  # one entry is padding
        return {name: dense(function(made)) for name, (function, _) in EVERY.items()}

    for name, found in every(CUBE).items():
        agrees(found, EVERY[name][1](CUBE), name)


def test_products() -> None:
    numbers = (([1], [0]), ([], []))
    batched, shared = (([2], [1]), ([0], [0])), (([2], [2]), ([0], [0]))

    @xs.jit
    def every(cube: Any, rows: Any, columns: Any, stack: Any) -> dict[str, Any]:
        x, y = sparse.bcoo_fromdense(rows, nse=20), sparse.bcoo_fromdense(columns, nse=15)
        z = sparse.bcoo_fromdense(cube, nse=12, n_batch=1)
        blocks = sparse.bcoo_fromdense(cube, nse=6, n_dense=1)
        made = {
            "left": (x @ columns, rows @ columns),
            "right": (rows @ y, rows @ columns),
            "both": (x @ y, rows @ columns),
            "vector": (x @ columns[:, 0], rows @ columns[:, 0]),
            "function": (sparse.bcoo_dot_general(x, columns, dimension_numbers=numbers), rows @ columns),
            "batch": (sparse.bcoo_dot_general(z, stack, dimension_numbers=batched), cube @ stack),
            "batch of both": (
                sparse.bcoo_dot_general(z, z, dimension_numbers=shared),
                cube @ jnp.swapaxes(cube, 1, 2),
            ),
            "blocks": (
                sparse.bcoo_dot_general(blocks, columns[:3], dimension_numbers=(([1], [0]), ([], []))),
                jnp.einsum("abc,bd->acd", cube, columns[:3]),
            ),
            "mapped": (xs.vmap(lambda m: m @ stack[0])(z), cube @ stack[0]),
            "rows": (sparse.BCSR.from_bcoo(x) @ columns, rows @ columns),
        }
        return {name: (dense(found), wanted) for name, (found, wanted) in made.items()}

    for name, (found, wanted) in every(CUBE, ROWS, COLUMNS, STACK).items():
        agrees(found, wanted, name)


def test_operators() -> None:
    @xs.jit
    def every(x: Any) -> list[Any]:
        y = x.T
        made = [x + x, x - 2 * x, x * 3, x * x.todense(), x / 2, -x, abs(x), x**2, x.sum(), x.sum(0), x[1], x[1:3, ::2]]
        return [dense(each) for each in [*made, x[:, 2], x[::-1], x.reshape(2, 10), x[:, None], y, x.astype(np.int32)]]

    x = ROWS
    wanted = [2 * x, -x, 3 * x, x * x, x / 2, -x, abs(x), x**2, x.sum(), x.sum(0), x[1], x[1:3, ::2]]
    wanted += [x[:, 2], x[::-1], x.reshape(2, 10), x[:, None], x.T, x.astype(np.int32)]
    for number, (mine, other) in enumerate(zip(every(sparse.BCOO.fromdense(x)), wanted, strict=True)):
        agrees(mine, other, f"operator {number}")


def test_a_sparse_array_and_a_dense_one_add_up_to_a_dense_one() -> None:
    full = np.arange(20, dtype=np.float32).reshape(4, 5)

    @xs.jit
    def every(x: Any, d: Any) -> list[Any]:
        rows = sparse.BCSR.from_bcoo(x)
        kept = [dense(x.sum(axis=1, keepdims=True)), dense(x.sum(keepdims=True))]
        return [x + d, d + x, x - d, d - x, rows + d, d - rows, *kept]

    x = ROWS
    wanted = [x + full, full + x, x - full, full - x, x + full, full - x, x.sum(1, keepdims=True), x.sum(keepdims=True)]
    for number, (mine, other) in enumerate(zip(every(sparse.BCOO.fromdense(x), full), wanted, strict=True)):
        agrees(mine, other, f"sum {number}")
    x = sparse.BCOO.fromdense(ROWS)
    agrees(full + x, full + ROWS, "NumPy")  # which leaves the operator to the sparse array
    slope = sparse.grad(lambda x: jnp.sum((x + full) ** 2))(x)
    agrees(slope.todense(), 2 * (ROWS + full) * (ROWS != 0), "derivative")


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (lambda x: 1 / x, "division by a sparse array"),
        (lambda x: x == x, r"eq has no rule.*todense"),
        (lambda x: x > 0, r"gt has no rule.*todense"),
        (lambda x: x >= 0, r"ge has no rule.*todense"),
        (lambda x: x + 1, "another shape.*todense"),
    ],
)
def test_operators_whose_result_is_dense_are_refused(operator: Callable[[Any], Any], reason: str) -> None:
    with pytest.raises(NotImplementedError, match=reason):
        operator(sparse.BCOO.fromdense(ROWS))


def test_derivatives() -> None:
    x = sparse.BCOO.fromdense(ROWS)

    def size(x: Any, y: Any) -> Any:
        return jnp.sum((x @ y) ** 2)

    value, (slope, other) = xs.jit(sparse.value_and_grad(size, (0, 1)))(x, COLUMNS)
    agrees(value, np.sum((ROWS @ COLUMNS) ** 2), "value")
    assert slope.nse == x.nse
    agrees(slope.todense(), 2 * ROWS @ COLUMNS @ COLUMNS.T * (ROWS != 0), "in what is stored")
    agrees(other, 2 * ROWS.T @ ROWS @ COLUMNS, "in the dense one")
    by_rows = xs.jit(lambda x, y: sparse.grad(size)(sparse.BCSR.from_bcoo(x), y).todense())(x, COLUMNS)
    agrees(by_rows, slope.todense(), "in rows")
    jacobians = xs.jit(lambda x: [f(lambda x: x @ COLUMNS[:, 0])(x).todense() for f in (sparse.jacfwd, sparse.jacrev)])
    wanted = np.einsum("ij,ik->ijk", np.eye(4), np.broadcast_to(COLUMNS[:, 0], (4, 5))) * (ROWS != 0)
    for found in jacobians(x):
        agrees(found, wanted, "jacobian")
    # of the conversions themselves
    slope = xs.jit(xs.grad(lambda m: jnp.sum(sparse.bcoo_fromdense(m, nse=20).todense() ** 3)))(ROWS)
    agrees(slope, 3 * ROWS**2, "through fromdense and todense")


def test_sparsify_follows_programs() -> None:
    square = drawn(4, 4)
    x = sparse.BCOO.fromdense(square)

    def walked(x: Any, v: Any) -> Any:
        v = xs.lax.fori_loop(0, 3, lambda i, v: x @ v / 2, v)
        v, _ = xs.lax.scan(lambda v, _: (v @ x, None), v, None, length=2)
        v = xs.lax.while_loop(lambda v: jnp.sum(v) > 1e3, lambda v: x @ v, v)
        return xs.lax.cond(v[0] > 1e3, lambda x: x @ v, lambda x: xs.jit(lambda x: 2 * x)(x) @ v, x)

    found = xs.jit(sparse.sparsify(walked))(x, np.ones(4, np.float32))
    agrees(found, walked(square, jnp.ones(4)), "loops and branches")
    given = sparse.sparsify(lambda tree: {"both": tree["a"] @ tree["b"], "sum": tree["a"].sum()})({"a": x, "b": x})
    agrees(given["both"].todense(), square @ square, "trees")
    with pytest.raises(NotImplementedError, match=r"cos has no rule.*todense"):
        sparse.sparsify(jnp.cos)(x)
    with pytest.raises(NotImplementedError, match="another shape"):
        sparse.sparsify(jnp.add)(x, square[:1])


@pytest.mark.slow
def test_conversions() -> None:
    other = scipy.sparse.random(6, 7, 0.3, format="csr", dtype=np.float32, random_state=RANDOM)
    rows = sparse.BCSR.from_scipy_sparse(other)
    agrees(rows.todense(), other.toarray(), "rows of SciPy")
    agrees(sparse.BCOO.from_scipy_sparse(other).todense(), other.toarray(), "entries of SciPy")
    back = sparse.BCSR.from_bcoo(rows.to_bcoo())
    np.testing.assert_array_equal(back.indptr, other.indptr)
    np.testing.assert_array_equal(back.indices, other.indices)
    stacked = sparse.bcsr_fromdense(CUBE, n_batch=1)
    agrees(stacked.todense(), CUBE, "a batch of rows")
    assert sparse.empty((2, 3), nse=2, sparse_format="bcsr").todense().shape == (2, 3)
    agrees(sparse.eye(3, 4, k=-1).todense(), np.eye(3, 4, -1), "eye")
    made = sparse.random_bcoo(xs.random.key(0), (3, 4, 5), nse=0.3, n_batch=1)
    assert (made.nse, made.shape, made.data.shape) == (6, (3, 4, 5), (3, 6))
    assert len({tuple(place) for place in made.indices[0].tolist()}) == 6
    assert xs.tree_util.tree_map(lambda leaf: leaf, made).shape == made.shape


def test_what_does_not_fit_is_said() -> None:
    data, indices = np.ones(2, np.float32), np.zeros((2, 1), np.int32)
    with pytest.raises(ValueError, match="have to fit the shape"):
        sparse.BCOO((data, indices), shape=(3, 3))
    with pytest.raises(ValueError, match="integers"):
        sparse.BCOO((data, indices.astype(np.float32)), shape=(3,))
    x = sparse.BCOO((data, indices), shape=(3,))
    with pytest.raises(sparse.SparseEfficiencyError, match="on_inefficient"):
        x.update_layout(n_dense=1)
    with pytest.raises(NotImplementedError, match="mix"):
        sparse.bcoo_fromdense(CUBE, n_batch=1).reshape(3, 8)
    with pytest.raises(TypeError, match="takes a BCOO"):
        sparse.bcoo_todense(data)
    with pytest.raises(xs.errors.ConcretizationTypeError) as caught:
        xs.jit(lambda m: sparse.bcoo_fromdense(m).todense())(CUBE)
    assert "nse" in "".join(caught.value.__notes__)


def test_arrays_are_mapped_over_their_first_batch_axis() -> None:
    x = sparse.bcoo_fromdense(CUBE, nse=4, n_batch=2)
    mapped = xs.vmap(lambda y: y, in_axes=0, out_axes=0)(x)
    agrees(mapped.todense(), CUBE, "the first one")
    with pytest.raises(ValueError, match="mapped over their first batch axis"):
        xs.vmap(lambda y: y.todense(), in_axes=1)(x)
    with pytest.raises(ValueError, match="stacked along a new first one"):
        xs.vmap(lambda y: y, out_axes=1)(x)
    with pytest.raises(ValueError, match="n_batch=1 or more"):
        xs.vmap(lambda y: y.todense())(sparse.bcoo_fromdense(CUBE, nse=24))
