"""Values of programs: sick ones found at their lines, healthy ones without a finding, through every kind of program."""

import importlib
import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax, records
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.inspect.engine.value_runs import run_first_pass, run_statistics
from xlascope.records import Birth

from .conftest import make_step
from .sick_values import HEALTHY, SICK, Program

#: The module; the package's attribute of that name is the function.
value_questions = importlib.import_module("xlascope.inspect.values")


def line_text(report_line: object) -> str:
    return linecache.getline(report_line.file, report_line.line)  # type: ignore[attr-defined]


@pytest.mark.parametrize("program", SICK, ids=lambda program: program.name)
def test_a_sick_program_is_found_at_its_line(program: Program) -> None:
    found = inspect.values(program.function, *program.arguments)
    finding = next((finding for finding in found.report.findings if finding.rule == program.rule), None)
    assert finding is not None, found.text
    assert program.words in finding.sentence
    assert finding.source is not None and program.line in line_text(finding.source), found.text
    said = next(line for line in str(found).splitlines() if line.partition(". ")[2].startswith(finding.rule))
    assert program.words in said and said.endswith(f"(sick_values.py:{finding.source.line})")


def test_the_text_shows_sizes_by_depth() -> None:
    program = next(program for program in SICK if program.name == "sigmoids")
    lines = str(inspect.values(program.function, *program.arguments)).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("root mean square by layer, 40 layers"))
    activations, gradients = lines[start + 1 : start + 3]
    assert activations.split()[0] == "activations" and set(activations.split()[1]) <= set("▆▇█")
    assert gradients.split()[0] == "gradients" and gradients.split()[1][0] == "▁" and gradients.split()[1][-1] == "█"


def test_a_slope_that_is_infinite_is_the_one_of_its_function() -> None:
    birth = born(xs.grad(lambda x: jnp.sqrt((x**2).sum())), jnp.zeros(3))
    assert birth.sentence == "division by 0, the divisor: it is 0, in the derivative of sqrt"


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.name)
def test_a_healthy_program_has_no_finding(program: Program) -> None:
    found = inspect.values(program.function, *program.arguments)
    assert not found.report.findings, found.text
    assert set(found.report.results) <= {"finite"}


# Through every kind of program ----------------------------------------------------------------------------------------


def born(function: Any, *arguments: Any) -> Birth:
    """Return the first birth in a call."""
    births = inspect.values(function, *arguments).report.births
    assert births
    return births[0]


def bad_log(x: Any) -> Any:
    return jnp.log(x - 1.0)


def scanned(x: Any) -> Any:
    return lax.scan(lambda carry, _: (carry - 1.0, jnp.sqrt(carry)), x, None, length=8)[1]


def nested(x: Any) -> Any:
    def outer(carry: Any, _: Any) -> tuple[Any, Any]:
        inner = lax.fori_loop(0, 4, lambda _, y: y * jnp.float32(1e3), carry)
        return inner, None

    return lax.scan(outer, x, None, length=6)[0]


def chosen(x: Any) -> Any:
    return lax.cond(x > 0, lambda y: jnp.log(y - y), lambda y: y, x)


def with_rule(x: Any) -> Any:
    function = xs.custom_jvp(bad_log)
    function.defjvps(lambda t, y, x: t / y)
    return function(x)


def with_vjp(x: Any) -> Any:
    function = xs.custom_vjp(bad_log)
    function.defvjp(lambda x: (bad_log(x), x), lambda x, g: (g / (x - x),))
    return xs.grad(function)(x)


ONE, NINE = jnp.float32(1), jnp.float32(9)
PLACES = {
    "jit": (xs.jit(lambda x: xs.jit(bad_log)(x) * 2), (ONE,), "inf", "log", ()),
    "grad": (xs.grad(bad_log), (ONE,), "inf", "log", ()),
    "vmap": (xs.vmap(bad_log), (jnp.arange(1.0, 4.0),), "inf", "log", ()),
    "scan": (scanned, (jnp.float32(3),), "nan", "sqrt", (4,)),
    "scan grad": (xs.grad(lambda x: scanned(x).sum()), (jnp.float32(3),), "inf", "", ()),
    "while": (lambda x: lax.while_loop(lambda y: y < 1e30, lambda y: y * 10.0, x), (ONE,), "", "", ()),
    "nested loops": (nested, (ONE,), "inf", "mul", (3, 0)),
    "cond": (chosen, (ONE,), "inf", "log", ()),
    "custom_jvp": (with_rule, (ONE,), "inf", "log", ()),
    "custom_vjp": (with_vjp, (NINE,), "inf", "div", ()),
    "checkpoint": (xs.grad(xs.checkpoint(lambda x: jnp.sqrt(x).sum())), (jnp.zeros(3),), "inf", "div", ()),
    "complex": (lambda x: jnp.log(x), (jnp.zeros(3, jnp.complex64),), "inf", "log", ()),
    "bfloat16": (lambda x: 1 / x, (jnp.zeros(3, jnp.bfloat16),), "inf", "div", ()),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_birth_is_found_where_it_is(name: str) -> None:
    function, arguments, kind, operation, iterations = PLACES[name]
    if not kind:
        assert not inspect.values(function, *arguments).report.births
        return
    birth = born(function, *arguments)
    assert birth.kind == kind
    assert operation in ("", birth.operation)
    assert not iterations or birth.iterations == iterations


def test_an_argument_that_is_bad_is_named() -> None:
    report = inspect.values(lambda weights: weights * 2, jnp.array([1.0, jnp.nan])).report
    (birth,) = report.births
    assert birth.is_argument and birth.sentence == "argument weights holds NaN before the program begins"


def test_what_is_masked_or_given_is_no_finding() -> None:
    masked = inspect.values(lambda x: jnp.where(x > 0, jnp.log(x), 0.0), jnp.arange(3.0))
    assert not masked.report.findings and not masked.report.births[0].reaches_results
    assert "masked before the results" in masked.text
    given = inspect.values(lambda x: jnp.exp(jnp.where(x > 0, x, -jnp.inf)), jnp.arange(3.0))
    assert not given.report.births


SHARDED = """
import xlascope as xs, xlascope.numpy as jnp
from xlascope import inspect
spec = xs.sharding.PartitionSpec("x")
function = xs.jit(xs.shard_map(jnp.log, mesh=xs.make_mesh((2,), ("x",)), in_specs=spec, out_specs=spec))
report = inspect.values(function, jnp.array([1.0, 2.0, 0.0, 1.0])).report
(birth,) = report.births
devices = next(value.devices for value in report.values if value.devices)
print(birth.operation, birth.operands[0].statistics.elements, *devices)
"""


def test_each_device_of_a_shard_map() -> None:
    environment = os.environ | {"XLASCOPE_NUM_CPU_DEVICES": "2"}
    run = subprocess.run([sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True)
    assert run.stdout.split() == ["log", "4", "finite", "inf"], run.stderr


def test_a_twin_computes_what_the_barriered_program_does() -> None:
    """Barriers alone, without probes, give the same bits; the program itself is as near as its rounding."""
    step = make_step()
    found = inspect.values(step.update, *step.arguments)
    assert found.report.difference is not None and found.report.difference < 1e-5
    call = trace_call(step.update, step.arguments, {})
    first, second = run_first_pass(call, None), run_statistics(call, None, "")
    for x, y in zip(first.outputs, second.outputs, strict=True):
        assert np.array_equal(x, y)


def test_statistics_are_those_of_numpy() -> None:
    x = np.float32([0.0, 1e-40, -2.0, 3.0, np.inf, np.nan, 0.5, -0.0])
    report = inspect.values(lambda x: x * jnp.float32(1.0), x).report
    assert report.results == ("nan",)
    found = run_statistics(trace_call(lambda x: jnp.sin(x) + x, (x,), {}), None, "nan").values
    stats = next(value.statistics for value in found if value.position == "operand")
    counts = (stats.elements, stats.zeros, stats.subnormals, stats.nans, stats.infs, stats.negatives)
    assert counts == (8, 2, 1, 1, 1, 1)
    finite = x[np.isfinite(x)].astype(np.float64)
    assert (stats.minimum, stats.maximum) == (-2.0, 3.0)
    assert stats.mean == pytest.approx(finite.mean()) and stats.root_mean_square == pytest.approx(
        np.sqrt((finite**2).mean())
    )
    assert dict(stats.exponents) == {-127: 1, -1: 1, 1: 2}


def measured(x: Any) -> Any:
    """Return the statistics of an operand as a twin measures them."""
    function = jnp.sin if x.dtype.kind == "f" else lambda x: x * x
    found = run_statistics(trace_call(function, (x,), {}), None, "nan").values
    return next(value.statistics for value in found if value.position == "operand")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e5m2", "float8_e4m3fn"])
def test_statistics_of_each_dtype(dtype: str) -> None:
    kind = jnp.dtype(dtype)
    numbers = np.array([0.0, -0.0, 1.5, -2.0, 3.0, -0.25, np.nan, 0.0], np.float64)
    with xs.enable_x64(True):
        stats = measured(jnp.asarray(numbers.astype(kind)))
    counts = (stats.elements, stats.zeros, stats.subnormals, stats.nans, stats.infs, stats.negatives)
    assert counts == (8, 3, 0, 1, 0, 2) and (stats.minimum, stats.maximum) == (-2.0, 3.0)
    assert stats.mean == pytest.approx(2.25 / 7) and dict(stats.exponents) == {-2: 1, 0: 1, 1: 2}


@pytest.mark.parametrize("numbers", [[np.nan, np.nan], [np.inf, -np.inf], [np.nan], [-np.inf, np.nan]])
def test_statistics_without_a_finite_element(numbers: list[float]) -> None:
    stats = measured(np.float32(numbers))
    assert stats.minimum is stats.maximum is stats.mean is stats.root_mean_square is None
    assert (stats.nans, stats.infs) == (np.isnan(numbers).sum(), np.isinf(numbers).sum())


def test_statistics_of_many_elements_and_extreme_ones() -> None:
    x = np.random.default_rng(0).standard_normal(300_001).astype(np.float32)
    x[:4] = -3e38, 3e38, 1e-42, -1e-42
    stats = measured(x)
    assert (stats.minimum, stats.maximum) == (float(x.min()), float(x.max()))
    assert (stats.subnormals, stats.negatives) == (2, (x < 0).sum())
    assert stats.root_mean_square == pytest.approx(np.sqrt((x.astype(np.float64) ** 2).mean()))
    assert sum(count for _, count in stats.exponents) == len(x[::7])


def sum_of_waves(*arrays: Any) -> Any:
    return sum(jnp.sin(x).sum() for x in arrays)


def test_small_values_are_measured_together() -> None:
    """Values of one dtype and size are rows of a table: each row has the statistics of its own value."""
    random = np.random.default_rng(1)
    arrays = [np.float32(random.standard_normal(size) * 4.0**-number) for number, size in enumerate([5, 300, 300, 300])]
    arrays[2][7] = np.nan
    found = run_statistics(trace_call(sum_of_waves, tuple(arrays), {}), None, "").values
    rows = [value.statistics for value in found if value.statistics.elements > 1]
    assert len(rows) == 4
    for stats, x in zip(rows, arrays, strict=True):
        finite = np.sin(np.float64(x))[~np.isnan(x)]
        assert (stats.elements, stats.nans, stats.negatives) == (x.size, np.isnan(x).sum(), (finite < 0).sum())
        assert stats.root_mean_square == pytest.approx(np.sqrt((finite**2).mean()), rel=1e-6)
        assert stats.maximum == pytest.approx(finite.max(), rel=1e-6)
        exponents, counts = np.unique(np.floor(np.log2(np.abs(finite))), return_counts=True)
        assert dict(stats.exponents) == dict(zip(exponents, counts, strict=True))


def test_statistics_of_all_iterations_of_a_loop() -> None:
    """Their histogram is of every seventh element of each iteration."""

    def waves(x: Any) -> Any:
        return lax.scan(lambda carry, _: (jnp.sin(carry * 1.5), None), x, None, length=9)[0]

    x = np.random.default_rng(2).standard_normal(200).astype(np.float32)
    found = run_statistics(trace_call(waves, (x,), {}), None, "").values
    stats = next(value.statistics for value in found if len(value.path.steps) > 1 and value.statistics.maximum <= 1)
    expected, total = x.astype(np.float64), []
    for _ in range(9):
        expected = np.sin(expected * 1.5)
        total.append(expected)
    assert stats.elements == 1800 and stats.maximum == pytest.approx(np.max(total), rel=1e-5)
    assert stats.root_mean_square == pytest.approx(np.sqrt(np.mean(np.square(total))), rel=1e-5)
    assert sum(count for _, count in stats.exponents) == 9 * len(x[::7])


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
def test_one_nan_anywhere_is_found(size: int) -> None:
    x = np.ones(size, np.float32)
    x[size // 2] = np.nan
    assert inspect.values(lambda x: x * 2, x).report.results == ("nan",)


# Again, and errors ----------------------------------------------------------------------------------------------------


def test_asked_again_with_other_values_nothing_is_compiled() -> None:
    def function(x: Any) -> Any:
        return jnp.log(x) * 2

    arrays = (jnp.zeros(4), jnp.arange(4.0) * 2, np.zeros(4, np.float32))
    inspect.values(function, jnp.arange(4.0))
    compiled: list[Any] = []
    with records.watch(lambda record: compiled.append(record) if isinstance(record, records.Compiled) else None):
        for x in arrays:
            assert inspect.values(function, x).report.births
    assert not compiled


def test_a_report_is_a_record_and_a_file(tmp_path: Path) -> None:
    found = inspect.values(bad_log, ONE)
    assert records.from_json(records.to_json(found.report)) == found.report
    found.save(tmp_path / "values.json")
    assert records.load(tmp_path / "values.json")[-1] == found.report
    assert found.to_json()["records"][-1]["births"][0]["operation"] == "log"


def test_donated_arguments_stay_and_deleted_ones_are_an_error() -> None:
    function = xs.jit(lambda x: jnp.log(x), donate_argnums=0)
    x = jnp.arange(4.0)
    assert inspect.values(function, x).report.births and not x.is_deleted()
    function(x)
    with pytest.raises(inspect.QuestionError, match="x was donated to an earlier call or deleted"):
        inspect.values(function, x)


def test_prints_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    def function(x: Any) -> Any:
        xs.debug.print("x is {}", x)
        return jnp.log(x)

    found = inspect.values(function, ONE * 0)
    assert found.report.births and "x is" not in capfd.readouterr().out
    assert any("prints" in note for note in found.report.notes)


def test_questions_that_have_no_answer_say_why() -> None:
    with pytest.raises(inspect.QuestionError, match="shapes and no values"):
        inspect.values(bad_log, xs.ShapeDtypeStruct((3,), jnp.float32))
    with pytest.raises(inspect.QuestionError, match="ask about a call"):
        inspect.values(inspect.Program("module @jit_f { func.func @main() { return } }"))
    with pytest.raises(TypeError):
        inspect.values(lambda x: "text", ONE)


def test_of_large_programs_the_first_bad_equation_is_bisected(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Any) -> Any:
        for number in range(40):
            x = jnp.log(x - x) if number == 23 else jnp.sin(x)
        return x

    monkeypatch.setattr(value_questions, "MAX_PROBED", 8)
    found = inspect.values(function, ONE)
    assert found.report.births[0].operation == "log"
    assert any("was looked at" in note for note in found.report.notes)


def test_the_doctor_says_first_where_it_was_born() -> None:
    found = inspect.doctor(bad_log, jnp.arange(4.0))
    assert found.diagnosis.findings[0].rule in ("NaN born", "infinity born")
