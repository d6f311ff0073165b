"""What `check_tracer_leaks` finds: traced values that outlive the function that they belong to."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.errors import UnexpectedTracerError

pytestmark = pytest.mark.usefixtures("fresh_collector")

PROGRAMS = Path(__file__).with_name("leaking.py")
#: The functions of leaking.py, and what is said of what each leaks.
LEAKS = {
    "list": ("in_a_list", r"f32\[\], held by the list kept of .*computed by sin at .*leaking.py"),
    "dict": ("in_a_dict", r"held by the dict table of .*argument x of"),
    "attribute": ("in_an_attribute", "held by the Holder holder of .*computed by cos"),
    "closure": ("in_a_closure", "held by a variable of an enclosing function"),
}
STAGED = {
    "jit": lambda f: xs.jit(lambda x: f(x))(1.0),
    "make_jaxpr": lambda f: xs.make_jaxpr(lambda x: f(x))(1.0),
    "eval_shape": lambda f: xs.eval_shape(lambda x: f(x), 1.0),
    "grad of jit": lambda f: xs.grad(xs.jit(lambda x: f(x)))(1.0),
    "scan": lambda f: lax.scan(lambda c, x: (f(c), x), 1.0, jnp.arange(3.0)),
}
OTHERS = {
    "vmap": lambda f: xs.vmap(f)(jnp.arange(3.0)),
}


@pytest.fixture
def leaking(programs: Callable[[Path], ModuleType]) -> ModuleType:
    """Loaded anew: the garbage collector, which finds what holds a value, does not look at what was there before."""
    return programs(PROGRAMS)


@pytest.mark.parametrize("way", [*STAGED, *OTHERS])
@pytest.mark.parametrize("leak", LEAKS)
def test_a_value_that_outlives_its_function_is_an_error(leak, way, leaking):
    function, words = getattr(leaking, LEAKS[leak][0]), LEAKS[leak][1]
    run = {**STAGED, **OTHERS}[way]
    words = words if way == "jit" else words.split(" of ")[0]
    with xs.checking_leaks(), pytest.raises(UnexpectedTracerError, match=f"(?s)outlive.*{words}"):
        run(function)
    nothing_leaks = lambda x: jnp.sin(x) * x  # noqa: E731
    with xs.checking_leaks():
        run(nothing_leaks)
    run(function)  # off again


def test_programs_that_leak_nothing_are_left_alone():
    def body(carry, x):
        return lax.cond(carry > 0, lambda c: c * x, lambda c: c - x, carry), carry

    def f(y):
        table = {"twice": xs.jit(lambda z: z * y)(2.0)}
        return lax.scan(body, table["twice"], jnp.arange(3.0))[0] + sum(y * i for i in range(3))

    with xs.checking_leaks():
        xs.jit(xs.grad(f))(2.0)
        xs.vmap(xs.grad(lambda x: (f(x), x), has_aux=True))(jnp.arange(1.0, 3))
