"""Arrays of typed keys: what moves them about, every transformation, the call cache, and what they are not."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xlascope as xs
from xlascope import dtypes, lax, random, tree
from xlascope import numpy as jnp

KEYS = random.split(random.key(7), (2, 3))
WORDS = np.asarray(random.key_data(KEYS))
INDEX = np.array([2, 0, 2, 5])
MASK = np.array([[True, False, True], [False, True, True]])

#: What moves elements about, whatever they are: of keys it does to each of the words what it does to numbers.
MOVES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "a row": lambda x: x[1],
    "one": lambda x: x[1, 2],
    "rows": lambda x: x[1:],
    "backwards": lambda x: x[:, ::-1],
    "new axis": lambda x: x[:, None],
    "by index": lambda x: x[:, INDEX],
    "by two indices": lambda x: x[np.array([0, 1]), np.array([1, 2])],
    "take, beyond the end": lambda x: jnp.take(x, INDEX, axis=1),
    "take, clipped": lambda x: jnp.take(x, INDEX, axis=1, mode="clip"),
    "get, filled": lambda x: x.at[:, INDEX].get(mode="fill"),
    "take_along_axis": lambda x: jnp.take_along_axis(x, np.array([[2], [1]]), axis=1),
    "set": lambda x: x.at[0].set(x[1]),
    "set by index": lambda x: x.at[:, np.array([0, 2])].set(x[:, :2]),
    "reshape": lambda x: jnp.reshape(x, (3, 2)),
    "reshape by columns": lambda x: jnp.reshape(x, (6,), order="F"),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "tril": lambda x: jnp.tril(x, 1),
    "triu": lambda x: jnp.triu(x),
    "diag": lambda x: jnp.diag(x[0], 1),
    "diagflat": lambda x: jnp.diagflat(x, -1),
    "resize to nothing": lambda x: jnp.resize(x, (2, 0)),
    "full_like": lambda x: jnp.full_like(x, 3.0) if x.ndim else x,
    "lax.full_like": lambda x: lax.full_like(x, 3),
    "T": lambda x: x.T,
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "expand_dims": lambda x: jnp.expand_dims(x, (0, -1)),
    "broadcast_to": lambda x: jnp.broadcast_to(x, (2, 2, 3)),
    "stack": lambda x: jnp.stack([x, x], axis=1),
    "concatenate": lambda x: jnp.concatenate([x, x[:1]]),
    "append": lambda x: jnp.append(x, x, axis=1),
    "split": lambda x: jnp.split(x, 3, axis=1)[1],
    "where": lambda x: jnp.where(MASK, x, x[::-1]),
    "where, one of them": lambda x: jnp.where(MASK, x, x[0, 0]),
    "select": lambda x: lax.select(MASK, x, x[:, ::-1]),
    "repeat": lambda x: jnp.repeat(x, 2, axis=0),
    "tile": lambda x: jnp.tile(x, (1, 2)),
    "roll": lambda x: jnp.roll(x, 1, axis=1),
    "flip": lambda x: jnp.flip(x),
    "full": lambda x: jnp.full((2, 2), x[0, 0]),
    "array of a list": lambda x: jnp.array([x[0], x[1]]),
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (0, 1), (2, 2)),
    "dynamic_index": lambda x: lax.dynamic_index_in_dim(x, 1, 1),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:1, :2], (1, 1)),
    "stop_gradient": lax.stop_gradient,
    "optimization_barrier": lax.optimization_barrier,
    "copy": jnp.copy,
    "cond": lambda x: lax.cond(True, lambda y: y[0], lambda y: y[1], x),
    "while_loop": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1][::-1]), (0, x))[1],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, y: y.at[i % 2].set(y[0]), x),
    "scan": lambda x: lax.scan(lambda c, y: (y, (c, y[1])), x[0], x),
    "scan backwards": lambda x: lax.scan(lambda c, y: (y, y), x[0], x, reverse=True)[1],
    "scan, unrolled": lambda x: lax.scan(lambda c, y: (y, y[0]), x[:, 0], x.T, unroll=2)[1],
    "map": lambda x: lax.map(lambda y: y[::-1], x),
    "checkpoint": lambda x: xs.checkpoint(lambda y: y.T)(x),
    "jit": lambda x: xs.jit(lambda y: y.T)(x),
}


def of_words(move: Callable[[Any], Any], words: Any) -> Any:
    """What ``move`` does to each of the words."""
    each = [move(jnp.asarray(words[..., i])) for i in range(2)]
    return tree.map(lambda a, b: np.stack([a, b], -1), *each)


def assert_words(found: Any, wanted: Any) -> None:
    assert tree.structure(found) == tree.structure(wanted)
    for keys, words in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        assert keys.dtype is random.key(0).dtype
        assert keys.shape == words.shape[:-1]
        np.testing.assert_array_equal(random.key_data(keys), words)


@pytest.mark.parametrize("name", MOVES)
def test_keys_are_moved_about_like_numbers(name: str) -> None:
    move = MOVES[name]
    wanted = of_words(move, WORDS)
    assert_words(move(KEYS), wanted)
    jitted = xs.jit(move)
    assert_words(jitted(KEYS), wanted)
    assert_words(jitted(KEYS), wanted)  # as jaxlib repeats it
    assert tree.map(lambda y: y.shape, xs.eval_shape(move, KEYS)) == tree.map(lambda y: y.shape[:-1], wanted)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_keys_are_mapped_over(name: str, axis: int) -> None:
    move = MOVES[name]
    several = jnp.stack([KEYS, KEYS[::-1], KEYS[:, ::-1]], axis)
    words = np.moveaxis(np.asarray(random.key_data(several)), axis % 3, 0)
    wanted = tree.map(lambda *parts: np.stack(parts), *[of_words(move, each) for each in words])
    for mapped in (xs.vmap(move, in_axes=axis), xs.jit(xs.vmap(move, in_axes=axis))):
        assert_words(mapped(several), wanted)


# With keys of either sort -------------------------------------------------------------------------------------------


def noisy(x: Any, key: Any) -> Any:
    first, second = random.split(key)
    return jnp.sum(jnp.sin(x) * random.normal(first, x.shape)) + random.uniform(random.fold_in(second, 3)) * x[0]


def walked(x: Any, key: Any) -> Any:
    def step(carry: Any, key: Any) -> Any:
        position, own = carry
        own, now = random.split(own)
        position = position * 1.5 + random.normal(now) + random.normal(key)
        return (position, own), position

    return lax.scan(step, (x[0], key), random.split(key, 4))[1].sum()


def dropped(x: Any, key: Any) -> Any:
    return xs.checkpoint(lambda x, key: jnp.where(random.bernoulli(key, 0.5, x.shape), x**2, 0.0).sum())(x, key)


def accepted(x: Any, key: Any) -> Any:
    def more(state: Any) -> Any:
        return random.uniform(state[0]) < 0.7

    def draw(state: Any) -> Any:
        key, y = state
        key, now = random.split(key)
        return key, y + lax.stop_gradient(random.normal(now))

    return lax.while_loop(more, draw, (key, 0.0))[1] * x.sum()


@xs.custom_jvp
def rounded(x: Any, key: Any) -> Any:
    return jnp.floor(x + random.uniform(key, x.shape)).sum()


@rounded.defjvp
def _(primals: Any, tangents: Any) -> Any:
    return rounded(*primals), tangents[0].sum()


@xs.custom_vjp
def scaled(x: Any, key: Any) -> Any:
    return (x * random.normal(key)).sum()


scaled.defvjp(
    lambda x, key: (scaled(x, key), (x, key)),
    lambda kept, ct: (ct * jnp.ones_like(kept[0]) * random.normal(kept[1]), None),
)


def either(x: Any, key: Any) -> Any:
    return lax.cond(x[0] > 0, lambda key: random.normal(key) * x[1], lambda key: random.uniform(key) * x[0], key)


PROGRAMS = {f.__name__: f for f in (noisy, walked, dropped, accepted, either)} | {"rounded": rounded, "scaled": scaled}
WAYS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "jit": xs.jit,
    "gradient": xs.grad,
    "gradient of jit": lambda f: xs.grad(xs.jit(f)),
    "jit of gradient": lambda f: xs.jit(xs.value_and_grad(f)),
    "vjp": lambda f: lambda x, key: xs.vjp(lambda x: f(x, key), x)[1](2.0),
    "linearize": lambda f: lambda x, key: xs.linearize(lambda x: f(x, key), x)[1](x),
    "tangent": lambda f: lambda x, key: xs.jvp(lambda x: f(x, key), (x,), (x,)),
    "second": lambda f: xs.jit(xs.jacfwd(xs.grad(f))),
}
X = np.array([0.3, -0.7, 1.1], np.float32)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", WAYS)
def test_programs_give_what_they_give_with_words(name: str, way: str) -> None:
    if way in ("linearize", "tangent", "second") and name == "scaled":
        with pytest.raises(TypeError, match="forward"):
            WAYS["tangent"](PROGRAMS[name])(X, random.key(1))
        return
    transformed = WAYS[way](PROGRAMS[name])
    found, wanted = (transformed(X, key) for key in (random.key(1), random.PRNGKey(1)))
    tree.map(np.testing.assert_array_equal, found, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("way", ["value", "gradient", "jit of gradient"])
def test_programs_are_mapped_over_keys(name: str, way: str) -> None:
    transformed = WAYS[way](PROGRAMS[name])
    keys = random.split(random.key(1), 3)
    for mapped in (xs.vmap(transformed, (None, 0)), xs.jit(xs.vmap(transformed, (None, 0)))):
        found, wanted = mapped(X, keys), mapped(X, random.key_data(keys))
        tree.map(np.testing.assert_array_equal, found, wanted)


# The call cache -----------------------------------------------------------------------------------------------------


def test_a_call_that_repeats_stays_in_jaxlib_and_is_not_taken_for_another() -> None:
    traced = []

    @xs.jit
    def f(key: Any) -> Any:
        traced.append(key.dtype)
        return {"key": key, "number": 1 + jnp.float32(key.ndim)}

    typed, raw, number = random.key(3), random.PRNGKey(3), jnp.uint32(3)
    for _ in range(3):
        assert f(typed)["key"] == typed and f(typed)["number"] == 1
        assert f(raw)["key"].dtype == np.uint32 and f(raw)["number"] == 2
        assert f(number)["key"].dtype == np.uint32
        assert f(random.split(typed))["key"].shape == (2,)
    assert traced == [typed.dtype, np.uint32, np.uint32, typed.dtype]


def test_keys_are_leaves_to_users() -> None:
    key = random.key(0)
    assert tree.leaves({"a": key, "b": (key,)}) == [key, key]
    assert tree.map(jnp.shape, [random.split(key)]) == [(2,)]


def test_keys_are_donated() -> None:
    key = random.key(5)
    moved = xs.jit(lambda key: random.split(key)[0], donate_argnums=0)(key)
    assert moved.shape == ()
    again = random.key(5)
    kept = xs.jit(lambda key: key, donate_argnums=0)(again)
    assert again.is_deleted()
    assert not kept.is_deleted()
    with pytest.raises(xs.errors.DeletedArrayError if hasattr(xs.errors, "DeletedArrayError") else RuntimeError):
        random.uniform(again)


def test_a_key_that_a_program_closes_over() -> None:
    key = random.key(11)
    assert xs.jit(lambda: random.uniform(key))() == random.uniform(random.PRNGKey(11))
    program = xs.make_jaxpr(lambda x: x + random.normal(key))(1.0)
    assert program.consts[0] is key
    assert "key<fry>[]" in str(program)


def test_keys_go_to_a_device() -> None:
    device = xs.devices()[0]
    key = xs.device_put(random.key(0), device)
    assert key.committed and key.device == device and key == random.key(0)
    assert xs.device_get(key) is key
    assert key.block_until_ready() is key


def test_stages_take_keys() -> None:
    compiled = xs.jit(lambda key: random.split(key)).lower(random.key(0)).compile()
    for _ in range(2):
        assert (compiled(random.key(4)) == random.split(random.key(4))).all()
    described = xs.ShapeDtypeStruct((), random.key(0).dtype)
    assert xs.jit(random.split).lower(described).out_info.dtype is random.key(0).dtype


# What they are, and are not -----------------------------------------------------------------------------------------


def test_what_a_key_tells() -> None:
    keys = random.split(random.key(0), 3)
    assert (keys.shape, keys.ndim, keys.size, len(keys), keys.nbytes, keys.itemsize) == ((3,), 1, 3, 3, 24, 8)
    assert isinstance(keys, xs.Array)
    assert str(keys.dtype) == "key<fry>" and keys.dtype.name == "key<fry>"
    assert dtypes.issubdtype(keys.dtype, dtypes.prng_key) and jnp.issubdtype(keys.dtype, dtypes.extended)
    assert not jnp.issubdtype(keys.dtype, np.number)
    assert repr(random.key(42)) == "Array((), dtype=key<fry>) overlaying:\n[ 0 42]"
    assert [each.shape for each in keys] == [()] * 3
    assert random.key_impl(keys) == "threefry2x32"
    assert (keys == keys[1]).tolist() == [False, True, False]
    assert (keys != keys).tolist() == [False] * 3


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), random.clone])
def test_a_copy_is_the_same_key(again: Callable[[Any], Any]) -> None:
    key = random.key(9)
    assert again(key) == key and again(key).dtype is key.dtype


def test_several_keys_are_copied_and_lie_somewhere() -> None:
    keys = random.split(random.key(9), 3)
    assert (random.clone(keys) == keys).tolist() == [True] * 3
    assert keys.is_fully_addressable and keys.is_fully_replicated and keys.on_device_size_in_bytes() >= 24
    assert (keys.addressable_data(0) == keys).all() and keys.addressable_data(0).dtype is keys.dtype


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "+ 1": (lambda k: k + 1, "keys meet nothing but keys"),
    "+ itself": (lambda k: k + k, "add does not take keys"),
    "-": (lambda k: -k, "neg does not take keys"),
    "<": (lambda k: k < k, "lt does not take keys"),
    "* array": (lambda k: jnp.ones(3) * k, "keys meet nothing but keys"),
    "sum": (lambda k: k[None].sum(), "does not take keys"),
    "sort": (lambda k: jnp.sort(k[None]), "sort does not take keys"),
    "astype": (lambda k: k.astype(int), "convert_element_type does not take keys"),
    "to a key": (lambda k: jnp.ones(2).astype(k.dtype), "wrap_key_data"),
    "where with a number": (lambda k: jnp.where(True, k, 1), "keys meet nothing but keys"),
    "concatenate with numbers": (lambda k: jnp.concatenate([k[None], jnp.ones(1)]), "keys meet nothing but keys"),
    "as NumPy": (np.asarray, "key_data"),
    "bool": (bool, "no truth value"),
    "int": (int, "key_data"),
    "hash": (hash, "unhashable"),
    "several": (lambda k: random.uniform(k[None]), "map over them"),
    "a seed": (random.key, "takes one integer as its seed"),
    "bitcast": (lambda k: lax.bitcast_convert_type(k, "uint32"), "does not take keys"),
    "pad": (lambda k: jnp.pad(k[None], 1), "keys are no numbers"),
    "in place": (lambda k: k.__setitem__(0, k), "cannot be changed in place"),
    "differentiated": (lambda k: xs.grad(random.uniform)(k), "floating-point"),
    "other words": (lambda k: random.wrap_key_data(np.zeros(3, np.uint32)), "axis of size 2"),
    "other generator": (lambda k: random.key(0, impl="mine"), "kinds of keys"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_business_of_keys_is_an_error(name: str) -> None:
    function, message = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=message):
        function(random.key(0))
    assert random.uniform(random.key(0)) == random.uniform(random.PRNGKey(0))


def test_a_nan_is_found_in_a_scan_over_keys() -> None:
    def step(carry: Any, key: Any) -> Any:
        return jnp.log(carry - 3.0 + 0 * random.uniform(key)), None

    with xs.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        xs.jit(lambda keys: lax.scan(step, 1.0, keys)[0])(random.split(random.key(0), 2))


@pytest.mark.parametrize("wrapped", [lambda f: f, xs.jit, lambda f: xs.vmap(f, in_axes=(0, 0))])
def test_keys_are_compared_by_their_words(wrapped: Callable[[Any], Any]) -> None:
    keys = random.split(random.key(3), (2, 3))
    others = keys.at[0, 1].set(keys[1, 2])
    differs = np.zeros((2, 3), bool)
    differs[0, 1] = True
    for equal in (lax.eq, jnp.equal, jnp.isclose, lambda x, y: x == y):
        np.testing.assert_array_equal(wrapped(equal)(keys, others), ~differs)
    for different in (lax.ne, jnp.not_equal):
        np.testing.assert_array_equal(wrapped(different)(keys, others), differs)
    assert not np.asarray(wrapped(lambda x, _: jnp.isnan(x))(keys, others)).any()
    assert jnp.allclose(keys, keys) and not jnp.allclose(keys, others)


OTHERS = [1, 2.0, np.ones((2, 3)), random.split(random.key(0, impl="rbg"), (2, 3)), random.split(random.key(0))]


@pytest.mark.parametrize("other", OTHERS)
def test_keys_are_compared_with_keys_of_their_type_and_shape(other: Any) -> None:
    keys = random.split(random.key(3), (2, 3))
    for compare in (lax.eq, lax.ne, lambda x, y: lax.eq(y, x)):
        with pytest.raises(TypeError, match=r"take keys|meet nothing but keys|shapes do not fit"):
            compare(keys, other)
    np.testing.assert_array_equal(lax.eq(keys, random.key(3)), np.zeros((2, 3), bool))
