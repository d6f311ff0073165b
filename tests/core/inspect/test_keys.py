"""Programs that take and give typed keys: every question has an answer, and the key its size."""

from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax, random
from xlascope.records import Compiled, Traced

W = np.ones((32, 8), np.float32)


def noisy(w: Any, keys: Any) -> Any:
    first, second = random.split(keys[0])
    hidden = jnp.tanh(random.normal(first, (16, 32)) @ w)
    total, kept = lax.scan(lambda c, k: (c + random.uniform(k), random.fold_in(k, 1)), 0.0, random.split(second, 5))
    return hidden.sum() + total, kept


def record(found: inspect.Inspection, kind: type[Any]) -> Any:
    return next(each for each in found.records if isinstance(each, kind))


@pytest.fixture(scope="module")
def keys() -> Any:
    return random.split(random.key(0), 4)


def test_types_and_sizes(keys: Any) -> None:
    traced = record(inspect.explore(noisy, W, keys), Traced)
    variable = traced.jaxpr.variables[traced.jaxpr.inputs[1]]
    assert (variable.type_text, variable.bytes) == ("key<fry>[4]", 32)
    assert "scan" in {equation.operation for equation in traced.jaxpr.equations}


def test_what_was_fused_has_its_equations(keys: Any) -> None:
    found = inspect.fusions(noisy, W, keys)
    of_program = {equation.path: equation.operation for equation in record(found, Traced).jaxpr.walk()}
    fused = {path for kernel in record(found, Compiled).kernels for path in kernel.equations}
    assert fused <= of_program.keys()
    assert {"threefry2x32", "dot_general", "tanh"} <= {of_program[path] for path in fused}


def test_timings_of_donated_keys(keys: Any) -> None:
    donating = xs.jit(noisy, donate_argnums=1)
    assert "per call" in inspect.timings(donating, W, keys).text
    assert not keys.is_deleted()


def test_one_thing_changed(keys: Any) -> None:
    types = []
    for change in ({"dtype": "bfloat16"}, {"batch": {"keys": 6}}):
        found = inspect.what_if(noisy, W, keys, change=change, timings=False)
        after = next(each.jaxpr for each in found.diff.after if isinstance(each, Traced))
        types.append([after.variables[name].type_text for name in after.inputs])
    assert types == [["bf16[32,8]", "key<fry>[4]"], ["f32[32,8]", "key<fry>[6]"]]
