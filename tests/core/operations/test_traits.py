"""The traits of operations, held against the classes and against what XLA's CPU compiler fuses."""

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.control.loop_rerolling.cost_model import estimate_time
from xlascope.control.loop_rerolling.normalized_steps import normalize_steps
from xlascope.ir.jaxpr_record import traits_of
from xlascope.lax.primitives import operations_by_name
from xlascope.operations.elementwise import Binary, Unary
from xlascope.records.traits import Trait
from xlascope.trace.bind import bind
from xlascope.trace.jaxpr_trace import stage
from xlascope.trace.values import aval_of
from xlascope.xla.lowering.module_lowering import lower
from xlascope.xla.materialization.cost_model import EXPENSIVE_OPS, FUSIBLE_OPS

ENGINE = {name: each for name, each in operations_by_name().items() if each.__module__.startswith("xlascope.")}
#: What these are lowered to depends on a parameter: an exponent of -1 divides.
BY_PARAMETER = {"integer_pow"}
#: Functions of each element that are loops.
LOOPS = {"igamma", "igamma_grad_a", "igammac", "random_gamma_grad"}


@pytest.mark.parametrize("name", sorted(ENGINE))
def test_traits_belong_together(name):
    traits = ENGINE[name].traits
    if traits & {Trait.CHEAP, Trait.TRANSCENDENTAL, Trait.DIVIDES}:
        assert Trait.ELEMENTWISE in traits
    if traits & {Trait.KEEPS_ORDER, Trait.PERMUTES}:
        assert Trait.MOVES in traits
    assert not {Trait.TRANSCENDENTAL, Trait.DIVIDES} <= traits
    assert not {Trait.KERNEL, Trait.ELEMENTWISE} <= traits
    if issubclass(ENGINE[name], Unary | Binary) and name not in LOOPS:
        assert Trait.ELEMENTWISE in traits


def lowered_names(operation, operands):
    """The names of the operations of StableHLO that an operation is lowered to, constants left out."""
    program = stage(lambda *xs: bind(operation, *xs), [aval_of(x) for x in operands], "f")
    functions = lower(program, "f").module.body.operations
    blocks = [block for function in functions for block in function.regions[0].blocks]
    names = {each.name.partition(".")[2] for block in blocks for each in block.operations}
    return names - {"return", "constant", "broadcast_in_dim"}


def test_what_is_computed_again_is_what_xla_fuses(table):
    """The model of XLA's fusion names StableHLO's operations; an operation that is lowered to one of them agrees."""
    compared = {}
    for row in table.ROWS:
        operation = row.operation(row.dtypes[0])
        if row.name not in compared and Trait.ELEMENTWISE in operation.traits:
            names = lowered_names(operation, row.make(row.dtypes[0]))
            if len(names) == 1 and names <= FUSIBLE_OPS:
                compared[row.name] = (Trait.CHEAP in operation.traits) == names.isdisjoint(EXPENSIVE_OPS)
    assert len(compared) > 50
    assert {name for name, agrees in compared.items() if not agrees} == BY_PARAMETER


def traced(function, *arguments):
    return stage(lambda *xs: [function(*xs)], [aval_of(x) for x in arguments], "f")


@pytest.mark.parametrize(
    ("function", "kernels"),
    [
        (lambda x: x.astype("float16"), 0),
        (lambda x: jnp.sin(x) / 2, 0),
        (jnp.argmax, 1),
        (jnp.cumsum, 1),
        (jnp.sum, 1),
        (jnp.sort, 1),
    ],
)
def test_kernels_that_a_loop_has(function, kernels):
    program = traced(function, jnp.ones(64))
    assert estimate_time(normalize_steps(program.jaxpr).steps)[1] == kernels


def test_traits_of_a_program_are_those_of_all_that_it_holds():
    @xs.jit
    def inner(x):
        return jnp.sin(x)

    assert {"jit", "sin", "transpose"} <= traits_of(traced(lambda x: inner(x).T, jnp.ones((2, 3)))).keys()
