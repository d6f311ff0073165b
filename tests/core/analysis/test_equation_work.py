"""A kernel's time is shared by the estimated work of its equations; what separate kernels took is the truth."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.analysis.costs.call_times import account_json, break_down_call, compute_call_times
from xlascope.analysis.costs.equation_work import estimate_kernel_costs
from xlascope.records import Compiled, DeviceTime, Executed, Kernel, KernelTime, Traced

WEIGHTS, INPUTS = xs.ShapeDtypeStruct((1500, 1500), "float32"), xs.ShapeDtypeStruct((1500, 200), "float32")
VECTOR, ROWS = xs.ShapeDtypeStruct((1 << 18,), "float32"), xs.ShapeDtypeStruct((512, 2048), "float32")


def product_then_exp(w: Any, x: Any) -> Any:
    return jnp.exp(-((w @ x) ** 2)).sum()


def tanh_then_sums(x: Any) -> Any:
    return jnp.tanh(x) * 0.5 + x


def exp_division_log(x: Any) -> Any:
    return jnp.log1p(jnp.exp(x) / (x + 2))


def power_then_sums(x: Any) -> Any:
    return x**1.3 + x * 2 + 1


def sine_and_exp(x: Any) -> Any:
    return jnp.sin(x) + jnp.exp(x)


def exp_then_sum(x: Any) -> Any:
    return jnp.exp(x).sum(1)


def traced_of(function: Callable[..., Any], *arguments: Any) -> Traced:
    return next(item for item in inspect.jaxpr(function, *arguments).records if isinstance(item, Traced))


def kernel_of(traced: Traced, name: str = "fusion", nbytes: int = 1 << 40) -> Kernel:
    """Return a kernel of all equations that hold no program."""
    paths = tuple(equation.path for equation in traced.jaxpr.walk() if not equation.bodies)
    return Kernel(name, "fusion", "loop", "f32[8]", paths, len(paths), 0, nbytes, nbytes, 0)


def compiled_of(*kernels: Kernel, platform: str = "cpu") -> Compiled:
    return Compiled(1, "f", 0.0, 0.1, "miss", platform, (f"{platform}:0",), "jit_f.1", kernels, "")


def executed_of(**runs: int) -> Executed:
    """Return two profiled calls in which each kernel took a second, in so many runs a call."""
    times = tuple(KernelTime(name, 2 * number, 2.0) for name, number in runs.items())
    return Executed(1, "f", 0.0, 9, 45.0, 10.0, 2, 5.0, (DeviceTime("cpu:0", 8.0, times, ()),), "host")


def seconds_by_operation(traced: Traced, compiled: Compiled, run: Executed) -> dict[str, float]:
    account, totals = break_down_call(run, compiled, traced), dict[str, float]()
    for equation in traced.jaxpr.walk():
        seconds = account.equations.get(equation.path, 0.0)
        totals[equation.operation] = totals.get(equation.operation, 0.0) + seconds
    return totals


@pytest.mark.parametrize(
    ("function", "arguments", "operation", "measured"),
    [  # parts of the time of separate kernels, on two cores, in November 2026
        (product_then_exp, (WEIGHTS, INPUTS), "dot_general", 0.99),
        (tanh_then_sums, (VECTOR,), "tanh", 0.52),
        (power_then_sums, (VECTOR,), "pow", 0.98),
        (sine_and_exp, (VECTOR,), "sin", 0.88),
        (exp_then_sum, (ROWS,), "exp", 0.81),
        (exp_division_log, (VECTOR,), "log1p", 0.68),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_shares_are_near_those_of_separate_kernels(
    function: Any, arguments: Any, operation: str, measured: float
) -> None:
    traced = traced_of(function, *arguments)
    kernel = kernel_of(traced)
    by_operation = seconds_by_operation(traced, compiled_of(kernel), executed_of(fusion=1))
    assert sum(by_operation.values()) == pytest.approx(1.0)
    shared = by_operation[operation]
    assert abs(shared - measured) < 0.3 and abs(shared - measured) < abs(1 / len(kernel.equations) - measured)


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu", "something new"])
def test_every_platform_has_rates(platform: str) -> None:
    traced = traced_of(product_then_exp, WEIGHTS, INPUTS)
    shares = seconds_by_operation(traced, compiled_of(kernel_of(traced), platform=platform), executed_of(fusion=1))
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["dot_general"] > 2 * shares["exp"] > 4 * shares["neg"] > 0


def test_an_array_between_two_calls_of_functions_is_not_in_memory() -> None:
    """Its reader is inside a jitted function, its maker in another: the kernel has both."""
    inner, outer = xs.jit(lambda x: x * 2), xs.jit(lambda x: x + 1)
    called, written = traced_of(lambda x: outer(inner(x)), VECTOR), traced_of(lambda x: x * 2 + 1, VECTOR)
    costs = [
        [cost.picoseconds for cost in estimate_kernel_costs(each, compiled_of(kernel_of(each)))["fusion"]]
        for each in (called, written)
    ]
    assert costs[0] == costs[1]


def test_a_kernel_reads_no_more_than_it_reads() -> None:
    """A product's operands are read from a cache or not at all: XLA's bytes are the upper bound."""
    traced = traced_of(lambda x: jnp.abs(x) + 1, VECTOR)
    known, unknown = (
        estimate_kernel_costs(traced, compiled_of(kernel_of(traced, nbytes=size)))["fusion"] for size in (64, 1 << 40)
    )
    assert all(few.picoseconds < many.picoseconds for few, many in zip(known, unknown, strict=True))


def test_what_looks_up_rows_does_not_read_the_table() -> None:
    table = xs.ShapeDtypeStruct((100_000, 64), "float32")
    traced = traced_of(lambda t, i: jnp.exp(t[i]), table, xs.ShapeDtypeStruct((4096,), "int32"))
    shares = seconds_by_operation(traced, compiled_of(kernel_of(traced)), executed_of(fusion=1))
    assert shares["exp"] > 0.5 > shares["gather"] > 0


def loop(x: Any) -> Any:
    def body(carry: Any, _: Any) -> Any:
        return jnp.sin(carry), None

    return jnp.sin(lax.scan(body, x, None, length=10)[0])


@pytest.mark.parametrize(("runs", "inside"), [(1, 10 / 11), (5, 2 / 3), (10, 0.5), (20, 0.5)])
def test_the_body_of_an_unrolled_loop_counts_once_a_trip(runs: int, inside: float) -> None:
    """A kernel that runs once a call has all ten trips, one that runs ten times has one."""
    traced = traced_of(loop, VECTOR)
    compiled, run = compiled_of(kernel_of(traced)), executed_of(fusion=runs)
    equations = break_down_call(run, compiled, traced).equations
    assert sum(seconds for path, seconds in equations.items() if path.parent) == pytest.approx(inside, abs=0.02)


def test_a_loop_that_slices_its_operands_has_no_work_of_its_own() -> None:
    traced = traced_of(lambda xs_: lax.scan(lambda c, x: (c + jnp.exp(x), None), 0.0, xs_)[0], VECTOR)
    scan = next(equation for equation in traced.jaxpr.walk() if equation.bodies)
    kernel = replace(kernel_of(traced), equations=(scan.path, *kernel_of(traced).equations))
    account = break_down_call(executed_of(fusion=1), compiled_of(kernel), traced)
    assert account.equations[scan.path] == 0.0 and sum(account.equations.values()) == pytest.approx(1.0)


def test_an_equation_in_two_kernels_is_divided_unless_it_is_computed_again() -> None:
    """The second half of a reduction reads little; an elementwise function is computed in each kernel."""
    traced = traced_of(lambda x: jnp.exp(x).sum(), VECTOR)
    first, second = kernel_of(traced, "first"), kernel_of(traced, "second", nbytes=64)
    costs = estimate_kernel_costs(traced, compiled_of(first, second))
    (exp, total), (again, rest) = costs["first"], costs["second"]
    assert exp.picoseconds == again.picoseconds > 0 and total.picoseconds > 1000 * rest.picoseconds


def test_it_is_shared_equally_where_nothing_is_known() -> None:
    traced = traced_of(product_then_exp, WEIGHTS, INPUTS)
    bare = tuple(replace(each, inputs=(), outputs=(), flops=0) for each in traced.jaxpr.walk() if not each.bodies)
    names = replace(traced, jaxpr=replace(traced.jaxpr, equations=bare))
    compiled = compiled_of(kernel_of(names), replace(kernel_of(names), name="single", equations=(bare[0].path,)))
    run = executed_of(fusion=1, single=1)
    for account in (break_down_call(run, compiled, names), compute_call_times(run, compiled)):
        parts = [account.equations[each.path] for each in bare[1:]]
        assert parts == [pytest.approx(1 / len(bare))] * len(parts)
        assert (account.by_work, account.equally) == ((), ("fusion",))
        assert account.sharing_text == "each kernel's time is shared equally by its equations"


def test_text_and_json_say_how_it_was_shared() -> None:
    traced = traced_of(product_then_exp, WEIGHTS, INPUTS)
    kernels = (kernel_of(traced), replace(kernel_of(traced), name="other", equations=("8", "9")))
    account = break_down_call(executed_of(fusion=1, other=1), compiled_of(*kernels), traced)
    assert account_json(account)["sharing"] == {
        "how": "each kernel's time is shared by its equations' estimated operations and bytes; "
        "equally in 1 kernel of unknown work",
        "by_work": ["fusion"],
        "equally": ["other"],
    }
    assert account.equations["8"] == account.equations["9"] == 0.5
    answer = inspect.timings(lambda x: jnp.exp(x) + 1, jnp.ones(5000))
    how = answer.to_json()["account"]["sharing"]["how"]
    assert how and f"({how})" in str(answer)
