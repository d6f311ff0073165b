"""Scopes that users name: where they are kept, and that names of equations stay what they are. And running at once."""

import re
import threading
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.errors import TracerBoolConversionError
from xlascope.records import Traced, store, watch
from xlascope.records.op_names import equation_path, scoped_name
from xlascope.trace.state import STATE


def layer(x: Any) -> Any:
    with xs.named_scope("layer"):
        y = jnp.sin(x)
        with xs.named_scope("norm"):
            return y * 2.0


@xs.named_scope("decorated")
def decorated(x: Any) -> Any:
    return jnp.cos(layer(x))


def scopes(function: Any, *operands: Any) -> list[tuple[str, str]]:
    return [(e.primitive.name, e.scope) for e in xs.make_jaxpr(function)(*operands).eqns]


SCOPES = {
    "with": (layer, [("sin", "layer"), ("mul", "layer/norm")]),
    "decorator": (decorated, [("sin", "decorated/layer"), ("mul", "decorated/layer/norm"), ("cos", "decorated")]),
    "call": (xs.named_call(layer, name="call"), [("sin", "call/layer"), ("mul", "call/layer/norm")]),
    "call by its own name": (xs.named_call(jnp.tanh), [("tanh", "tanh")]),
    "none": (lambda x: jnp.sin(x), [("sin", "")]),
    "empty": (xs.named_scope("")(lambda x: jnp.sin(x)), [("sin", "")]),
    "after": (lambda x: jnp.exp(layer(x)), [("sin", "layer"), ("mul", "layer/norm"), ("exp", "")]),
    "a call": (xs.named_scope("outside")(xs.jit(layer)), [("jit", "outside")]),
    "inlined": (
        xs.named_scope("outside")(xs.jit(lambda x: jnp.sin(x), inline=True)),
        [("sin", "outside")],
    ),
    "jvp": (
        lambda x: xs.jvp(layer, (x,), (x,)),
        [("sin", "layer"), ("cos", "layer"), ("mul", "layer"), ("mul", "layer/norm"), ("mul", "layer/norm")],
    ),
    "grad": (
        xs.grad(layer),
        [("sin", "layer"), ("cos", "layer"), ("mul", "layer/norm"), ("mul", "layer/norm"), ("mul", "layer")],
    ),
    "vmap": (lambda x: xs.vmap(layer)(x[None]), [("broadcast_in_dim", ""), ("sin", "layer"), ("mul", "layer/norm")]),
}


@pytest.mark.parametrize("row", SCOPES)
def test_equations_know_their_scopes(row: str) -> None:
    function, wanted = SCOPES[row]
    found = scopes(function, jnp.float32(1.0))
    assert found == wanted


def test_bodies_of_loops_have_scopes_of_their_own() -> None:
    with xs.named_scope("outside"):
        (scan,) = xs.make_jaxpr(lambda x: lax.scan(lambda c, _: (layer(c), None), x, None, length=3)[0])(1.0).eqns
    assert scan.scope == ""  # the scope was left when the trace began
    assert [e.scope for e in scan.params["jaxpr"].eqns] == ["layer", "layer/norm"]


def test_a_scope_is_left_when_something_is_raised() -> None:
    with pytest.raises(ZeroDivisionError), xs.named_scope("broken"):
        raise ZeroDivisionError
    assert scopes(lambda x: jnp.sin(x), 1.0) == [("sin", "")]


def test_a_decorated_function_may_call_itself_and_run_on_threads() -> None:
    @xs.named_scope("f")
    def f(x: Any, depth: int) -> Any:
        return jnp.sin(x) if depth == 0 else f(x, depth - 1)

    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(scopes(lambda x: f(x, 2), 1.0)[0][1])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["f/f/f"] * 4
    assert f.__name__ == "f"


@pytest.mark.parametrize("name", [3, None, b"x"])
def test_a_scope_has_a_string_as_name(name: Any) -> None:
    with pytest.raises(TypeError, match="named_scope takes a string as name"):
        xs.named_scope(name)


def test_equations_in_scopes_keep_their_lines() -> None:
    eqn, *_ = xs.make_jaxpr(layer)(1.0).eqns
    code, lasti = eqn.source_info
    assert code is layer.__code__
    assert lasti > 0
    plain, *_ = xs.make_jaxpr(lambda x: jnp.sin(x))(1.0).eqns
    assert plain.origin is None  # nothing is kept where no scope is open


TRICKY = ["e3", "b1", "(e3)", "e", "jit(f)", "a b", 'quo"te', "ünï", "e3/b1/x", "/", "e12/"]


@pytest.mark.parametrize("name", TRICKY)
def test_no_name_of_a_scope_is_taken_for_an_equation(name: str) -> None:
    def f(x: Any) -> Any:
        y = jnp.cos(x)
        with xs.named_scope(name):
            return xs.jit(lambda y: jnp.sin(y) * y)(y)

    compiled = xs.jit(f).lower(jnp.ones(3)).compile().as_text()
    names = re.findall(r'op_name="((?:[^"\\]|\\.)*)"', compiled)
    found = {
        each.rpartition("/")[2]: equation_path(each)
        for each in names
        if each.rpartition("/")[2] in ("sin", "cos", "mul")
    }
    assert found == {"cos": "0", "sin": "1/0", "mul": "1/1"}
    assert equation_path(scoped_name("jit(f)/e1/jit(g)/b2/", name, "e7")) == "1/2.7"


def test_names_in_the_compiled_program_sort_by_scope() -> None:
    compiled = xs.jit(decorated).lower(1.0).compile().as_text()
    assert 'op_name="jit(decorated)/decorated/layer/norm/e1/mul"' in compiled


def test_records_show_scopes_and_old_records_are_read() -> None:
    found: list[Any] = []
    with watch(found.append):
        xs.jit(lambda x: decorated(x)).trace(1.0)
    (record,) = [r for r in found if isinstance(r, Traced)]
    assert [e.scope for e in record.jaxpr.equations] == ["decorated/layer", "decorated/layer/norm", "decorated"]
    data = store.to_json(record)
    assert store.from_json(data) == record
    for equation in data["jaxpr"]["equations"]:
        del equation["scope"]  # as written before there were scopes
    older = store.from_json(data)
    assert isinstance(older, Traced)
    assert {e.scope for e in older.jaxpr.equations} == {""}


# Running at once ----------------------------------------------------------------------------------------------------


def test_values_are_known_inside() -> None:
    def f(x: Any) -> Any:
        with xs.ensure_compile_time_eval():
            table = jnp.sin(jnp.arange(3.0))
            assert float(table[0]) == 0.0
            assert isinstance(xs.jit(lambda y: y + 1)(2.0), xs.Array)
        return x * table

    for run in (f, xs.jit(f), xs.jit(xs.vmap(f)), xs.jit(xs.grad(lambda x: f(x).sum()))):
        run(np.ones((3,), np.float32))
    assert [e.primitive.name for e in xs.make_jaxpr(f)(np.float32(1.0)).eqns] == ["mul"]


def _inside(function: Any) -> Any:
    def run(*args: Any) -> Any:
        with xs.ensure_compile_time_eval():
            return function(*args)

    return run


#: Functions of a number that mix known and traced values.
MIXED = {
    "a product": lambda x: x * int(jnp.arange(3).sum()),
    "nothing known": jnp.sin,
    "known indices": lambda x: jnp.stack([x, x + 1])[jnp.arange(2)[::-1]],
    "random numbers": lambda x: x * float(xs.random.uniform(xs.random.split(xs.random.key(0))[1])),
    "jit": lambda x: xs.jit(lambda a: a * 2)(x) + float(xs.jit(lambda a: a * 2)(3.0)),
    "grad of a known number": lambda x: x * float(xs.grad(lambda y: y**3)(2.0)),
    "grad": lambda x: xs.grad(lambda y: jnp.sum(y**2 * x))(2.0) + xs.grad(lambda y: y**2)(x),
    "vmap": lambda x: xs.vmap(lambda a: a * x)(jnp.arange(3.0)),
    "scan": lambda x: lax.scan(lambda c, a: (c + a * x, c), 0.0, jnp.arange(3.0)),
    "while": lambda x: x * int(lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0)),
    "cond": lambda x: lax.cond(x > 0, lambda a: a, lambda a: -a, x),
    "an update": lambda x: jnp.zeros(3).at[1].set(x),
    "a rule": lambda x: xs.nn.relu(x) + float(xs.nn.relu(3.0)),
    "inside again": _inside(lambda x: x * int(jnp.arange(3).sum())),
}


_UNIFORM = float(xs.random.uniform(xs.random.split(xs.random.key(0))[1]))
#: The same functions where known values are written as numbers, since float() of them fails outside.
OUTSIDE: dict[str, Any] = {
    "a product": lambda x: x * 3,
    "random numbers": lambda x: x * _UNIFORM,
    "jit": lambda x: xs.jit(lambda a: a * 2)(x) + 6.0,
    "grad of a known number": lambda x: x * 12.0,
    "while": lambda x: x * 3,
    "a rule": lambda x: xs.nn.relu(x) + 3.0,
    "inside again": lambda x: x * 3,
}


@pytest.mark.parametrize("row", MIXED)
def test_traced_values_are_traced_as_outside(row: str) -> None:
    function = MIXED[row]

    def total(f: Any) -> Any:
        return lambda x: sum(jnp.sum(y) for y in xs.tree.leaves(f(x)))

    ways: list[Any] = [
        lambda f: xs.jit(f)(2.0),
        lambda f: xs.grad(total(f))(2.0),
        lambda f: xs.vmap(xs.grad(total(f)))(jnp.arange(1.0, 3.0)),
        lambda f: lax.scan(lambda c, x: (c, f(x)), 0.0, jnp.arange(1.0, 3.0))[1],
    ]
    for way in ways:
        results = [xs.tree.leaves(way(f)) for f in (_inside(function), OUTSIDE.get(row, function))]
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert STATE.trace is None


def test_what_is_known_is_no_equation() -> None:
    def names(f: Any) -> list[str]:
        return [e.primitive.name for e in xs.make_jaxpr(f)(1.0).eqns]

    assert names(_inside(lambda x: x * jnp.arange(3).sum())) == ["mul"]
    assert names(_inside(lambda x: jnp.sin(x))) == ["sin"]
    with pytest.raises(TracerBoolConversionError):
        xs.jit(_inside(lambda x: 1.0 if x > 0 else 2.0))(1.0)
    assert xs.grad(_inside(lambda x: x * 2.0 if x > 0 else x))(1.0) == 2.0
