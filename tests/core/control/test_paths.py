"""Where equations inside loops and branches come from, and where the compiler's instructions say they belong."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.ir.jaxpr_record import describe_program
from xlascope.readers.hlo.kernels import read_kernels
from xlascope.xla.compilation.compile_request import CompileRequest
from xlascope.xla.devices.backend import default_device
from xlascope.xla.execution.executables import find_or_compile
from xlascope.xla.execution.placement import Placement

X = np.linspace(0.5, 1.5, 6, dtype=np.float32)
W = np.eye(6, dtype=np.float32) * np.float32(0.9)


def cell(h, x):
    grown = jnp.tanh(W @ h) * x  # a line that only this loop has
    return grown, jnp.sum(grown)


def network(h, xs_):
    return jnp.sum(lax.scan(cell, h, xs_)[1])


def halving(x):
    return lax.while_loop(lambda c: jnp.sum(jnp.abs(c)) > 0.1, lambda c: jnp.sin(c) * 0.5 + jnp.cos(c) * 1e-3, x)


def choice(x):
    return lax.switch(
        jnp.argmax(x),
        [lambda x: jnp.sin(x) * 2.0, lambda x: jnp.exp(x) + x, lambda x: jnp.sort(x) - jnp.cumsum(x)],
        x,
    )


def nested(x):
    def step(c, y):
        return lax.cond(y > 1.0, lambda c: lax.fori_loop(0, 3, lambda i, d: jnp.sin(d) * y, c), jnp.tanh, c), c * y

    return jnp.sum(lax.scan(step, x, X)[1])


PROGRAMS = {
    "scan": lambda: xs.make_jaxpr(network)(X, X),
    "gradient of a scan": lambda: xs.make_jaxpr(xs.grad(network))(X, X),
    "scan, unrolled": lambda: xs.make_jaxpr(lambda h: lax.scan(cell, h, X, unroll=2))(X),
    "while": lambda: xs.make_jaxpr(halving)(X),
    "batch of whiles": lambda: xs.make_jaxpr(xs.vmap(halving))(np.stack([X, 2 * X])),
    "switch": lambda: xs.make_jaxpr(choice)(X),
    "all of them": lambda: xs.make_jaxpr(xs.grad(nested))(X),
}


@pytest.fixture(params=PROGRAMS, scope="module")
def program(request):
    return PROGRAMS[request.param]()


def test_equations_keep_the_users_lines(program):
    equations = list(describe_program(program).walk())
    assert len({equation.path for equation in equations}) == len(equations) >= 5
    for equation in equations:
        assert equation.source is not None, equation.path
        assert equation.source.file == __file__, equation.path


def test_a_line_of_a_body_is_that_of_its_equations():
    lines = {e.source.line for e in describe_program(PROGRAMS["scan"]()).walk() if e.operation in ("tanh", "mul")}
    assert lines == {cell.__code__.co_firstlineno + 1}


def test_the_compilers_instructions_name_equations_that_are_there(program):
    """Every kernel's equations are equations of the program, and every equation but a few is in a kernel.

    What XLA adds (constants, copies, the counting of loops that it rewrites) is unknown: at most a fifth.
    """
    compiled = find_or_compile(CompileRequest(program), Placement(default_device(), False)).compilation.executable
    text = compiled.hlo_modules()[0].to_string()
    kernels = read_kernels(text)
    named = {path for kernel in kernels for path in kernel.equations}
    known = {equation.path for equation in describe_program(program).walk()}
    assert not named - known
    assert len(named) >= 0.6 * len(known)
    assert max(path.count("/") for path in named) == max(path.count("/") for path in known)
    instructions = sum(kernel.instructions for kernel in kernels)
    assert sum(kernel.unknown for kernel in kernels) <= 0.2 * instructions
