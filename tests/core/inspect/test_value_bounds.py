"""Large programs and arrays: what is looked at, held and sent is bounded, and what was left out is said."""

import importlib
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.inspect.arrays import slices
from xlascope.inspect.arrays.array_statistics import measure_array
from xlascope.inspect.arrays.array_store import encode_slice
from xlascope.inspect.arrays.host_array import CHUNK_SIZE, HostArray
from xlascope.inspect.arrays.slices import SliceRequest, read_slice
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.inspect.engine.value_probes import Magnitudes, Statistics
from xlascope.inspect.engine.value_runs import twin_executable
from xlascope.inspect.engine.value_twin import twin_of

#: The module; the package's attribute of that name is the function.
value_questions = importlib.import_module("xlascope.inspect.values")

MIB = 1 << 20


def make_chain(length: int, sick: int | None) -> Callable[[Any], Any]:
    """Return a function of that many equations, of which one may be the logarithm of 0."""

    def chain(x: Any) -> Any:
        for number in range(length):
            x = jnp.log(x * 0.0) if number == sick else jnp.sin(x)
        return x

    return chain


@pytest.mark.parametrize("sick, most", [(None, 7), (0, 7), (57, 7), (119, 7), (118, 20)])
def test_of_many_equations_some_are_looked_at(sick: int | None, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_questions, "MAX_PROBED", most)
    monkeypatch.setattr(value_questions, "MAX_FULL", 5)
    report = inspect.values(make_chain(120, sick), jnp.ones(3)).report
    count = 120 if sick is None else 121
    stride = -(-count // most)
    results = [value for value in report.values if value.position == "result"]
    assert len(results) <= most + 1 if sick is None else len(results) <= most + 2 * stride + 2
    assert sum(value.statistics is not None for value in results) <= 10
    assert any(note.startswith(f"of {count} equations every {stride}") for note in report.notes)
    if sick is not None:
        assert report.births[0].operation == "log" and report.births[0].path == str(sick + 1)


def test_a_report_does_not_grow_with_the_iterations() -> None:
    def run(length: int) -> Any:
        return inspect.values(
            lambda x: lax.scan(lambda c, _: (jnp.tanh(c), c.sum()), x, None, length=length), jnp.ones(4)
        )

    short, long = run(10), run(1000)
    assert len(long.report.values) == len(short.report.values)
    assert len(json.dumps(long.to_json())) < len(json.dumps(short.to_json())) + 2000


@pytest.mark.parametrize("probe", [Magnitudes(), Statistics()], ids=["ranges", "statistics"])
@pytest.mark.parametrize(
    "name, dtype",
    [("sum", "float32"), ("sum", "bfloat16"), ("sum", "complex64"), ("product", "float32"), ("softmax", "float16")],
)
def test_a_twin_needs_little_more_memory_than_its_program(name: str, dtype: str, probe: Any) -> None:
    """By the compiler's own account; the arrays of a twin are those between its barriers."""
    programs = {
        "sum": lambda x: (jnp.sin(x) * 2).sum(),
        "product": lambda x: x @ x.T,
        "softmax": lambda x: jnp.exp(x - abs(x).max()) / jnp.exp(x - abs(x).max()).sum(),
    }
    shape = xs.ShapeDtypeStruct((1024, 1024), jnp.dtype(dtype))
    call = trace_call(programs[name], (shape,), {})
    size = 1024 * 1024 * np.dtype(dtype).itemsize
    twin = twin_executable(call, twin_of(call.traced.program, probe))
    own, more = (
        executable.compilation.executable.get_compiled_memory_stats() for executable in (call.executable(), twin)
    )
    values = sum(1 for _ in call.traced.program.jaxpr.raw)
    assert more.temp_size_in_bytes <= own.temp_size_in_bytes + min(values, 4) * size + MIB


LARGE = np.random.default_rng(1).normal(size=(4096, 4096)).astype(np.float32)  # 64 MiB
LARGE[17, 300] = np.nan


@pytest.mark.parametrize(
    "what",
    [
        lambda: measure_array(HostArray(LARGE)),
        lambda: read_slice(HostArray(LARGE), SliceRequest(0, 1, (0, 0), None, (80, 200))),
        lambda: read_slice(HostArray(LARGE), SliceRequest(1, 0, (0, 0), None, (80, 200))),
        lambda: read_slice(HostArray(LARGE.reshape(1, -1)), SliceRequest(0, 1, (0, 0), None, (1, 100))),
        lambda: measure_array(HostArray(LARGE.T)),
    ],
    ids=["statistics", "slice", "transposed slice", "one row", "strided statistics"],
)
def test_an_array_is_read_in_pieces(what: Callable[[], Any]) -> None:
    tracemalloc.start()
    try:
        what()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * CHUNK_SIZE


@pytest.mark.parametrize("room", [(1, 1), (80, 200), (10**6, 10**6)])
def test_what_is_sent_is_bounded(room: tuple[int, int]) -> None:
    array = np.broadcast_to(np.array([1.0, np.nan, np.inf, 2.0]), (3000, 4)).repeat(900, axis=1)
    answer, buffers = encode_slice(read_slice(HostArray(array), SliceRequest(0, 1, (0, 0), None, room)))
    rows, columns = answer["cells"]
    assert rows <= min(room[0], slices.MAX_ROWS) and columns <= min(room[1], slices.MAX_COLUMNS)
    assert sum(map(len, buffers)) == rows * columns * (3 * 8 + 2 * 4) and len(json.dumps(answer)) < 1000
