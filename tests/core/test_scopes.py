"""Scopes that users name: where they are kept, and that names of equations stay what they are. And running at once."""

import re
import threading
from typing import Any

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.errors import UnexpectedTracerError
from xlascope.records import Traced, store, watch
from xlascope.records.op_names import equation_path, scoped_name


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


def test_traced_values_may_not_be_used_inside() -> None:
    def f(x: Any) -> Any:
        with xs.ensure_compile_time_eval():
            return jnp.sin(x)

    with pytest.raises(UnexpectedTracerError):
        xs.jit(f)(1.0)
    assert [e.primitive.name for e in xs.make_jaxpr(lambda x: jnp.sin(x))(1.0).eqns] == ["sin"]
