"""``debug_key_reuse``: which programs use a key twice. The rows say what jax 0.10 says of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax, random
from xlascope import numpy as jnp
from xlascope.errors import KeyReuseError


def two(key: Any) -> Any:
    return random.uniform(key) + random.normal(key)


def twice(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda key: (first(key), second(key))


def scanned(body: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda key: lax.scan(lambda c, x: body(key, c, x), 0.0, None, length=3)


def halves(use: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda key: use(random.split(key))


def consumed_in_part(key: Any) -> Any:
    first, second = random.split(key)
    return random.uniform(first), random.split(second)


@xs.custom_vjp
def with_a_rule(x: Any, key: Any) -> Any:
    return x * random.uniform(key)


with_a_rule.defvjp(lambda x, key: (x * random.uniform(key), key), lambda key, g: (g, None))


once = random.uniform
WELL: dict[str, Callable[[Any], Any]] = {
    "once": once,
    "folded in": lambda k: random.uniform(random.fold_in(k, 1)) + random.uniform(random.fold_in(k, 2)),
    "folded in, then used": twice(lambda k: random.fold_in(k, 1), once),
    "used, then folded in": twice(once, lambda k: random.fold_in(k, 1)),
    "its words looked at": twice(once, random.key_data),
    "a clone": twice(once, lambda k: random.uniform(random.clone(k))),
    "compared": twice(once, lambda k: k == k),
    "printed": twice(once, lambda k: len(str(k))),
    "both halves": halves(lambda ks: (random.uniform(ks[0]), random.uniform(ks[1]))),
    "halves, reversed": halves(lambda ks: (random.uniform(ks[::-1][0]), random.uniform(ks[0]))),
    "unpacked": consumed_in_part,
    "by computed index": halves(lambda ks: (random.uniform(ks[jnp.argmax(jnp.array([0, 1]))]), random.uniform(ks[0]))),
    "mapped over": halves(lambda ks: xs.vmap(random.uniform)(ks)),
    "the same for all examples": lambda k: xs.vmap(lambda x: x + random.uniform(k))(jnp.arange(3.0)),
    "carried": lambda k: lax.scan(lambda k, _: (random.split(k)[0], None), k, None, length=3),
    "a key a step": halves(lambda ks: lax.scan(lambda c, k: (c + random.normal(k), None), 0.0, ks)),
    "folded in each step": lambda k: lax.fori_loop(0, 3, lambda i, c: c + random.uniform(random.fold_in(k, i)), 0.0),
    "in either branch": lambda k: lax.cond(True, random.uniform, random.normal, k),
    "given back": lambda k: (k, random.uniform(k)),
    "one step": lambda k: lax.scan(lambda c, _: (c + random.uniform(k), None), 0.0, None, length=1),
    "in a checkpoint": lambda k: xs.checkpoint(once)(k),
    "computed again": lambda k: xs.grad(xs.checkpoint(lambda x: jnp.sin(x * once(k))))(1.0),
    "computed again of an argument": lambda k: xs.grad(xs.checkpoint(lambda x, k: jnp.sin(x * once(k))))(1.0, k),
    "computed again in each step": lambda k: xs.grad(
        lambda y: lax.scan(xs.checkpoint(lambda c, k: (jnp.sin(c * once(k)), None)), y, random.split(k, 4))[0]
    )(1.0),
    "halves of a checkpoint": lambda k: (lambda ks: once(ks[0]) + once(ks[1]))(xs.checkpoint(random.split)(k)),
    "checkpoints of branches": lambda k: lax.cond(True, xs.checkpoint(once), xs.checkpoint(random.normal), k),
    "words": lambda k: two(random.key_data(k)),
}
ILL: dict[str, Callable[[Any], Any]] = {
    "used twice": two,
    "split twice": twice(random.split, random.split),
    "used, then split": twice(once, random.split),
    "one half twice": halves(lambda ks: (random.uniform(ks[0]), random.uniform(ks[0]))),
    "one half, however taken": halves(lambda ks: (random.uniform(ks[0]), random.uniform(ks[::-1][1]))),
    "by index": halves(lambda ks: (random.uniform(ks[np.array([1, 0])][1]), random.uniform(ks[0]))),
    "the whole, then a half": halves(lambda ks: (xs.vmap(random.uniform)(ks), random.uniform(ks[1]))),
    "stacked": lambda k: xs.vmap(random.uniform)(jnp.stack([k, k])),
    "mapped over, twice": halves(lambda ks: xs.vmap(two)(ks)),
    "in each step": scanned(lambda k, c, _: (c + random.uniform(k), None)),
    "carried along": lambda k: lax.scan(lambda k, _: (k, random.uniform(k)), k, None, length=3),
    "steps, then one": halves(lambda ks: (lax.map(random.uniform, ks), random.uniform(ks[1]))),
    "in each round": lambda k: lax.while_loop(lambda c: c < 2, lambda c: c + random.uniform(k), 0.0),
    "in a branch, then again": lambda k: lax.cond(True, random.uniform, lambda _: 1.0, k) + random.uniform(k),
    "given back, then used": lambda k: random.uniform(xs.jit(lambda k: (k, random.uniform(k)))(k)[0]),
    "by a function called twice": lambda k: (lambda f: f(k) + f(k))(xs.jit(random.uniform)),
    "closed over": lambda k: xs.jit(lambda: random.uniform(k))() + xs.jit(lambda: random.normal(k))(),
    "in a gradient": lambda k: xs.grad(lambda x: x * two(k))(1.0),
    "in a rule": lambda k: xs.checkpoint(two)(k),
    "in a checkpoint, then again": lambda k: xs.checkpoint(once)(k) + once(k),
    "in two checkpoints": lambda k: xs.checkpoint(once)(k) + xs.checkpoint(once)(k),
    "twice, computed again": lambda k: xs.grad(xs.checkpoint(lambda x: jnp.sin(x * two(k))))(1.0),
    "computed again, then used": lambda k: xs.grad(xs.checkpoint(lambda x: jnp.sin(x * once(k))))(1.0) + once(k),
    "computed again in each step, the same": lambda k: xs.grad(
        lambda y: lax.scan(xs.checkpoint(lambda c, _: (jnp.sin(c * once(k)), None)), y, None, length=3)[0]
    )(1.0),
    "a half of a checkpoint twice": lambda k: (lambda ks: once(ks[0]) + once(ks[0]))(xs.checkpoint(random.split)(k)),
    "given back by a checkpoint": lambda k: once(xs.checkpoint(lambda k: (k, once(k)))(k)[0]),
    "in a loop of a checkpoint": lambda k: xs.checkpoint(
        lambda k: lax.while_loop(lambda c: c < 2, lambda c: c + once(k), 0.0)
    )(k),
    "in a branch of a checkpoint, then again": lambda k: (
        xs.checkpoint(lambda k: lax.cond(True, once, lambda _: 1.0, k))(k) + once(k)
    ),
    "in a function with a rule, then again": lambda k: with_a_rule(1.0, k) + once(k),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", WELL)
def test_a_key_that_is_used_once_is_left_alone(name: str, jitted: bool) -> None:
    with xs.debug_key_reuse(True):
        (xs.jit(WELL[name]) if jitted else WELL[name])(random.key(0))


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", ILL)
def test_a_key_that_is_used_twice_is_an_error(name: str, jitted: bool) -> None:
    function = xs.jit(ILL[name]) if jitted else ILL[name]
    with xs.debug_key_reuse(True), pytest.raises(KeyReuseError, match="used up by random"):
        function(random.key(0))
    function(random.key(0))  # without the setting nobody minds


def test_the_message_names_both_places() -> None:
    with xs.debug_key_reuse(True), pytest.raises(KeyReuseError) as caught:
        two(random.key(0))
    message = str(caught.value)
    assert message.count("test_key_reuse.py:") == 2
    assert "random.normal" in message and "random.uniform" in message and "random.clone" in message


def test_a_call_that_failed_has_used_nothing() -> None:
    key, other = random.key(0), random.key(1)
    with xs.debug_key_reuse(True):
        random.uniform(key)
        with pytest.raises(KeyReuseError):
            xs.jit(lambda a, b: random.uniform(a) + random.uniform(b))(other, key)
        random.uniform(other)


def test_programs_are_traced_apart_and_keys_of_before_are_fresh() -> None:
    function = xs.jit(two)
    key = random.key(0)
    plain = str(function.trace(key).jaxpr)
    function(key)
    assert "consume_key" not in plain
    with xs.debug_key_reuse(True):
        assert "consume_key" in str(function.trace(key).jaxpr)
        assert random.uniform(key) == random.uniform(random.clone(key))
    assert str(function.trace(key).jaxpr) == plain
