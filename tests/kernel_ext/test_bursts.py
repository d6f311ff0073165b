"""Cells that do very much: few messages, no gap in them, the last state complete, and the kernel idle at the end."""

from typing import Any

import pytest

BURSTS = {
    "10,000 calls": ("for _ in range(10_000): w = update(w, x)", 1),
    "10,000 single operations": ("for n in range(10_000): y = jnp.sin(x) + n", 2),
    "60 functions": ("for n in range(60): y = xs.jit(lambda x, n=n: x * n)(x)", 60),
    "calls in calls": (
        "for f in [xs.jit(lambda x, n=n: update(w, x) * n) for n in range(8)]:\n    for _ in range(200): y = f(x)",
        8,
    ),
}


SLOW = {
    "300 functions": ("for n in range(300): y = xs.jit(lambda x, n=n: x * n)(x)", 300),
    "600 kinds of single operations": ("for n in range(2, 602): jnp.ones(n) + 1.0", 600),
}


@pytest.mark.parametrize("name", [*BURSTS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_bursts(kernel: Any, name: str) -> None:
    code, programs = (BURSTS | SLOW)[name]
    output = kernel.run(code)
    assert not output.of("error")
    assert output.messages[-1][1:] == ("status", {"execution_state": "idle"})
    assert len(output.messages) < 20 + 15 * output.messages[-1][0]
    states = [live["seq"] for live in output.live]
    assert states == sorted(set(states))
    last = output.live[-1]
    assert last["finished"] and len(last["programs"]) + last["more"] >= programs
    assert len(last["programs"]) <= 40


def test_all_calls_are_counted(kernel: Any) -> None:
    output = kernel.run(BURSTS["10,000 calls"][0])
    assert output.live[-1]["programs"][0]["executed"]["calls"] == 10_000


def test_the_code_is_not_sent_again(kernel: Any) -> None:
    output = kernel.run("y = update(w, x)")
    opened = [content for content in output.of("comm_open") if "_esm" in content["data"]["state"]]
    (panel,) = opened
    assert len(panel["data"]["state"]["_esm"]) < 2_000 and not panel["data"]["state"].get("_css")


def test_it_was_sent_once(new_kernel: Any) -> None:
    loaded = new_kernel.run("%load_ext xlascope").of("comm_open")
    assert [each["data"]["state"].get("is_library") for each in loaded if "_esm" in each["data"]["state"]] == [True]
    code = "import xlascope as xs\ny = xs.jit(lambda x: x + 1)(1.0)"
    assert not [each for each in new_kernel.run(code).of("comm_open") if each["data"]["state"].get("is_library")]
