"""The doctor on programs that run: measured whole, in a script, with nothing to find on healthy ones."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.analysis.doctor import calls, loops
from xlascope.records import Diagnosis

from .conftest import make_step


def normal(*shape: int) -> Any:
    return xs.random.normal(xs.random.key(0), shape)


def rules_of(function: Callable[..., Any], *arguments: Any) -> list[str]:
    return [each.rule for each in inspect.doctor(xs.jit(function), *arguments).diagnosis.findings]


def test_a_sick_call_as_text_and_records() -> None:
    found = inspect.doctor(xs.jit(lambda values: jnp.sort(values)[-3:]), normal(100_000))
    (finding,) = found.diagnosis.findings
    assert finding.rule == "sorted for few" and finding.kernel and finding.share > 0.9 and finding.source is not None
    assert "100,000 values are sorted to keep 3" in found.text and f"test_doctor.py:{finding.source.line}" in found.text
    assert isinstance(found.records[-1], Diagnosis)
    assert json.loads(json.dumps(found.to_json()))["records"][-1]["findings"][0]["rule"] == "sorted for few"


def test_arguments_that_every_call_copies() -> None:
    batch = np.ones((4096, 2048), np.float32)
    (finding,) = inspect.doctor(xs.jit(lambda batch: batch[0] * 2.0), batch).diagnosis.findings
    assert finding.rule == "copied arguments" and "batch is a NumPy array of 33.6 MB" in finding.sentence
    assert rules_of(lambda batch: batch[0] * 2.0, jnp.asarray(batch)) == []


def test_traced_again_and_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MIN_LOST_SECONDS", 0.0)
    with inspect.watch_recompiles():
        again = xs.jit(lambda tokens: jnp.tanh(tokens @ tokens.T).sum())
        for n in range(2, 8):
            again(jnp.ones((n, 3)))
        for _ in range(6):
            made = xs.jit(lambda x: jnp.cos(x @ x).sum())
            made(jnp.ones((3, 3)))
        first = inspect.doctor(again, jnp.ones((2, 3)))
        second = inspect.doctor(made, jnp.ones((3, 3)))
    assert "was traced again 5 times" in first.text and "f32[6,3] → f32[7,3]" in first.text
    assert "was traced again 5 times" in second.text and "new function object" in second.text
    assert "new function object" not in first.text and "f32[6,3]" not in second.text


def test_a_call_of_shapes_is_not_run() -> None:
    found = inspect.doctor(lambda x: jnp.sin(x), xs.ShapeDtypeStruct((4,), jnp.float32))
    assert not found.diagnosis.findings and "not run: there are shapes" in found.text


def test_a_training_step_is_well() -> None:
    step = make_step()
    assert inspect.doctor(step.update, *step.arguments).diagnosis.findings == ()


def attention(q: Any, k: Any, v: Any) -> Any:
    weights = xs.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k) / 8.0)
    return jnp.einsum("bhts,bshd->bthd", weights, v)


def lstm(w: Any, xs_: Any) -> Any:
    def cell(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ w, 4)
        c = xs.nn.sigmoid(f) * c + xs.nn.sigmoid(i) * jnp.tanh(g)
        h = xs.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jnp.sum(lax.scan(cell, (jnp.zeros(64), jnp.zeros(64)), xs_)[1])


def bodies(x: Any, v: Any) -> Any:
    apart = x[:, None] - x[None]
    force = jnp.sum(apart / (jnp.sum(apart**2, -1, keepdims=True) + 0.01) ** 1.5, 1)
    return x + 0.01 * v, v - 0.01 * force


def spectrum(x: Any) -> Any:
    return jnp.abs(jnp.fft.rfft(x * jnp.hanning(x.shape[-1])))


def kalman(a: Any, p: Any, h: Any, z: Any) -> Any:
    p = a @ p @ a.T
    gain = jnp.linalg.solve(h @ p @ h.T + jnp.eye(h.shape[0]), h @ p).T
    return p - gain @ h @ p, gain @ z


def convolved(x: Any, w: Any) -> Any:
    return jnp.sum(xs.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME")) ** 2)


#: What is measured depends on what else the machine does: a finding that is there, or is not, stays so.
TRIES = 4
HEALTHY = {
    "attention": lambda: (xs.grad(lambda q: jnp.sum(attention(q, q, q))), (normal(4, 128, 4, 32),)),
    "lstm": lambda: (xs.grad(lstm), (normal(128, 256) * 0.1, normal(100, 64))),
    "bodies": lambda: (bodies, (normal(512, 3), normal(512, 3))),
    "spectrum": lambda: (spectrum, (normal(64, 4096),)),
    "kalman": lambda: (kalman, (normal(64, 64) * 0.1, jnp.eye(64), normal(16, 64), normal(16))),
    "convolution": lambda: (xs.grad(convolved, argnums=1), (normal(8, 16, 32, 32), normal(32, 16, 3, 3))),
    "embedding": lambda: (lambda k, table: jnp.sum(table[k]), (jnp.arange(50_000) % 4096, normal(4096, 64))),
    "median": lambda: (jnp.median, (normal(100_000),)),
    "chain": lambda: (lambda x: jnp.tanh(jnp.sin(x) * jnp.exp(-x * x)), (normal(1_000_000),)),
    "transposed": lambda: (lambda x: x.T + 1.0, (normal(1024, 1024),)),
    "eigenvalues": lambda: (jnp.linalg.eigvalsh, (normal(64, 64),)),
    "monte carlo": lambda: (lambda key: jnp.mean(xs.random.normal(key, (1_000_000,)) ** 2), (xs.random.key(1),)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_program_has_no_finding(name: str) -> None:
    function, arguments = HEALTHY[name]()
    for _ in range(TRIES):
        found = inspect.doctor(xs.jit(function), *arguments)
        if not found.diagnosis.findings:
            return
    raise AssertionError(found.text)


SICK = {
    "product order": lambda: (lambda a, v: (a @ a) @ v, (normal(768, 768), normal(768))),
    "one-hot product": lambda: (lambda k, table: xs.nn.one_hot(k, 4096) @ table, (jnp.arange(1024), normal(4096, 64))),
    "one by one": lambda: (lambda x: lax.map(lambda row: jnp.tanh(x[:64] @ row), x), (normal(512, 64),)),
    "unrolled loop": lambda: (
        lambda x: jnp.sum(_rounds(x)),
        (normal(1000),),
    ),
}


def _rounds(x: Any) -> Any:
    for _ in range(120):
        x = jnp.sin(x) * 0.5 + x
    return x


@pytest.mark.slow
@pytest.mark.parametrize("name", SICK)
def test_a_sick_program_has_its_finding(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MIN_BUILD_SECONDS", 0.0)
    function, arguments = SICK[name]()
    assert any(name in rules_of(function, *arguments) for _ in range(TRIES))
