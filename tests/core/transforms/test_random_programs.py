"""Random programs under every order of transformations: the orders agree with each other, and with jax."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope.ir.checker import check_jaxpr
from xlascope.transforms.evaluate import evaluate
from xlascope.xla.lowering.module_lowering import lower

HERE = Path(__file__).with_name("random_programs.py")
#: In views of these, a result's dtype is that of the loss or that of the operand, depending on the mode.
ANY_DTYPE = ("gradient", "hessian", "second")


@pytest.fixture(scope="module", autouse=True)
def wide():
    with xs.enable_x64():
        yield


@pytest.fixture(scope="module")
def table(programs: Any) -> Any:
    return programs(HERE)


def interpreter(table: Any) -> Any:
    """Runs a function without arguments: records it, checks all that was recorded, lowers it, interprets that."""

    def interpret(whole: Any) -> list[Any]:
        program = xs.make_jaxpr(whole)()
        check_jaxpr(program)
        return list(table.INTERPRETING.interpreted_closed(program, lower))

    return interpret


def different(found: list[Any], wanted: list[Any], tolerance: float, any_dtype: bool = False) -> bool:
    """Whether results are not those wanted; what is small beside the largest number may be off by as much."""
    if len(found) != len(wanted):
        return True
    for y, expected in zip(found, wanted, strict=True):
        if y.shape != expected.shape or not (any_dtype or y.dtype == expected.dtype):
            return True
        scale = 1.0 + np.max(np.abs(expected), initial=0) if expected.dtype.kind == "f" else 1.0
        if not np.allclose(y, expected, rtol=tolerance, atol=tolerance * scale):
            return True
    return False


def tolerance_of(program: Any, table: Any, label: str) -> float:
    if label.startswith("slope"):
        return 2e-5
    single = set(program.dtypes) != {"float64"} or "single" in set(table.names(program.steps))
    return 3e-4 if single else 1e-8


def disagreeing(table: Any, program: Any, found: dict[Any, list[Any]]) -> list[str]:
    """The views that do not give what the first view of the same thing gives."""
    mine = [label for seed, label in found if seed == program.seed]
    wrong = []
    for kind, same in itertools.groupby(sorted(mine), lambda label: label.split(":")[0]):
        first, *others = same
        tolerance = tolerance_of(program, table, kind)
        any_dtype = kind in ANY_DTYPE
        for other in others:
            a, b = found[program.seed, other], found[program.seed, first]
            if different(a, b, tolerance, any_dtype):
                wrong.append(f"{other} is not {first}: {a} and {b}")
        for label in (first, *others):
            if not all(np.all(np.isfinite(y)) for y in found[program.seed, label]):
                wrong.append(f"{label} is not finite")
    return wrong


def shrunk(table: Any, program: Any, fails: Any) -> Any:
    """A program without the steps that a failure does not need."""
    for steps in table.smaller(program.steps):
        less = program._replace(steps=steps)
        if fails(less):
            return shrunk(table, less, fails)
    return program


def check(table: Any, programs: list[Any]) -> dict[Any, list[Any]]:
    """The views of programs, each the same whichever way it is computed; a failure shows the smallest such program."""
    interpret = interpreter(table)

    def complaints(program: Any) -> list[str]:
        try:
            return disagreeing(table, program, table.everything(xs, [program], interpret))
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]

    found: dict[Any, list[Any]] = {}
    for program in programs:
        views = table.everything(xs, [program], interpret)
        if disagreeing(table, program, views):
            least = shrunk(table, program, complaints)
            pytest.fail(f"seed {program.seed}, at least {least}:\n" + "\n".join(complaints(least)))
        found.update(views)
    return found


def test_all_orders_of_transformations_agree_with_each_other_and_with_jax(table, jax_says):
    programs = [table.generated(seed) for seed in table.SEEDS]
    found = check(table, programs)
    assert len(found) > 25 * len(programs)
    wanted = jax_says(HERE, "by_jax", enable_x64="1")
    assert len(wanted) > 2 * len(programs)
    by_seed = {p.seed: p for p in programs}
    wrong = []
    for (seed, label), expected in wanted.items():
        if different(found[seed, label], expected, tolerance_of(by_seed[seed], table, label)):
            wrong.append(f"seed {seed}, {label}: {found[seed, label]} instead of {expected}")
    assert not wrong, "\n".join(wrong[:10])


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("start", range(1000, 1500, 50))
def test_many_programs(table, start):
    check(table, [table.generated(seed, size=8, depth=3) for seed in range(start, start + 50)])


# In the way of a user: compiled by XLA, or one operation at a time ----------------------------------------------------


@pytest.mark.parametrize("seed", [3, 14, 20, 31, 36])
def test_compiled_programs_give_what_the_recorded_ones_mean(table, seed):
    program = table.generated(seed)
    brief = ("value", "jvp", "gradient: grad", "batch of grad", "batch (0, 0, 0)")
    views = {label: view for label, view in table.views(xs, program) if label in brief}
    meant = interpreter(table)(lambda: xs.tree.leaves([view() for view in views.values()]))
    compiled = xs.jit(lambda: [view() for view in views.values()])()
    assert not different([np.asarray(y) for y in xs.tree.leaves(compiled)], meant, tolerance_of(program, table, ""))


@pytest.mark.parametrize("seed", [1, 36])
def test_programs_run_step_by_step(table, seed):
    """Without any trace around, a gradient knows its forward values."""
    program = table.generated(seed, size=3)
    f, operands = table.function_of(xs, program), table.operands_of(program)
    loss = table.loss_of(xs, f)

    def whole():
        gradient = xs.grad(loss)(*operands) if program.mode != "forward" else xs.jacfwd(loss)(*operands)
        return [*f(*operands), gradient]

    found = [np.asarray(y) for y in whole()]
    assert not different(found, interpreter(table)(whole), tolerance_of(program, table, ""))


# Jaxprs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [100, 120, 140])
def test_recording_what_a_jaxpr_says_gives_the_same_jaxpr(table, start):
    for seed in range(start, start + 20):
        program = table.generated(seed, size=6)
        operands = table.operands_of(program)
        jaxpr = xs.make_jaxpr(table.function_of(xs, program))(*operands)
        check_jaxpr(jaxpr)
        again = xs.make_jaxpr(lambda *given, jaxpr=jaxpr: evaluate(jaxpr, *given))(*operands)
        check_jaxpr(again)
        assert str(again) == str(jaxpr)


def test_seeds_are_programs_of_every_kind(table):
    """What the seeds of the first test cover: every step, every mode, and bodies in bodies."""
    programs = [table.generated(seed) for seed in table.SEEDS]
    assert {p.mode for p in programs} == {"both", "forward", "reverse"}
    steps = [name for p in programs for name in table.names(p.steps)]
    missing = (table.STEPS.keys() | table.HOLDING.keys()) - set(steps)
    assert not missing, missing
    assert any(inner.body for p in programs for outer in p.steps for inner in outer.body)
