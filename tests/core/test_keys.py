"""Equal for Python, and not the same value: no cache may take one for the other. See ``cache_keys.py``."""

import dataclasses
import enum
import functools
import gc
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

import xlascope as xs
from xlascope import lax
from xlascope import numpy as jnp
from xlascope.cache_keys import ExactValue, cache_key, is_identified_by_equality
from xlascope.extend.core import Primitive


@dataclasses.dataclass(frozen=True)
class Config:
    """Compared by dataclass, field by field with bare ``==``."""

    rate: Any
    name: str = ""


class Pair(NamedTuple):
    """A tuple of its own class."""

    a: Any
    b: Any


class Kind(enum.IntEnum):
    """Members equal their numbers."""

    ONE = 1


#: Rows of values that are equal, or have equal members, and are all different.
CONFUSABLE: list[tuple[Any, ...]] = [
    (1, 1.0, True, 1 + 0j, np.int32(1), np.int8(1), np.float32(1), np.bool_(True), Kind.ONE),
    (0.0, -0.0, 0, False, np.float32(0), np.float32(-0.0)),
    (1 + 0j, complex(1, -0.0)),
    (0j, -0j, complex(-0.0, 0)),
    ((1,), (1.0,), (True,), (np.int32(1),)),
    ((0.0, (0,)), (-0.0, (0,)), (0.0, (0.0,)), (0.0, (-0.0,))),
    (Pair(1, 2), Pair(1.0, 2), (1, 2)),
    (Config(1), Config(1.0), Config(True)),
    (Config(Config(0.0)), Config(Config(-0.0))),
    (frozenset([1]), frozenset([1.0]), frozenset([True])),
    (range(0), range(3, 3)),
]
ROWS = pytest.mark.parametrize("values", CONFUSABLE, ids=repr)


@ROWS
def test_keys_tell_types_and_bits_apart(values: tuple[Any, ...]) -> None:
    assert len({cache_key(value) for value in values}) == len(values)
    assert len({ExactValue(value) for value in values}) == len(values)
    for value in values:
        assert cache_key(value) == cache_key(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: math.nan,
        lambda: (float("nan"), 2),
        lambda: np.float32("nan"),
        lambda: Config(float("nan")),
        lambda: "ab",
    ],
)
def test_the_same_value_made_again_has_the_same_key(make: Any) -> None:
    assert cache_key(make()) == cache_key(make())
    assert hash(ExactValue(make())) == hash(ExactValue(make()))


def test_equality_that_a_class_defines_is_taken_at_its_word() -> None:
    class Modulo:
        def __init__(self, number: float) -> None:
            self.number = number

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Modulo) and self.number % 7 == other.number % 7

        def __hash__(self) -> int:
            return hash(self.number % 7)

    assert cache_key(Modulo(1)) == cache_key(Modulo(8.0))
    assert is_identified_by_equality(Modulo(1))


@ROWS
@pytest.mark.parametrize("named", [False, True])
def test_static_arguments(values: tuple[Any, ...], named: bool) -> None:
    traced = []

    @functools.partial(xs.jit, static_argnums=0, static_argnames="s")
    def f(s: Any, x: Any) -> Any:
        traced.append(s)
        return x + len(traced)

    def call(value: Any) -> float:
        return float(f(s=value, x=1.0) if named else f(value, 1.0))

    first = [call(value) for value in values]
    assert len(traced) == len(values)
    assert all(a.__class__ is b.__class__ for a, b in zip(traced, values, strict=True))
    for _ in range(3):  # in jaxlib's cache by now
        assert [call(value) for value in values] == first
    inside = [xs.make_jaxpr(lambda x, v=v: f(s=v, x=x) if named else f(v, x))(1.0) for v in values]
    assert [float(xs.core.jaxpr_as_fun(program, 1.0)[0]) for program in inside] == first
    assert len(traced) == len(values)


def test_the_program_of_a_static_number_is_the_number_s() -> None:
    divided = xs.jit(lambda n, x: x / n if isinstance(n, float) else x // n, static_argnums=0)
    assert divided(2, np.int32(7)) == 3
    assert divided(2.0, np.int32(7)) == 3.5
    inverse = xs.jit(lambda n, x: x / n, static_argnums=0)
    assert [float(inverse(zero, 1.0)) for zero in (0.0, -0.0, 0.0, -0.0)] == [math.inf, -math.inf] * 2


def test_calls_kept_apart_keep_what_jit_promises() -> None:
    f = xs.jit(lambda x, sizes, y: (jnp.sum(x) * sizes[0], y), static_argnums=1, donate_argnums=2)
    for _ in range(3):
        total, given = f(jnp.ones(2), (3,), {"a": jnp.ones(2)})
        assert float(total) == 6
        assert given["a"].tolist() == [1, 1]
    with pytest.raises(TypeError, match="argument x"):
        f("no array", (3,), 1.0)
    f.clear_cache()
    assert float(f(jnp.ones(2), (4,), 1.0)[0]) == 8


def test_a_static_value_made_anew_at_each_call_takes_one_place() -> None:
    f = xs.jit(lambda x, shape: x.reshape(shape), static_argnums=1)
    x, sizes = jnp.ones(2), [1, 2]

    def objects_after(calls: int) -> int:
        for _ in range(calls):
            f(x, tuple(sizes))
        gc.collect()
        return len(gc.get_objects())

    objects_after(5)
    before = objects_after(5)
    assert objects_after(50) <= before + 10


@pytest.mark.parametrize("transformed", [xs.jit, xs.grad, lambda f: lambda x: xs.vmap(f)(jnp.ones(2) * x)])
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: (n, 1), Config])
@pytest.mark.parametrize("named", [False, True])
def test_a_traced_value_is_no_static_argument(transformed: Any, wrap: Any, named: bool) -> None:
    inner = xs.jit(lambda n, x: x, static_argnums=0, static_argnames="n")
    with pytest.raises(ValueError, match=r"static argument n of .*traced value.*ordinary argument") as caught:
        transformed(lambda n: inner(n=wrap(n), x=n) if named else inner(wrap(n), n))(2.0)
    assert __file__ in str(caught.value)


def test_literals_keep_the_signs_of_their_zeros() -> None:
    constants = [complex(1, 0.0), complex(1, -0.0), complex(0.0, 1), complex(-0.0, 1), 0.0, -0.0]
    for kind in (np.complex64, complex):
        jaxprs = [xs.make_jaxpr(functools.partial(lax.mul, kind(c)))(np.complex64(1)) for c in constants]
        found = [np.asarray(jaxpr.eqns[0].invars[0].val).tobytes() for jaxpr in jaxprs]
        assert found == [np.complex64(c).tobytes() for c in constants]
    eager = [np.asarray(jnp.multiply(jnp.ones((), "complex64"), c)) for c in constants[:2]]
    traced = [np.asarray(xs.jit(lambda x, c=c: x * c)(np.complex64(1))) for c in constants[:2]]
    assert [x.tobytes() for x in eager] == [x.tobytes() for x in traced]


@ROWS
def test_parameters_of_primitives(values: tuple[Any, ...]) -> None:
    primitive = Primitive("tell")
    primitive.def_impl(lambda x, *, given: x + known.index(cache_key(given)))
    primitive.def_abstract_eval(lambda x, *, given: x)
    known = [cache_key(value) for value in values]
    for _ in range(2):
        found = [float(primitive.bind(jnp.float32(0), given=value)) for value in values]
        assert found == list(range(len(values)))


def test_fill_values_of_gather() -> None:
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    beyond = [
        lax.gather(jnp.ones(2), jnp.array([[5]]), numbers, (1,), mode="fill", fill_value=fill) for fill in (0.0, -0.0)
    ]
    assert [np.signbit(np.asarray(x))[0] for x in beyond] == [False, True]


def test_interp_beyond_the_ends_tells_zeros_apart() -> None:
    x, xp, fp = jnp.array([-1.0]), jnp.array([0.0, 1.0]), jnp.array([1.0, 2.0])
    assert [bool(np.signbit(np.asarray(jnp.interp(x, xp, fp, left=zero)))[0]) for zero in (0.0, -0.0)] == [False, True]


def test_mappings_and_slices() -> None:
    class Frozen(Mapping[str, Any]):
        def __init__(self, **items: Any) -> None:
            self.items_ = items

        def __getitem__(self, name: str) -> Any:
            return self.items_[name]

        def __iter__(self) -> Any:
            return iter(self.items_)

        def __len__(self) -> int:
            return len(self.items_)

        def __hash__(self) -> int:
            return hash(frozenset(self.items_.items()))

    assert cache_key(Frozen(a=1, b=2)) == cache_key(Frozen(b=2, a=1)) != cache_key(Frozen(a=1.0, b=2))
    assert cache_key(slice(0, 1)) != cache_key(slice(0.0, 1))
