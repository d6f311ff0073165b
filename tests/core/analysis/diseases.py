"""A sick program and a healthy one for each of the doctor's rules, with the times that its kernels are given.

Programs are traced and compiled, and nothing of them runs: what a rule finds follows from the times given, so that no
test depends on how busy a machine is. `tests/core/inspect/test_doctor.py` measures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from tests.core.xla import kept_programs

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax, settings
from xlascope.analysis.doctor import Copied, Evidence, Narrowed
from xlascope.analysis.eager_call import EagerCall
from xlascope.analysis.retraces import Retrace
from xlascope.records import (
    Ceilings,
    Compiled,
    DeviceShare,
    DeviceTime,
    Executed,
    Kernel,
    KernelTime,
    Record,
    Span,
    TimeAccount,
    TimePart,
    Traced,
)

#: What a kernel takes that has no time given.
SHORT = 1e-6

CEILINGS = Ceilings(0, "", 0.0, "cpu:0", flops=1e11, bytes_per_second=2e10, source="given")


class Case(NamedTuple):
    """A program and its evidence: times by operation or by kernel's name, and what its records are changed to."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    seconds: Mapping[str, float] = {}
    change: Callable[[Evidence], Evidence] = lambda evidence: evidence
    x64: bool = False
    keep: str = "auto"


class Pair(NamedTuple):
    """A program that has a disease, what its finding says, and one that has not."""

    rule: str
    sick: Case
    says: tuple[str, ...]
    healthy: Case


def evidence_of(case: Case) -> Evidence:
    """The evidence of a case."""
    with xs.enable_x64(case.x64), settings.keep(case.keep):
        found = list(inspect.fusions(xs.jit(case.function), *case.arguments).records)
    traced = next(each for each in found if isinstance(each, Traced))
    compiled = next(each for each in found if isinstance(each, Compiled))
    operations = {each.path: each.operation for each in traced.jaxpr.walk()}
    times = [(each.name, _seconds(each, operations, case.seconds)) for each in compiled.kernels if each.kind != "call"]
    evidence = Evidence.of([*found, measured(traced, times), CEILINGS])
    assert evidence is not None
    return case.change(evidence)


def measured(traced: Traced, times: Iterable[tuple[str, float]]) -> Executed:
    """One call in which each kernel took so long, one after the other."""
    kernels = tuple(KernelTime(name, 1, seconds) for name, seconds in times)
    whole = sum(each.seconds for each in kernels)
    device = DeviceTime("cpu:0", whole, kernels, (Span(kernels[0].kernel, 0.0, whole),))
    return Executed(traced.program, traced.function, 0.0, 900, 900 * whole, whole, 1, whole, (device,), "host")


def _seconds(kernel: Kernel, operations: Mapping[Any, str], given: Mapping[str, float]) -> float:
    names = [kernel.name, kernel.opcode, *(operations.get(path, "") for path in kernel.equations)]
    return max((given[name] for name in names if name in given), default=SHORT)


def shape(*axes: int, dtype: str = "float32") -> Any:
    """An argument that is no array."""
    return xs.ShapeDtypeStruct(axes, np.dtype(dtype))


def slowly(seconds: float) -> Callable[[Evidence], Evidence]:
    """Compiled in so many seconds."""

    def change(evidence: Evidence) -> Evidence:
        assert evidence.compiled is not None
        return dataclasses.replace(evidence, compiled=dataclasses.replace(evidence.compiled, seconds=seconds))

    return change


def on(platform: str) -> Callable[[Evidence], Evidence]:
    """Compiled for another platform."""

    def change(evidence: Evidence) -> Evidence:
        assert evidence.compiled is not None
        return dataclasses.replace(evidence, compiled=dataclasses.replace(evidence.compiled, platform=platform))

    return change


def again(times: int, reason: str, seconds: float = 0.1) -> Callable[[Evidence], Evidence]:
    """Traced again so often."""

    def change(evidence: Evidence) -> Evidence:
        spared = (Retrace(9, n, float(n), reason, "Pad the data.", "loop.py:4", seconds) for n in range(2, 2 + times))
        return dataclasses.replace(evidence, retraces=tuple(spared)[::-1])

    return change


def copying(given: float, kept: float, slower: bool = True) -> Callable[[Evidence], Evidence]:
    """An argument that is a NumPy array."""
    copied = Copied(("batch",), 4_000_000, given, kept, slower, "host clock")
    return lambda evidence: dataclasses.replace(evidence, copied=copied)


def written(**fields: Any) -> Callable[[Evidence], Evidence]:
    """The function is not jitted, and its call as written is so."""
    call = EagerCall("f", 20, (0.052, 0.053, 0.052), 1500, 0, jitted_seconds=0.0048)
    return lambda evidence: dataclasses.replace(evidence, eager=dataclasses.replace(call, **fields))


def narrowing(values: int, error: float = 64.0) -> Callable[[Evidence], Evidence]:
    """An argument in float64 that becomes float32."""
    narrowed = Narrowed(("when",), "float64", "float32", values, error, 1.7e9)
    return lambda evidence: dataclasses.replace(evidence, narrowed=narrowed)


def in_a_cell(waits: int, working: float) -> Callable[[Evidence], Evidence]:
    """Called 100 times by a cell in 2 s, half of which it waits for results; the device works for so many seconds."""

    def change(evidence: Evidence) -> Evidence:
        number = evidence.traced.program
        parts = (TimePart("dispatch", 0.1, 100, number, "sine"), TimePart("wait", 1.0, waits))
        devices = (DeviceShare(number, "sine", 100, working),)
        return dataclasses.replace(evidence, cell=TimeAccount(None, "In[3]", 0.0, 2.0, 1.0, parts, devices))

    return change


def calling(calls: int, every: float) -> Callable[[Evidence], Evidence]:
    """Called so often, with so many seconds from call to call."""

    def change(evidence: Evidence) -> Evidence:
        assert evidence.executed is not None
        run = dataclasses.replace(evidence.executed, calls=calls, seconds=calls * every, window=every)
        return dataclasses.replace(evidence, executed=run)

    return change


def step(params: Any, x: Any) -> Any:
    """A step of gradient descent."""
    gradient = xs.grad(lambda params: sum(jnp.sum(jnp.tanh(x @ p) ** 2) for p in params))(params)
    return [p - 0.1 * g for p, g in zip(params, gradient, strict=True)]


def rounds(x: Any, number: int) -> Any:
    """A loop that Python runs."""
    for _ in range(number):
        x = jnp.sin(x) * 0.5
    return x


def python(x: Any) -> Any:
    """A program that calls Python."""
    return jnp.sum(xs.pure_callback(np.cos, xs.ShapeDtypeStruct(x.shape, x.dtype), jnp.sin(x)))


def sine(x: Any) -> Any:
    """A program in which nothing is wrong."""
    return jnp.sin(x) * 2.0


def typed_twice(x: Any, scale: Any) -> Any:
    """Data that meet a number, whatever its type."""
    return jnp.tanh(jnp.sin(x) * scale)


def wide_on_purpose(x: Any) -> Any:
    """Data that somebody wanted in float64."""
    return jnp.tanh(x.astype(jnp.float64) * 2.0)


def pointwise(x: Any, weights: Any) -> Any:
    """A convolution over channels that come first."""
    return jnp.tanh(lax.conv_general_dilated(x, weights, (1, 1), "SAME"))


MATRIX, VECTOR, LONG = shape(64, 64), shape(64), shape(4096)
LABELS, TABLE = shape(32, dtype="int32"), shape(128, 16)
WHOLE = shape(256, 256, dtype="int32")
PARAMS = [shape(2048, 1024), shape(2048, 1024)]
NEW = "f is a new function object: the 5th made from the code at loop.py:3, and traces belong to function objects"
CHANGED = "tokens: i32[8,31] → i32[8,32]"

PAIRS = [
    Pair(
        "product order",
        Case(lambda a, b, v: (a @ b) @ v, (MATRIX, MATRIX, VECTOR), {"dot_general": 1e-3}),
        (
            "532 kFLOP where 16.4 kFLOP would do",
            "100 % of the kernels' time (2 ms a call)",
            "do: multiply in the other order: a @ (b @ v)",
        ),
        Case(lambda a, b, v: a @ (b @ v), (MATRIX, MATRIX, VECTOR), {"dot_general": 1e-3}),
    ),
    Pair(
        "product order",
        Case(lambda a, b, v: v @ (a @ b), (MATRIX, MATRIX, VECTOR), {"dot_general": 1e-3}),
        ("532 kFLOP where 16.4 kFLOP would do", "do: multiply in the other order: (v @ a) @ b"),
        Case(lambda a, b, v: (a @ b) @ v + jnp.sum(a @ b), (MATRIX, MATRIX, VECTOR), {"dot_general": 1e-3}),
    ),
    Pair(
        "inverse",
        Case(lambda a, b: jnp.linalg.inv(a) @ b, (MATRIX, VECTOR), {"triangular_solve": 5e-3, "lu": 1e-3}),
        ("A 64 × 64 matrix is inverted to multiply 1 column by it", "do: solve instead"),
        Case(lambda a, b: jnp.linalg.inv(a) @ b, (MATRIX, MATRIX), {"triangular_solve": 5e-3, "lu": 1e-3}),
    ),
    Pair(
        "one-hot product",
        Case(lambda k, table: xs.nn.one_hot(k, 128) @ table, (LABELS, TABLE), {"dot_general": 1e-3, "eq": 1e-3}),
        ("32 rows are chosen from 128", "127 of 128 numbers zero", "do: look the rows up: table[labels]"),
        Case(lambda k, table: xs.nn.softmax(k * table[:, :1]) @ table, (shape(128), TABLE), {"dot_general": 1e-3}),
    ),
    Pair(
        "integer product",
        Case(lambda a: a @ a, (WHOLE,), {"dot_general": 2e-3}),
        ("A product of int32 matrices reaches 16.8 GOP/s, 17 % of what this machine does in float32", "2**24"),
        Case(lambda a: a @ a, (WHOLE,), {"dot_general": 4e-4}),
    ),
    Pair(
        "float32 products",
        Case(lambda a: jnp.tanh(a @ a), (MATRIX,), {"dot_general": 1e-3}, on("cuda")),
        ("1 product of float32 matrices takes 99 %", "bfloat16 would halve their 49.2 kB", "what_if"),
        Case(lambda a: jnp.tanh(a @ a), (MATRIX,), {"dot_general": 1e-3}),
    ),
    Pair(
        "sorted for few",
        Case(lambda x: jnp.sort(x)[-10:], (LONG,), {"sort": 1e-3}),
        ("4,096 values are sorted to keep 10 of them", "do: take these alone: lax.top_k(x, 10)"),
        Case(lambda x: jnp.sort(x)[100:-100], (LONG,), {"sort": 1e-3}),
    ),
    Pair(
        "sorted for few",
        Case(lambda x: jnp.argsort(x)[:5], (LONG,), {"sort": 1e-3}),
        ("keep 5 of them", "lax.top_k(-x, 5)[1]"),
        Case(lambda x: lax.sort((x, jnp.sin(x)), num_keys=1)[1][:5], (LONG,), {"sort": 1e-3}),
    ),
    Pair(
        "sorted for few",
        Case(lambda x: x > jnp.sort(x)[-41], (LONG,), {"sort": 1e-3}),
        ("sorted to keep one of them", "lax.top_k(x, 41)[0].min(-1)"),
        Case(lambda x: x > jnp.sort(x)[-2048], (LONG,), {"sort": 1e-3}),
    ),
    Pair(
        "sorted for few",
        Case(lambda x: jnp.sort(x)[40], (LONG,), {"sort": 1e-3}),
        ("keep one of them", "-lax.top_k(-x, 41)[0].min(-1)"),
        Case(lambda x: jnp.argsort(x)[-41], (LONG,), {"sort": 1e-3}),
    ),
    Pair(
        "float64",
        Case(typed_twice, (LONG, shape(1, dtype="float64")), {"sin": 1e-3}, x64=True),
        ("though the data come in float32, since they meet scale in float64", "do: make scale a float32"),
        Case(wide_on_purpose, (LONG,), {"tanh": 1e-3}, x64=True),
    ),
    Pair(
        "computed again",
        Case(*kept_programs.layers(6), {"add_any": 1e-3}, keep="off"),
        (" times, in as many kernels, and its like 2.", "do: let what layers hand on be kept", "keep='auto'"),
        Case(*kept_programs.layers(6), {"add_any": 1e-3}),
    ),
    Pair(
        "copies",
        Case(pointwise, (shape(8, 8, 16, 16), shape(8, 8, 1, 1)), {"transpose_copy_fusion.2": 1e-3, "dot": 1e-3}),
        ("of the kernels' time (1 ms a call) only writes arrays in another order", "132 kB read and written"),
        Case(pointwise, (shape(8, 8, 16, 16), shape(8, 8, 1, 1)), {"dot": 1e-3}),
    ),
    Pair(
        "unrolled loop",
        Case(lambda x: rounds(x, 120), (VECTOR,), change=slowly(4.0)),
        ("stands 120 times in the program", "its 240 equations: building it took ", "do: let the device loop"),
        Case(lambda x: lax.fori_loop(0, 120, lambda _, x: jnp.sin(x) * 0.5, x), (VECTOR,), change=slowly(4.0)),
    ),
    Pair(
        "one by one",
        Case(lambda x: lax.map(lambda row: jnp.tanh(row @ row), x), (MATRIX,), {"dot_general": 1e-3}),
        ("64 steps that need nothing of each other run one by one", "do: map them at once: vmap(f)(xs)"),
        Case(lambda x: lax.scan(lambda c, row: (c + row, c), jnp.zeros(64), x), (MATRIX,), {"add": 1e-3}),
    ),
    Pair(
        "calls Python",
        Case(python, (LONG,), {"pure_callback": 1e-3}),
        ("The program calls Python in 1 place", "do: write that function with xlascope.numpy"),
        Case(python, (LONG,), {"sin": 1e-2, "pure_callback": 1e-3}),
    ),
    Pair(
        "not donated",
        Case(step, (PARAMS, shape(64, 2048))),
        ("params (16.8 MB) is replaced by results of the same types", "donate_argnames=('params',)"),
        Case(
            lambda params, x: xs.grad(lambda p: jnp.sum(jnp.tanh(x @ p[0] + x @ p[1])))(params),
            (PARAMS, shape(64, 2048)),
        ),
    ),
    Pair(
        "traced again",
        Case(sine, (VECTOR,), change=again(11, CHANGED)),
        ("was traced again 11 times at loop.py:4, 1.1 s of tracing and compiling", CHANGED, "do: Pad the data."),
        Case(sine, (VECTOR,), change=again(4, CHANGED)),
    ),
    Pair(
        "jit in a loop",
        Case(sine, (VECTOR,), change=again(6, NEW)),
        ("was traced again 6 times", "new function object"),
        Case(sine, (VECTOR,), change=again(6, NEW, 1e-3)),
    ),
    Pair(
        "copied arguments",
        Case(sine, (VECTOR,), change=copying(1e-3, 4e-4)),
        ("batch is a NumPy array of 4 MB", "60 % of the call, 600 µs of 1 ms", "jnp.asarray(batch)"),
        Case(sine, (VECTOR,), change=copying(1e-3, 4e-4, slower=False)),
    ),
    Pair(
        "not jitted",
        Case(sine, (VECTOR,), change=written()),
        (
            "f is not jitted: 1,500 eager operations, 52 ms a call; jitted it takes 4.8 ms",
            "do: jit this function: @jit above it",
        ),
        Case(sine, (VECTOR,), change=written(jitted_seconds=0.048)),
    ),
    Pair(
        "not jitted",
        Case(sine, (VECTOR,), change=written(operations=10)),
        ("10 eager operations",),
        Case(sine, (VECTOR,), change=written(operations=9)),
    ),
    Pair(
        "not jitted",
        Case(sine, (VECTOR,), change=written(seconds=(2e-4,), jitted_seconds=5e-5)),
        ("200 µs a call; jitted it takes 50 µs",),
        Case(sine, (VECTOR,), change=written(seconds=(4e-5, 4e-5, 2e-4, 2e-4, 2e-4), jitted_seconds=5e-5)),  # noise
    ),
    Pair(
        "fetched in a loop",
        Case(
            sine,
            (VECTOR,),
            change=written(seconds=(0.11,), jitted_seconds=None, cannot_jit="why", fetches=100, fetch_seconds=0.09),
        ),
        ("a value is fetched to the host 100 times a call", "900 µs of 1.1 ms each time", "once after the loop"),
        Case(sine, (VECTOR,), change=written(seconds=(0.11,), jitted_seconds=None, fetches=100, fetch_seconds=0.02)),
    ),
    Pair(
        "fetched in a loop",
        Case(sine, (VECTOR,), change=in_a_cell(100, 0.6)),
        (
            "a value is fetched to the host in every iteration, and Python waits for it, 10 ms of 20 ms: 100 waits in ",
            "the device is idle for 70 % of the time",
        ),
        Case(sine, (VECTOR,), change=in_a_cell(100, 1.9)),  # it waits, and costs nothing
    ),
    Pair(
        "fetched in a loop",
        Case(sine, (VECTOR,), change=in_a_cell(85, 0.6)),
        ("85 waits in 100 calls",),
        Case(sine, (VECTOR,), change=in_a_cell(20, 0.6)),
    ),
    Pair(
        "float64 to float32",
        Case(sine, (VECTOR,), change=narrowing(500)),
        ("when is float64 data that become float32", "500 values are rounded, by up to 64 (a value near 1.7e+09)"),
        Case(sine, (VECTOR,), change=narrowing(99)),
    ),
    Pair(
        "waits",
        Case(sine, (VECTOR,), {"sin": 1e-3}, calling(1000, 4e-3)),
        ("The device waits during 75 % of the loop", "busy for 1 ms, and calls come every 4 ms (1,000 calls)"),
        Case(sine, (VECTOR,), {"sin": 1e-3}, calling(1000, 1.1e-3)),
    ),
]


def records_of(evidence: Evidence) -> list[Record]:
    """The records of evidence, as a panel has them."""
    parts = (evidence.traced, evidence.compiled, evidence.executed, evidence.ceilings)
    return [each for each in parts if each is not None]
