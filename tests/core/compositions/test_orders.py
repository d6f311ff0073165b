"""Orders of loops, branches and transformations: what jax gives, and what algebra says of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope.ir.checker import check_jaxpr
from xlascope.xla.lowering.module_lowering import lower

HERE = Path(__file__).with_name("orders.py")
#: Orders that give the same numbers.
EQUAL = [
    ("jvp of vmap of scan", "vmap of jvp of scan"),
    ("jit of grad of scan", "grad of jit of scan"),
    ("jacrev of scan", "jacfwd of scan"),
    ("linearize of scan", "jit of linearize of scan"),
    ("hessian of nested scans", "jacrev of jacrev of nested scans"),
    ("jacfwd of jacrev of associative_scan", "jacrev of jacfwd of associative_scan"),
    ("hessian of custom_root", "grad of grad of custom_root"),
]


@pytest.fixture(scope="module", autouse=True)
def wide():
    with xs.enable_x64():
        yield


@pytest.fixture(scope="module")
def orders(programs: Any) -> Any:
    return programs(HERE)


@pytest.fixture(scope="module")
def found(orders: Any) -> Any:
    def interpret(whole):
        program = xs.make_jaxpr(whole)()
        check_jaxpr(program)
        return orders.INTERPRETING.interpreted_closed(program, lower)

    return orders.table(xs, interpret)


def test_every_order_gives_what_jax_gives(found, orders, jax_says):
    wanted = jax_says(HERE, "by_jax", enable_x64="1")
    assert found.keys() == wanted.keys()
    assert len({label for label, _ in found}) > 100
    wrong = [
        f"{key}: {found[key].dtype}{found[key]} instead of {expected.dtype}{expected}"
        for key, expected in wanted.items()
        if found[key].dtype != expected.dtype
        or found[key].shape != expected.shape
        or not np.allclose(found[key], expected, rtol=1e-9, atol=1e-9)
    ]
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_orders_that_give_the_same(one, other, found):
    leaves = [[y for (label, _), y in found.items() if label == name] for name in (one, other)]
    assert leaves[0]
    for y, expected in zip(*leaves, strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-10)


def test_transposing_twice_is_the_linear_function_itself(found):
    twice = found["linear_transpose of linear_transpose of a scan", 0]
    c, ys = 0.0, []
    for value in np.random.default_rng([0, 4]).uniform(-0.8, 0.8, 4):
        ys.append(c - 2 * value)
        c = 0.7 * c + value
    np.testing.assert_allclose(twice, ys, rtol=1e-12)


@pytest.mark.parametrize(
    "label",
    [
        "vmap of Metropolis",
        "gradient through training in a scan",
        "vmap of grad of all_gather in scan in vmap",
        "vmap of jvp of while of vmap of grad",
    ],
)
def test_compiled_and_not_compiled(label, found, orders):
    """XLA agrees with the interpreter, be it of one program or of a call of each operation."""
    wanted = [y for (name, _), y in found.items() if name == label]
    thunk = orders.orders(xs)[label]
    for values in (xs.jit(thunk)(), thunk()):
        for y, expected in zip(xs.tree.leaves(values), wanted, strict=True):
            np.testing.assert_allclose(y, expected, rtol=1e-9, atol=1e-10)
