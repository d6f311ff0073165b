"""The compiler's plan of memory, read from its own bytes and checked against its own sums."""

import random
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.analysis.memory import live_buffers_at, live_bytes, peak_position
from xlascope.inspect.engine.traced_calls import trace_call
from xlascope.inspect.memory_text import allocated_bytes
from xlascope.readers.hlo.provenance import provenance_of
from xlascope.readers.hlo.text import read_module
from xlascope.readers.memory.buffer_assignment import read_buffers
from xlascope.readers.memory.wire_format import iter_fields
from xlascope.records import Compiled, MemoryUse


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def perceptron(params: Any, x: Any) -> Any:
    def loss(params: Any) -> Any:
        h = x
        for w in params:
            h = jnp.tanh(h @ w)
        return jnp.mean(h**2)

    return xs.tree_util.tree_map(lambda w, g: w - 0.1 * g, params, xs.grad(loss)(params))


def recurrent(w: Any, inputs: Any) -> Any:
    def loss(w: Any) -> Any:
        def cell(h: Any, x: Any) -> Any:
            h = jnp.tanh(h @ w + x)
            return h, h

        return jnp.mean(lax.scan(cell, jnp.zeros(inputs.shape[1:]), inputs)[1])

    return w - 0.1 * xs.grad(loss)(w)


def branching(p: Any, x: Any) -> Any:
    return lax.cond(p, lambda x: jnp.sin(x @ x).sum(), lambda x: (x @ x @ x).sum(), x)


PROGRAMS = {
    "perceptron": (perceptron, ([normal(64, 256), normal(256, 256), normal(256, 8)], normal(32, 64))),
    "recurrent": (recurrent, (normal(64, 64), normal(20, 16, 64))),
    "branching": (branching, (True, normal(64, 64))),
}


@pytest.fixture(params=PROGRAMS)
def compiled(request: pytest.FixtureRequest) -> Compiled:
    function, arguments = PROGRAMS[request.param]
    return inspect.memory(function, *arguments).records[-1]  # type: ignore[return-value]


def uses(compiled: Compiled) -> MemoryUse:
    assert compiled.memory is not None and compiled.memory.buffers
    return compiled.memory


def test_what_is_reserved_is_what_xla_says(compiled: Compiled) -> None:
    use = uses(compiled)
    tables = 8 * 64  # the addresses of tuples' parts are in XLA's sums, and no arrays
    by_kind = {
        kind: allocated_bytes(MemoryUse(0, 0, 0, 0, tuple(b for b in use.buffers if b.kind == kind))) for kind in KINDS
    }
    assert by_kind["argument"] == use.arguments
    assert use.outputs - tables <= by_kind["result"] <= use.outputs
    assert use.temporaries - tables <= by_kind["temporary"] <= use.temporaries
    # XLA's own peak leaves temporaries out on a CPU: it is the rest.
    assert use.peak - tables <= sum(by_kind.values()) - by_kind["temporary"] <= use.peak


KINDS = ("argument", "result", "constant", "temporary")


def test_what_lives_at_once_is_what_xla_made_room_for(compiled: Compiled) -> None:
    """XLA packs temporaries as densely as their lives allow: the most that our lives need at once is its size."""
    use = uses(compiled)
    temporaries = [buffer for buffer in use.buffers if buffer.kind == "temporary"]
    most = max(live_bytes(temporaries, len(compiled.kernels)), default=0)
    assert 0.95 * use.temporaries - 512 <= most <= use.temporaries


def test_arrays_that_share_a_place_are_one_or_never_live_together(compiled: Compiled) -> None:
    """Two arrays in one place at one time are a loop's carry, or an operand that is replaced in place by its user."""
    buffers = [b for b in uses(compiled).buffers if b.kind == "temporary"]
    for a in buffers:
        for b in buffers:
            apart = a.allocation != b.allocation or a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
            meet = min(a.last, b.last) - max(a.first, b.first)
            if a is not b and not apart and meet > 0:
                assert {a.offset, a.bytes} == {b.offset, b.bytes}, (a, b)


def test_the_peak_is_held_by_arrays_with_equations(compiled: Compiled) -> None:
    use = uses(compiled)
    live = live_bytes(use.buffers, len(compiled.kernels))
    peak = peak_position(live)
    held = live_buffers_at(use.buffers, peak)
    assert sum(each.bytes for each in held) == live[peak] == max(live)
    told = sum(each.bytes for each in held if each.equations or each.argument >= 0)
    assert told >= 0.9 * live[peak]


def test_a_donated_argument_is_reserved_once() -> None:
    x = jnp.ones((256, 256))
    plain = uses(inspect.memory(xs.jit(lambda x: x * 2.0), x).records[-1])  # type: ignore[arg-type]
    donated = uses(inspect.memory(xs.jit(lambda x: x * 2.0, donate_argnums=0), x).records[-1])  # type: ignore[arg-type]
    assert allocated_bytes(plain) == 2 * allocated_bytes(donated) == 2 * x.nbytes


def test_the_text_names_arguments_lines_and_sources() -> None:
    text = str(inspect.memory(perceptron, *PROGRAMS["perceptron"][1]))
    for said in ("needed at most, while", "params[1]", "test_memory.py:", "XLA's own peak", "argument", "in between"):
        assert said in text


def test_a_program_that_makes_nothing_has_a_plan() -> None:
    assert "needed at most" in str(inspect.memory(lambda x: x, jnp.ones(3)))


@pytest.fixture(scope="module")
def plan() -> tuple[bytes, bytes, Any]:
    executable = trace_call(recurrent, PROGRAMS["recurrent"][1], {}).executable().compilation.executable
    module = executable.hlo_modules()[0]
    stats = executable.get_compiled_memory_stats()
    text = read_module(module.to_string())
    return stats.serialized_buffer_assignment_proto, module.as_serialized_hlo_module_proto(), text


def test_damaged_bytes_are_refused_or_read_but_nothing_else(plan: tuple[bytes, bytes, Any]) -> None:
    assignment, proto, module = plan
    known = provenance_of(module)
    assert read_buffers(assignment, proto, module, known)
    dice = random.Random(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(assignment[: dice.randrange(len(assignment))])
        for _ in range(dice.randrange(4)):
            if damaged:
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            found = read_buffers(bytes(damaged), proto, module, known)
        except ValueError:
            refused += 1
        else:
            live_bytes(found, 60)
    assert refused > 50


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\x80", "inside a number"),
        (b"\x0a\x05ab", "3 bytes are missing"),
        (b"\x0b", "begins no field"),
        (b"\xff" * 12, "more than 64 bits"),
        (b"\x09\x00\x00", "bytes are missing"),
    ],
)
def test_messages_that_stop_say_where(data: bytes, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        list(iter_fields(data))
