"""Small cases at the edges of control flow: the values and types that jax gives; and the sizes of derivatives."""

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.changes_of_jax import made

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.ir.checker import check_jaxpr
from xlascope.transforms.dce import dce_program
from xlascope.transforms.evaluate import evaluate
from xlascope.xla.compilation.compile_request import CompileRequest
from xlascope.xla.devices.backend import default_device
from xlascope.xla.execution import executables
from xlascope.xla.execution.executables import find_or_compile
from xlascope.xla.execution.placement import Placement

HERE = Path(__file__).with_name("edges.py")


@pytest.fixture(scope="module")
def table(programs: Any) -> Any:
    return programs(HERE)


@pytest.fixture(scope="module")
def expected(jax_says: Any) -> Any:
    return jax_says(HERE, "everything")


def test_the_edges_are_where_jax_has_them(table: Any, expected: Any) -> None:
    wanted = expected["results"]
    found = table.results(xs)
    refused = {"a named tuple as pair"} if made("pairs of scan") else set()
    assert found.keys() - wanted.keys() == refused and not wanted.keys() - found.keys()
    for name, (leaves, weak) in wanted.items():
        ours, our_weak = found[name]
        assert our_weak == weak, name
        assert [(x.shape, x.dtype) for x in ours] == [(x.shape, x.dtype) for x in leaves], name
        for x, y in zip(ours, leaves, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, err_msg=name)


def test_loops_and_branches_cross_named_axes(table: Any, expected: Any) -> None:
    wanted = expected["crossings"]
    found = table.crossings(xs)
    assert found.keys() == wanted.keys()
    for name, leaves in wanted.items():
        for x, y in zip(found[name], leaves, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, err_msg=name)


def test_derivatives_are_no_larger_than_those_of_jax(table: Any, expected: Any) -> None:
    wanted = expected["sizes"]
    for key, (equations, scans) in table.sizes(xs).items():
        jax_equations, jax_scans = wanted[key]
        spared = made("derivative of tanh") and "network" in key[0]
        more = 2 if spared else 1  # a value that is the same in all steps is computed outside as well
        assert equations <= jax_equations + more, key
        assert len(scans) == len(jax_scans), key
        for (operands, numbers), (jax_operands, jax_numbers) in zip(scans, jax_scans, strict=True):
            assert operands <= jax_operands + spared, key
            assert numbers <= jax_numbers + 15 * spared, key


def test_what_nobody_uses_is_not_computed() -> None:
    def body(c, x):
        return (c[0] + 1, c[1] * x, jnp.sin(c[2])), (c[1], jnp.exp(c[2]))

    def carried(x):
        (_, product, _), (products, _) = lax.scan(body, (0, x, x), jnp.ones(3))
        return product + products[0]

    def looped(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2, jnp.sin(c[2])), (0, x, x))[1]

    def chosen(x):
        return lax.cond(x > 0, lambda x: (jnp.tanh(x), jnp.exp(x)), lambda x: (x, jnp.sin(x)), x)[0]

    for function in (carried, looped, chosen):
        program = xs.make_jaxpr(function)(1.0)
        needed, kept = dce_program(program, (True,))
        check_jaxpr(needed)
        assert any(f" = {name} " in str(program) for name in ("sin", "exp"))
        assert not any(f" = {name} " in str(needed) for name in ("sin", "exp"))
        assert kept == (True,)
        np.testing.assert_allclose(evaluate(needed, 1.0)[0], function(1.0))


# Memory -----------------------------------------------------------------------------------------------------------

STEPS, WIDTH = 10_000, 32


def temporary_bytes(function: Any, *operands: Any) -> int:
    program = xs.make_jaxpr(function)(*operands)
    compiled = find_or_compile(CompileRequest(program), Placement(default_device(), False)).compilation.executable
    return int(compiled.get_compiled_memory_stats().temp_size_in_bytes)


def step(c, _):
    return jnp.sin(c) * 1.01, None


def straight(c):
    return jnp.sum(lax.scan(step, c, None, length=STEPS)[0])


def in_segments(c):
    segment = xs.checkpoint(lambda c: lax.scan(step, c, None, length=100)[0])
    return jnp.sum(lax.scan(lambda c, _: (segment(c), None), c, None, length=STEPS // 100)[0])


def test_reverse_mode_keeps_what_the_arithmetic_says() -> None:
    """A step ``sin(c) * 1.01`` needs ``cos(c)`` of each step and nothing else: 10,000 · 32 · 4 = 1,280,000 bytes.

    In 100 segments of 100 steps it needs the carry at the start of each (100 · 32 · 4 bytes), and the residuals of one
    (as many): 25,600 bytes, 2·√n carries. Measured: 1,280,516 and 26,372 bytes.
    """
    carry = np.linspace(0, 1, WIDTH, dtype=np.float32)
    kept = STEPS * WIDTH * 4
    assert kept <= temporary_bytes(xs.grad(straight), carry) <= kept + 2048
    kept = 2 * 100 * WIDTH * 4
    assert kept <= temporary_bytes(xs.grad(in_segments), carry) <= kept + 2048
    assert temporary_bytes(straight, carry) <= 2048
    np.testing.assert_allclose(xs.grad(in_segments)(carry), xs.grad(straight)(carry), rtol=1e-5)


# Traces -----------------------------------------------------------------------------------------------------------


def counted(function: Any) -> Any:
    def run(*values):
        run.traces += 1
        return function(*values)

    run.traces = 0
    return run


LOOPS = {
    "scan": lambda body: lax.scan(body, 1.0, np.ones(3, np.float32)),
    "map": lambda body: lax.map(lambda_of(body), np.ones(3, np.float32)),
    "fori_loop": lambda body: lax.fori_loop(0, 3, body, 1.0),
    "while_loop": lambda body: lax.while_loop(below_ten, lambda_of(body), 1.0),
    "cond": lambda body: lax.cond(True, body, body, 1.0, 2.0),
}
_ones: dict[Any, Any] = {}


def lambda_of(body: Any) -> Any:
    """The same function of one argument for the same body, as a cell that is run again would have it."""
    return _ones.setdefault(body, counted(lambda x: x * 2.0))


def below_ten(x):
    return x < 10.0


def traces_of(body: Any) -> int:
    return int(body.traces + (_ones[body].traces if body in _ones else 0))


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_is_run_again_is_not_traced_or_compiled_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(
        executables, "compile_program", lambda *a, f=executables.compile_program: (compiled.append(1), f(*a))[1]
    )
    body = counted(lambda c, x: c * 1.0 if name in ("fori_loop", "cond") else (c * 1.0, x))
    LOOPS[name](body)
    first, made = traces_of(body), len(compiled)
    assert 0 < first <= 2
    for _ in range(3):
        LOOPS[name](body)
    assert (traces_of(body), len(compiled)) == (first, made)


def cell(number: int) -> list[Any]:
    """What a cell does that defines functions of its own each time it is run; weak references to them."""
    state = np.full(3, number, np.float32)

    def body(c, x):
        return c * x + jnp.sum(state), c

    def one(x):
        return x * jnp.sum(state)

    def condition(x):
        return x < jnp.sum(state)

    lax.scan(body, 1.0, state)
    lax.fori_loop(0, 3, lambda i, c: c * one(i), 1.0)
    lax.cond(True, one, always, 1.0)
    lax.cond(True, always, one, 1.0)
    lax.while_loop(condition, always, 1.0)
    lax.while_loop(below_ten, lambda x: one(x) + 20.0, 1.0)
    xs.vmap(lambda x: lax.while_loop(condition, always, x))(jnp.ones(2))
    xs.vmap(lambda x: lax.while_loop(lambda x: x < 1, always, x))(jnp.ones(2))
    xs.grad(lambda x: lax.cond(x > 0, always, one, x))(1.0)
    return [weakref.ref(x) for x in (body, one, condition, state)]


def always(x):
    return x * 2.0 + 100.0


def programs_alive() -> int:
    gc.collect()
    return sum(type(x).__name__ == "ClosedJaxpr" for x in gc.get_objects())


def test_cells_that_define_their_bodies_leave_nothing_behind() -> None:
    cell(0)
    references = cell(1)
    before = programs_alive()
    for number in range(2, 4):
        references += cell(number)
    assert programs_alive() <= before
    assert not [reference for reference in references if reference() is not None]
