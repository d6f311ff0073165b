"""Every way to miss a cache, with the reason and the fix that it has to report."""

import dataclasses
import functools
import logging
import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import random, records
from xlascope.settings import setting

KEY = random.key(0)


class Case(NamedTuple):
    """Two calls of a jitted function, of which the second cannot use what the first made."""

    name: str
    jitted: Callable[[], Any]
    first: Callable[[Any], Any]
    second: Callable[[Any], Any]
    reason: str
    fix: str


class Plain:
    """A static value that compares by identity."""

    def __repr__(self) -> str:
        return "Plain()"


@dataclasses.dataclass(frozen=True)
class Frozen:
    size: int


@functools.partial(xs.tree_util.register_dataclass, data_fields=["w"], meta_fields=["act", "size"])
@dataclasses.dataclass
class Layer:
    """A pytree with static fields."""

    w: Any
    act: Any
    size: int


class Model:
    """A pytree of a class that says itself what is static."""

    def __init__(self, w, static):
        self.w, self.static = w, static


xs.tree_util.register_pytree_node(
    Model, lambda model: ((model.w,), model.static), lambda static, leaves: Model(leaves[0], static)
)


class Optimizer(NamedTuple):
    """Functions in the static data of a pytree."""

    init: Any
    update: Any


def new_function():
    return lambda x: x


def a_deep_model():
    return Model(1.0, (("rate", 0.1), ("optimizer", Optimizer(abs, new_function()))))


Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


def identity(x):
    return x


def scaled(x, n=1):
    return x


def both(x, y=None):
    return x


def of(function, **options):
    """Makes a jitted function that nobody has called yet."""
    return functools.partial(_fresh, function, options)


def _fresh(function, options):
    """A jitted function that nobody has called yet, with the same parameters."""
    made = functools.wraps(function)(lambda *args, **kwargs: function(*args, **kwargs))
    return xs.jit(made, **options)


THREE = np.arange(3, dtype=np.float32)

CASES = [
    Case("shape", of(identity), lambda f: f(jnp.zeros(3)), lambda f: f(jnp.zeros(4)), "x: f32[3] → f32[4]", "Pad"),
    Case(
        "rank", of(identity), lambda f: f(jnp.zeros(3)), lambda f: f(jnp.zeros((1, 3))), "x: f32[3] → f32[1,3]", "axes"
    ),
    Case("dtype", of(identity), lambda f: f(jnp.zeros(3)), lambda f: f(jnp.zeros(3, int)), "f32[3] → i32[3]", "dtype"),
    Case("weak", of(identity), lambda f: f(1.0), lambda f: f(jnp.float32(1)), "x: f32[] (weak) → f32[]", "jnp.asarray"),
    Case("number", of(identity), lambda f: f(1.0), lambda f: f(1), "x: f32[] (weak) → i32[] (weak)", "dtype"),
    Case("truth", of(identity), lambda f: f(1), lambda f: f(True), "x: i32[] (weak) → bool[]", "dtype"),
    Case(
        "static field",
        of(identity),
        lambda f: f([Layer(1.0, "relu", 3)]),
        lambda f: f([Layer(1.0, "relu", 4)]),
        "x[0] (static data of Layer): size: 3 → 4",
        "Static data of Layer",
    ),
    Case(
        "static function",
        of(identity),
        lambda f: f(x={"a": Layer(1.0, new_function(), 3)}),
        lambda f: f(x={"a": Layer(1.0, new_function(), 3)}),
        "x['a'] (static data of Layer): act: <function new_function.<locals>.<lambda>",
        "create it once",
    ),
    Case(
        "static data, deep",
        of(identity),
        lambda f: f(a_deep_model()),
        lambda f: f(a_deep_model()),
        "x (static data of Model): [1].optimizer.update: <function new_function",
        "create it once",
    ),
    Case(
        "static object",
        of(identity),
        lambda f: f(Model(1.0, Plain())),
        lambda f: f(Model(1.0, Plain())),
        "x (static data of Model): Plain() → another object",
        "Plain compares by identity",
    ),
    Case(
        "static data and more",
        of(identity),
        lambda f: f(Model(1.0, 1)),
        lambda f: f(Model([1.0], 2)),
        "the structure of the arguments changed: x: ",
        "same containers",
    ),
    Case(
        "leaf",
        of(identity),
        lambda f: f({"w": 1.0}),
        lambda f: f({"w": jnp.zeros(2)}),
        "x['w']: f32[] (weak) → f32[2]",
        "axes",
    ),
    Case(
        "two leaves",
        of(both),
        lambda f: f(1.0, 1.0),
        lambda f: f(1, 1),
        "x: f32[] (weak) → i32[] (weak); y: f32",
        "dtype",
    ),
    Case("key", of(identity), lambda f: f({"a": 1.0}), lambda f: f({"b": 1.0}), "x: {'a': *} → {'b': *}", "containers"),
    Case(
        "more keys",
        of(identity),
        lambda f: f({"a": 1.0}),
        lambda f: f({"a": 1.0, "b": 1.0}),
        "{'a': *, 'b': *}",
        "containers",
    ),
    Case("container", of(identity), lambda f: f([1.0]), lambda f: f((1.0,)), "x: [*] → (*,)", "containers"),
    Case(
        "named tuple", of(identity), lambda f: f(Point(1.0, 2.0)), lambda f: f(Other(1.0, 2.0)), "Point", "containers"
    ),
    Case("None", of(both), lambda f: f(1.0, 2.0), lambda f: f(1.0, None), "y: * → None", "containers"),
    Case("left out", of(both), lambda f: f(1.0, 2.0), lambda f: f(1.0), "y is gone", "same way"),
    Case("by name", of(both), lambda f: f(1.0, 2.0), lambda f: f(1.0, y=2.0), "by name", "same way"),
    Case(
        "static",
        of(scaled, static_argnums=1),
        lambda f: f(1.0, 2),
        lambda f: f(1.0, 3),
        "the static argument n: 2 → 3",
        "program of its own",
    ),
    Case(
        "static by name",
        of(scaled, static_argnames="n"),
        lambda f: f(1.0, n="a"),
        lambda f: f(1.0, n="b"),
        "the static argument n: 'a' → 'b'",
        "program of its own",
    ),
    Case(
        "static left out",
        of(scaled, static_argnames="n"),
        lambda f: f(1.0),
        lambda f: f(1.0, n=3),
        "n: (not given) → 3",
        "program of its own",
    ),
    Case(
        "static identity",
        of(scaled, static_argnums=1),
        lambda f: f(1.0, Plain()),
        lambda f: f(1.0, Plain()),
        "n: Plain() → Plain()",
        "define __eq__ and __hash__",
    ),
    Case(
        "static lambda",
        of(scaled, static_argnums=1),
        lambda f: f(1.0, lambda: 1),
        lambda f: f(1.0, lambda: 1),
        "n: <function",
        "same function object",
    ),
    Case(
        "static dataclass",
        of(scaled, static_argnums=1),
        lambda f: f(1.0, Frozen(1)),
        lambda f: f(1.0, Frozen(2)),
        "Frozen(size=1) → Frozen(size=2)",
        "program of its own",
    ),
    Case(
        "setting",
        of(identity),
        lambda f: f(THREE),
        lambda f: _with_x64(f),
        "a setting changed",
        "before the first call",
    ),
]


def _with_x64(f):
    with xs.enable_x64():
        return f(THREE)


def traced(run: Callable[[], Any], kind: type = records.Traced) -> list[Any]:
    """The records of that kind that a piece of a program makes."""
    seen: list[Any] = []
    with records.watch(seen.append):
        run()
    return [
        each for each in seen if isinstance(each, kind) and each.function in ("identity", "both", "scaled", "<lambda>")
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_retrace_names_what_differs_and_the_fix(case):
    function = case.jitted()
    case.first(function)
    (record,) = traced(lambda: case.second(function))
    assert case.reason in record.reason
    assert case.fix in record.fix
    assert record.call_site is not None and record.call_site.file == __file__
    assert record.seconds > 0


def test_a_first_call_is_told_as_such_and_needs_no_fix():
    (record,) = traced(lambda: xs.jit(lambda x: x)(1.0))
    assert (record.reason, record.fix) == ("first call", "")


@pytest.mark.parametrize(
    "draw",
    [
        lambda shape: random.normal(KEY, shape),
        lambda shape: random.uniform(KEY, shape),
        lambda shape: random.split(KEY, math.prod(shape)),
        lambda shape: jnp.linalg.norm(jnp.ones(shape)),
        lambda shape: jnp.median(jnp.ones(shape)),
        lambda shape: xs.nn.softmax(jnp.ones(shape)),
    ],
    ids=["normal", "uniform", "split", "norm", "median", "softmax"],
)
def test_functions_of_the_library_raise_no_alarm(draw):
    """Weights of four shapes are correct code, and what traces them is nothing that the user can change."""
    seen = []
    with records.watch(seen.append):
        for shape in ((2, 3), (3, 4), (2, 3), (4, 5), (5, 6)):
            draw(shape)
    assert [record.fix for record in seen if isinstance(record, records.Traced | records.Missed) and record.fix] == []
    assert {record.origin for record in seen if isinstance(record, records.Traced)} == {"operation"}
    begun = {record.function for record in seen if isinstance(record, records.Started) and record.stage == "trace"}
    assert begun and not any(name.startswith("_") for name in begun), "what a strip says while it is traced"


def test_a_function_of_the_library_that_cannot_be_traced_is_named_without_underscore():
    seen = []
    with records.watch(seen.append), pytest.raises(ValueError, match=r"linalg\.solve"):
        jnp.linalg.solve(jnp.ones((3, 4)), jnp.ones(3))
    assert {record.function for record in seen if isinstance(record, records.Failure)} == {"solve"}


def test_a_function_of_the_user_keeps_its_underscore():
    def _step(x):
        return x * 2

    seen = []
    with records.watch(seen.append):
        xs.jit(_step)(1.0)
    assert {record.function for record in seen} == {"_step"}


def test_methods_and_callable_objects_of_the_user_have_a_fix():
    class Model:
        def step(self, x):
            return x * 2

        def __call__(self, x):
            return x * 3

    for function in (xs.jit(Model().step), xs.jit(Model())):
        seen = []
        with records.watch(seen.append):
            for x in (1.0, jnp.ones(3)):
                function(x)
        assert [bool(record.fix) for record in seen if isinstance(record, records.Traced)][-1]


def test_the_nearest_earlier_call_is_compared_with():
    function = of(identity)()
    for x in (1.0, jnp.zeros(3), jnp.zeros((2, 2), int)):
        function(x)
    (record,) = traced(lambda: function(jnp.zeros(5)))
    assert record.reason == "x: f32[3] → f32[5]"


def test_a_function_made_again_in_a_loop_is_recognized():
    def calls():
        for i in range(3):
            xs.jit(lambda x: x + i)(1.0)  # noqa: B023  (what users write, and what is wrong with it)

    found = traced(calls)
    assert [r.reason.split(":")[0] for r in found[1:]] == ["<lambda> is a new function object"] * 2
    assert "the 3rd made from the code at" in found[2].reason
    assert "outside of the loop" in found[2].fix


def test_a_partial_made_again_is_recognized():
    found = traced(lambda: [xs.jit(functools.partial(scaled, n=2))(1.0) for _ in range(2)])
    assert "new function object" in found[-1].reason


def test_a_transformation_made_again_is_recognized_and_others_are_not_taken_for_it():
    def calls():
        for transform in (xs.grad, xs.jacfwd, xs.jacrev, xs.hessian):
            xs.jit(transform(identity))(1.0)
        xs.jit(xs.grad(lambda x: 2 * x))(1.0)
        xs.jit(xs.grad(identity))(1.0)

    *others, again = [r.reason for r in traced(calls)]
    assert set(others) == {"first call"}
    assert again.startswith("a transformed identity is a new function object: the 2nd made from the code at ")
    assert "test_retraces.py" in again


KINDS = [
    ("NumPy", lambda: jnp.zeros(3), lambda: np.zeros(3, "float32"), "x: an array → a NumPy array"),
    ("NumPy scalar", lambda: jnp.zeros(()), lambda: np.float32(0), "x: an array → a NumPy scalar"),
    (
        "committed",
        lambda: jnp.zeros(3),
        lambda: xs.device_put(jnp.zeros(3), xs.devices()[0]),
        "x: an array → an array committed to",
    ),
]


@pytest.mark.parametrize(("name", "first", "second", "reason"), KINDS, ids=[kind[0] for kind in KINDS])
def test_a_miss_of_the_call_cache_without_a_trace_has_its_reason(name, first, second, reason):
    function = of(identity)()
    function(first())
    missed = traced(lambda: function(second()), records.Missed)
    assert len(missed) == 1 and reason in missed[0].reason
    assert missed[0].call_site.file == __file__
    assert not traced(lambda: function(second()), records.Missed), "the second call of a kind is known"


def test_explanations_are_logged_when_asked_for(caplog):
    function = of(identity)()
    with caplog.at_level(logging.WARNING, "xlascope.jit"):
        function(jnp.zeros(2))
        assert not caplog.records
        with setting("explain_cache_misses", True):
            function(jnp.zeros(3))
    (record,) = caplog.records
    message = record.getMessage()
    assert "identity was traced at" in message and "x: f32[2] → f32[3]" in message and "Pad" in message
    assert __file__ in message
