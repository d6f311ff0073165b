"""One value of a call computed again: in every kind of program, of every type, in the chosen iteration."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect, lax
from xlascope.inspect.engine.value_runs import twin_executable
from xlascope.inspect.producers import program_of
from xlascope.records import EquationPath

X = jnp.arange(1.0, 4.0)


def scanned(x: Any) -> Any:
    def body(carry: Any, add: Any) -> Any:
        moved = carry * 2.0 + add
        return moved, jnp.where(moved > 20.0, jnp.nan, moved)

    return lax.scan(body, x, jnp.arange(4.0))


def nested(x: Any) -> Any:
    def outer(carry: Any, _: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, y: y + i, carry), None

    return lax.scan(outer, x, None, length=5)[0]


def branched(x: Any) -> Any:
    return lax.cond(x[0] > 0, lambda y: y * 3.0, lambda y: y + 1.0, x)


def looped(x: Any) -> Any:
    return lax.while_loop(lambda y: y[0] < 50.0, lambda y: y * 2.0, x)


def drawn(x: Any) -> Any:
    keys = xs.random.split(xs.random.wrap_key_data(xs.random.key_data(xs.random.key(5))), 3)
    return xs.random.uniform(keys[1]) * x


def mixed(x: Any) -> Any:
    small, big = lax.top_k(x, 2)
    return small.astype(jnp.bfloat16), big * 2, (x > 2) | False, x.astype(jnp.complex64) * 1j


def value_of(function: Any, path: str, *, position: Any = "result", index: int = 0, at: tuple[int, ...] = ()) -> Any:
    host = program_of(function, (X,)).host
    return host.captured_value(EquationPath(path), position, index, at)


def path_of(function: Any, operation: str, number: int = 0) -> str:
    """Return the path of an operation in the program, the number-th of those."""
    equations = program_of(function, (X,)).record.jaxpr.walk()
    return str([equation.path for equation in equations if equation.operation == operation][number])


#: Function, operation, number of it, iterations, and the value of its result.
VALUES = {
    "plain": (lambda x: jnp.sin(x) * 2, "sin", 0, (), np.sin(X)),
    "jit": (lambda x: xs.jit(lambda y: jnp.sin(y) + 1)(x) * 2, "add", 0, (), np.sin(X) + 1),
    "a call itself": (lambda x: xs.jit(lambda y: jnp.sin(y) + 1)(x) * 2, "jit", 0, (), np.sin(X) + 1),
    "transparent": (lambda x: -jnp.sin(x) * 2, "neg", 0, (), -np.sin(X)),
    "scan, last": (scanned, "add", 0, (), [27.0, 43.0, 59.0]),
    "scan, first": (scanned, "add", 0, (0,), [2.0, 4.0, 6.0]),
    "scan, third": (scanned, "add", 0, (2,), [12.0, 20.0, 28.0]),
    "scan, from the end": (scanned, "add", 0, (-2,), [12.0, 20.0, 28.0]),
    "scan, beyond": (scanned, "add", 0, (99,), [27.0, 43.0, 59.0]),
    "scan, booleans": (scanned, "gt", 0, (2,), [False, False, True]),
    "the scan itself": (scanned, "scan", 0, (), [27.0, 43.0, 59.0]),
    "nested, last": (nested, "add", -1, (), [16.0, 17.0, 18.0]),
    "nested, chosen": (nested, "add", -1, (1, 1), [5.0, 6.0, 7.0]),
    "while": (looped, "mul", 0, (), [64.0, 128.0, 192.0]),
    "while, second": (looped, "mul", 0, (1,), [4.0, 8.0, 12.0]),
    "cond": (branched, "mul", 0, (), [3.0, 6.0, 9.0]),
    "grad": (xs.grad(lambda x: jnp.sin(x).sum()), "cos", 0, (), np.cos(X)),
    "vmap": (xs.vmap(lambda x: jnp.sin(x) * x), "sin", 0, (), np.sin(X)),
    "checkpoint": (xs.checkpoint(lambda x: jnp.sin(x) * 2), "sin", 0, (), np.sin(X)),
    "bfloat16": (mixed, "convert_element_type", 0, (), [3.0, 2.0]),
    "complex": (mixed, "mul", -1, (), np.asarray(X) * 1j),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_computed_again(name: str) -> None:
    function, operation, number, iterations, expected = VALUES[name]
    value = value_of(function, path_of(function, operation, number), at=iterations)
    np.testing.assert_allclose(np.asarray(value.array).astype(np.asarray(expected).dtype), expected, rtol=1e-6)


def test_operands_arguments_and_further_results() -> None:
    path = path_of(mixed, "top_k")
    assert value_of(mixed, path, index=1).array.tolist() == [2, 1]
    assert value_of(mixed, path, position="operand").array.tolist() == X.tolist()
    assert value_of(scanned, path_of(scanned, "add"), position="operand", index=1, at=(3,)).array.tolist() == 3.0
    assert value_of(scanned, path_of(scanned, "mul"), position="operand", index=1, at=(3,)).array.tolist() == 2.0
    arguments = program_of(mixed, (X,)).record.jaxpr
    assert value_of(mixed, "", position="argument", index=len(arguments.constants)).array is X


def test_keys_stay_keys() -> None:
    keys = value_of(drawn, path_of(drawn, "random_wrap", -1)).array
    assert inspect.look(keys).facts.distinct_keys == 3


def test_where_in_loops_it_is() -> None:
    assert value_of(scanned, path_of(scanned, "add"), at=(2,))[1:] == ((4,), (2,), 1)
    assert value_of(looped, path_of(looped, "mul"))[1:] == ((-1,), (), 1)
    assert value_of(looped, path_of(looped, "mul"), at=(-1,)).array.tolist() == [64.0, 128.0, 192.0]
    assert value_of(nested, path_of(nested, "add", -1), at=(1,)).iterations == ()


@pytest.mark.parametrize(
    "function, operation, number, options, words",
    [
        (branched, "add", 0, {}, "in a branch or a loop that did not run"),
        (looped, "mul", 0, {"at": (40,)}, "not computed in iteration 40"),
        (looped, "lt", 0, {}, "conditions of loops are not looked at"),
        (mixed, "top_k", 0, {"index": 2}, "no result 2 of an equation"),
        (mixed, "top_k", 0, {"index": 9, "position": "operand"}, "no operand 9 of an equation"),
    ],
)
def test_what_is_not_there_is_said(function: Any, operation: str, number: int, options: Any, words: str) -> None:
    with pytest.raises(inspect.QuestionError, match=words):
        value_of(function, path_of(function, operation, number), **options)


@pytest.mark.parametrize("path", ["99", "0/3/1", "4/2.0"])
def test_an_unknown_path_is_said(path: str) -> None:
    with pytest.raises(inspect.QuestionError, match=f"no result 0 of an equation {path}"):
        value_of(mixed, path)


def test_a_large_value_is_refused_before_it_is_computed() -> None:
    host = program_of(lambda x: jnp.outer(x, x) + 1, (X,)).host
    with pytest.raises(inspect.QuestionError, match="return a slice of it, and look at that"):
        host.captured_value(EquationPath("2"), "result", 0, (), 35)


def test_asking_again_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    executables = []
    capture = sys.modules["xlascope.inspect.engine.value_capture"]
    monkeypatch.setattr(
        capture,
        "twin_executable",
        lambda *arguments: executables.append(twin_executable(*arguments)) or executables[-1],
    )
    function = xs.jit(scanned)
    path = EquationPath(path_of(function, "add"))
    for shift in range(4):
        program_of(function, (X + shift,)).host.captured_value(path, "result", 0, (1,))
    assert len({id(executable) for executable in executables}) == 1


SHARDED = """
import numpy as np, xlascope as xs, xlascope.numpy as jnp
from xlascope.inspect.producers import program_of
from xlascope.records import EquationPath
spec = xs.sharding.PartitionSpec("x")
inner = lambda x: jnp.sin(x) * 2
function = xs.jit(xs.shard_map(inner, mesh=xs.make_mesh((2,), ("x",)), in_specs=spec, out_specs=spec))
x = jnp.arange(6.0)
program = program_of(function, (x,))
path = next(e.path for e in program.record.jaxpr.walk() if e.operation == "sin")
value = program.host.captured_value(path, "result", 0)
assert value.devices == 2 and np.allclose(value.array, np.sin(x).reshape(2, 3)), value
print("right")
"""


def test_of_each_device_of_a_shard_map() -> None:
    environment = os.environ | {"XLASCOPE_NUM_CPU_DEVICES": "2"}
    run = subprocess.run([sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True)
    assert run.stdout == "right\n", run.stderr
