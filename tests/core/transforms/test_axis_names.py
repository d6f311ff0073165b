"""Named axes: collectives inside of vmap against jax, against formulas for whole arrays, and what goes wrong."""

import threading
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax
from xlascope.ir.checker import check_jaxpr
from xlascope.lax.primitives import operations_by_name
from xlascope.operations.collectives import CollectiveOperation, axis_names_of
from xlascope.trace.state import STATE
from xlascope.xla.lowering.module_lowering import lower

PROGRAMS = Path(__file__).with_name("axis_names.py")
#: What jax 0.10.2 fails at with an error of its own, or gives a derivative of the wrong shape for. The formulas for
#: whole arrays below say what these are.
JAX_CANNOT = {
    "vmap in a named vmap, at the end": {"psum_scatter", "psum_scatter 2"},
    "vjp in vmap": {"all_to_all 0 1", "all_to_all 0 2", "all_to_all 2 0"},
    "vjp of jit in vmap": {"all_to_all 0 1", "all_to_all 0 2", "all_to_all 2 0"},
    "jit of vjp in vmap": {"all_to_all 0 1", "all_to_all 0 2", "all_to_all 2 0"},
    "grad in a vmap in vmap": {"all_to_all 0 1", "all_to_all 0 2", "all_to_all 2 0"},
    "grad of a constant cotangent": {
        "all_to_all 0 0", "all_to_all 0 1", "all_to_all 0 2", "all_to_all 2 0",
        "all_to_all tiled 0 2", "all_to_all tiled 1 0", "all_to_all tiled 1 1", "pswapaxes",
    },
    "jacfwd in vmap": {"all_to_all 0 2"},
    "jacrev in vmap": {"all_to_all 0 2"},
    "hessian in vmap": {"all_to_all 0 2"},
}  # fmt: skip


def same(found, expected, tolerance=2e-5, what=""):
    found, structure = xs.tree.flatten(found)
    assert structure == xs.tree.structure(expected), what
    for x, y in zip(found, xs.tree.leaves(expected), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype), what
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=what)


@pytest.fixture(scope="module")
def module(programs):
    return programs(PROGRAMS)


# Against jax --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected(jax_says):
    return jax_says(PROGRAMS, "every")


def ways():
    """The names of the tables, which the file of programs has."""
    namespace = {}
    exec(compile(PROGRAMS.read_text(), str(PROGRAMS), "exec"), namespace)
    return list(namespace["tables"]())


@pytest.mark.parametrize("way", ways())
def test_what_jax_gives(way, module, expected):
    found = module.results(xs, way)
    unknown = JAX_CANNOT.get(way, set())
    assert found.keys() - expected[way].keys() <= unknown
    for name in expected[way].keys() - unknown:
        same(found[name], expected[way][name], what=f"{way}: {name}")


def test_programs_are_well_formed(module):
    for way in ("vmap of jit", "vjp of jit in vmap", "another name in a named vmap"):
        transform, chosen = module.tables()[way]
        for f in chosen.values():
            check_jaxpr(xs.make_jaxpr(lambda f=f, transform=transform: transform(xs, lambda a: f(lax, a)))())


# Against formulas for whole arrays ----------------------------------------------------------------------------------


def everyone(y, count=3):
    """What all examples have."""
    return jnp.broadcast_to(y, (count, *y.shape))


def blocks(x, axis, count=3):
    """An axis of the examples cut in ``count`` blocks: a new axis in front of it."""
    shape = x.shape
    return x.reshape(*shape[: axis + 1], count, shape[axis + 1] // count, *shape[axis + 2 :])


def joined(x, axis):
    """An axis of the examples and the one behind it as one."""
    shape = x.shape
    return x.reshape(*shape[: axis + 1], shape[axis + 1] * shape[axis + 2], *shape[axis + 3 :])


def exchanged(x, split, concat):
    """``out[i, ..., j at concat, ...] = x[j, ..., i at split, ...]``, the split axis gone."""
    return jnp.moveaxis(jnp.moveaxis(x, (split + 1, 0), (0, 1)), 1, concat + 1)


#: A collective on examples of shape (3, 6, 3), and the same for all examples at once.
WHOLE = {
    "psum": (lambda a: lax.psum(a, "i"), lambda x: everyone(x.sum(0))),
    "psum of a tuple": (lambda a: lax.psum(a, ("i",)), lambda x: everyone(x.sum(0))),
    "pmean": (lambda a: lax.pmean(a, ("i", 1)), lambda x: everyone(x.mean((0, 2)))),
    "pmax": (lambda a: lax.pmax(a, "i"), lambda x: everyone(x.max(0))),
    "pmin": (lambda a: lax.pmin(a, ("i", 0)), lambda x: everyone(x.min((0, 1)))),
    "all_gather": (lambda a: lax.all_gather(a, "i", axis=-2), lambda x: everyone(jnp.moveaxis(x, 0, 2))),
    "all_gather tiled": (
        lambda a: lax.all_gather(a, "i", axis=1, tiled=True),
        lambda x: everyone(jnp.concatenate([*x], 1)),
    ),
    "psum_scatter": (lambda a: lax.psum_scatter(a, "i", scatter_dimension=2), lambda x: jnp.moveaxis(x.sum(0), 2, 0)),
    "psum_scatter tiled": (
        lambda a: lax.psum_scatter(a, "i", scatter_dimension=1, tiled=True),
        lambda x: jnp.stack(jnp.split(x.sum(0), 3, 1)),
    ),
    **{
        f"all_to_all {s} {c}": (
            lambda a, s=s, c=c: lax.all_to_all(a, "i", s, c),
            lambda x, s=s, c=c: exchanged(x, s % 3, c % 3),
        )
        for s in (0, 2, -1) for c in (0, 1, 2, -3)
    },
    **{
        f"all_to_all tiled {s} {c}": (
            lambda a, s=s, c=c: lax.all_to_all(a, "i", s, c, tiled=True),
            lambda x, s=s, c=c: joined(exchanged(blocks(x, s), s, c), c),
        )
        for s in (0, 1, 2) for c in (0, 1, 2)
    },
    "ppermute": (lambda a: lax.ppermute(a, "i", [(0, 2), (2, 1), (1, 0)]), lambda x: x[np.array([1, 2, 0])]),
    "ppermute of some": (lambda a: lax.ppermute(a, "i", [(0, 2), (2, 1)]), lambda x: jnp.stack([0 * x[0], x[2], x[0]])),
    "ppermute of none": (lambda a: lax.ppermute(a, "i", []), lambda x: 0 * x),
    "pshuffle": (lambda a: lax.pshuffle(a, "i", [1, 1 + 1, 0]), lambda x: x[np.array([1, 2, 0])]),
    "pswapaxes": (lambda a: lax.pswapaxes(a, "i", 2), lambda x: jnp.swapaxes(x, 0, 3)),
    "pbroadcast": (lambda a: lax.pbroadcast(a, "i", 1), lambda x: everyone(x[1])),
    "axis_index": (lambda a: a * lax.axis_index("i"), lambda x: x * jnp.arange(3.0).reshape(3, 1, 1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_values_and_derivatives_are_those_of_the_formula(name, module):
    collective, whole = WHOLE[name]
    f = xs.jit(collective)
    random = np.random.default_rng(7)

    def both(x, t, ct):
        mapped = xs.vmap(f, axis_name="i")
        inside = xs.vmap(lambda a, c: xs.vjp(f, a)[1](c)[0], axis_name="i")(x, ct)
        return xs.jvp(mapped, (x,), (t,)), xs.vjp(mapped, x)[1](ct)[0], inside

    def formula(x, t, ct):
        back = xs.vjp(whole, x)[1](ct)[0]
        return xs.jvp(whole, (x,), (t,)), back, back

    ct = random.normal(size=xs.eval_shape(whole, module.X).shape).astype("float32")
    arguments = (module.X, module.X[::-1].copy(), ct)
    same(xs.jit(both)(*arguments), xs.jit(formula)(*arguments))


def test_every_collective_has_a_row(module):
    used = set()

    def record(a):
        for collective, _ in WHOLE.values():
            used.update(equation.operation.name for equation in xs.make_jaxpr(collective)(a).eqns)
        return a

    xs.vmap(record, axis_name="i")(module.X)
    assert {op.name for op in operations_by_name().values() if issubclass(op, CollectiveOperation)} <= used


@pytest.mark.parametrize("name", WHOLE)
def test_an_operand_that_is_not_mapped_is_the_same_in_all_examples(name, module):
    collective, whole = WHOLE[name]
    x = module.X[1]
    found = xs.vmap(lambda i: (collective(x), xs.jit(collective)(x)), axis_name="i")(np.arange(3))
    wanted = whole(np.stack([x, x, x]))
    same(found, (wanted, wanted))


#: Collectives over two names, for examples of shape (6, 12): the same as over one name of the product's size.
SEVERAL = {
    "psum": lambda a, names: lax.psum(a, names),
    "pmean": lambda a, names: lax.pmean(a, names),
    "pmax": lambda a, names: lax.pmax(a, names),
    "axis_index": lambda a, names: a * lax.axis_index(names),
    "axis_size": lambda a, names: a * lax.axis_size(names),
    "all_gather": lambda a, names: lax.all_gather(a, names, axis=1),
    "all_gather tiled": lambda a, names: lax.all_gather(a, names, axis=1, tiled=True),
    "psum_scatter": lambda a, names: lax.psum_scatter(a, names),
    "psum_scatter tiled": lambda a, names: lax.psum_scatter(a, names, scatter_dimension=1, tiled=True),
    "all_to_all": lambda a, names: lax.all_to_all(a, names, 0, 1),
    "all_to_all back": lambda a, names: lax.all_to_all(a, names, 0, 0),
    "all_to_all tiled": lambda a, names: lax.all_to_all(a, names, 1, 0, tiled=True),
    "ppermute": lambda a, names: lax.ppermute(a, names, [(i, (i + 1) % 6) for i in range(6)]),
    "ppermute of some": lambda a, names: lax.ppermute(a, names, [(0, 5), (4, 1)]),
    "pbroadcast": lambda a, names: lax.pbroadcast(a, names, 4),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_two_names_are_one_of_the_products_size(name):
    collective = SEVERAL[name]
    x = np.random.default_rng(9).normal(size=(6, 6, 12)).astype("float32")

    def pulled(names, wrapped=xs.jit):
        f = wrapped(lambda a: collective(a, names))

        def one(a):
            y, back = xs.vjp(f, a)
            return y, back(jnp.cos(y) * (1 + lax.axis_index(names)))[0]

        return one

    wanted = xs.jit(xs.vmap(pulled("k"), axis_name="k"))(x)
    flat = lambda y: y.reshape(6, *y.shape[2:])  # noqa: E731
    for outer, within, wrapped in (("i", "j", xs.jit), ("j", "i", lambda f: f)):
        nested = xs.vmap(xs.vmap(pulled((outer, within), wrapped), axis_name=within), axis_name=outer)
        same(xs.tree.map(flat, xs.jit(nested)(x.reshape(2, 3, 6, 12))), wanted)


def test_the_order_of_the_names_is_that_of_the_examples():
    def one(a):
        return lax.axis_index(("i", "j")), lax.axis_index(("j", "i")), lax.all_gather(a, ("j", "i"))

    x = np.arange(6.0, dtype="float32").reshape(2, 3)
    first, second, gathered = xs.vmap(xs.vmap(one, axis_name="j"), axis_name="i")(x)
    np.testing.assert_array_equal(first, np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(second, np.arange(6).reshape(3, 2).T)
    np.testing.assert_array_equal(gathered[1, 2], x.T.ravel())


def test_extremes_that_are_equal_share_the_derivative():
    x = np.float32([2, 1, 2])
    slope = xs.grad(lambda x: xs.vmap(lambda a: lax.pmax(a, "i"), axis_name="i")(x)[0])(x)
    np.testing.assert_array_equal(slope, [0.5, 0, 0.5])


# Sizes and numbers --------------------------------------------------------------------------------------------------


def test_numbers_stay_numbers():
    seen = []

    def f(x):
        seen.extend([lax.psum(1, "i"), lax.psum(2.5, "i"), lax.axis_size("i"), lax.pmean(1, "i")])
        return x

    for one in (f, xs.jit(f)):
        seen.clear()
        xs.vmap(one, axis_name="i")(np.ones((3, 2)))
        assert seen == [3, 7.5, 3, 1.0]
        assert [type(value) for value in seen] == [int, float, int, float]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "int32", "bool", "complex64"])
def test_dtypes(dtype):
    x = jnp.array([1, 0, 2]).astype(dtype)
    total, mean = xs.vmap(lambda a: (lax.psum(a, "i"), lax.pmean(a, "i")), axis_name="i")(x)
    kept = {"bool": "int32"}.get(dtype, dtype)
    assert (total.dtype.name, mean.dtype.name) == (kept, "float32" if kept.startswith("int") else kept)
    assert complex(total[0]) == (2 if dtype == "bool" else 3) and abs(complex(mean[1]) - complex(total[1]) / 3) < 0.01


def test_axes_without_examples():
    x = np.ones((0, 4), "float32")
    for f in (
        lambda a: lax.psum(a, "i"),
        lambda a: lax.pmax(a, "i"),
        lambda a: lax.all_gather(a, "i").sum(0),
        lambda a: lax.ppermute(a, "i", []),
    ):
        assert xs.vmap(f, axis_name="i")(x).shape == (0, 4)
    assert xs.vmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=0)().shape == (0,)


def test_axis_size_alone_says_how_many_there_are():
    np.testing.assert_array_equal(xs.vmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=3)(), [0, 1, 2])
    np.testing.assert_array_equal(xs.vmap(lambda x: lax.psum(x, "i"), None, None, "i", 4)(2.0), 8.0)


def test_results_that_all_examples_share_need_no_axis():
    def f(a):
        return lax.psum(a, "i"), lax.all_gather(a, "i"), lax.pmax(a, "i"), lax.pbroadcast(a, "i", 0), lax.axis_size("i")

    x = np.float32([3, 1, 2])
    total, everything, most, first, size = xs.vmap(f, axis_name="i", out_axes=None)(x)
    assert (float(total), float(most), float(first), int(size)) == (6, 3, 3, 3)
    np.testing.assert_array_equal(everything, x)


# Programs inside ----------------------------------------------------------------------------------------------------


def test_a_jitted_function_is_traced_anew_for_another_size():
    traced = []

    @xs.jit
    def f(a):
        traced.append(lax.axis_size("i"))
        return a * lax.psum(1, "i")

    for count in (2, 3, 2, 3):
        same(xs.vmap(f, axis_name="i")(np.ones(count, "float32")), np.full(count, count, "float32"))
    assert traced == [2, 3]
    with pytest.raises(NameError):
        f(1.0)


def test_a_program_says_which_axes_it_crosses():
    programs = []

    @xs.jit
    def f(a):
        programs.append(STATE.trace)
        return xs.jit(lambda b: lax.psum(b, "i"))(a) + a

    found = []
    xs.vmap(lambda a: found.append(xs.make_jaxpr(f)(1.0)) or a, axis_name="i")(np.ones(3))
    assert axis_names_of(found[0]) == {"i"}
    assert axis_names_of(xs.make_jaxpr(xs.vmap(f, axis_name="i"))(np.ones(3))) == set()


CROSSING = {
    "cond": lambda a, k: lax.cond(k, lambda b: lax.psum(b, "i"), lambda b: b * 2, a),
    "switch": lambda a, k: lax.switch(1, [lambda b: b, lambda b: b * lax.axis_index("i")], a),
    "while_loop": lambda a, k: lax.while_loop(lambda b: jnp.sum(lax.psum(b, "i")) < 99, lambda b: lax.psum(b, "i"), a),
    "fori_loop": lambda a, k: lax.fori_loop(0, 3, lambda n, b: lax.pmean(b, "i") + n * lax.axis_index("i"), a),
    "scan": lambda a, k: lax.scan(lambda c, y: (lax.psum(c * y, "i"), c + lax.axis_index("i")), a[0], a),
    "map": lambda a, k: lax.map(lambda y: lax.psum(y, "i") + y, a),
    "jit": lambda a, k: xs.jit(lambda b: xs.jit(lambda: lax.axis_index("i"))() * b)(a),
}


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("name", CROSSING)
def test_programs_that_other_operations_hold_cross_the_axis(name, mapped):
    """Against the same with the examples as an axis of the arrays, in Python."""
    x = np.float32([[1, 2], [3, 1], [2, 2]]) if mapped else np.float32([[1, 2]] * 3)
    given = lambda a: a if mapped else x[0]  # noqa: E731
    found = xs.vmap(lambda a: CROSSING[name](given(a), True), axis_name="i")(x)
    same(xs.jit(xs.vmap(lambda a: CROSSING[name](given(a), True), axis_name="i"))(x), found)
    same(found, by_hand(name, x))


def by_hand(name, x):
    i = np.float32([[0], [1], [2]])
    total = np.repeat(x.sum(0, keepdims=True), 3, 0)
    if name == "cond":
        return total
    if name in ("switch", "jit"):
        return x * i
    if name == "map":
        return total + x
    if name == "while_loop":
        while x.sum() < 99:
            x = np.repeat(x.sum(0, keepdims=True), 3, 0)
        return x
    if name == "fori_loop":
        for n in range(3):
            x = np.repeat(x.mean(0, keepdims=True), 3, 0) + n * i
        return x
    carry, seen = x[:, 0], []
    for k in range(2):
        seen.append(carry + i[:, 0])
        carry = np.repeat((carry * x[:, k]).sum(), 3)
    return carry.astype("float32"), np.stack(seen, 1)


PLACES = {
    "inside": lambda f: xs.vmap(xs.grad(f), axis_name="i"),
    "jit inside": lambda f: xs.vmap(xs.grad(xs.jit(f)), axis_name="i"),
    "outside": lambda f: xs.grad(lambda x: jnp.sum(xs.vmap(f, axis_name="i")(x))),
    "outside of jit": lambda f: xs.jit(xs.grad(lambda x: jnp.sum(xs.vmap(xs.jit(f), axis_name="i")(x)))),
}


@pytest.mark.parametrize("place", PLACES)
def test_rules_that_users_write_may_cross_the_axis(place):
    @xs.custom_jvp
    def forward(a):
        return jnp.sum(lax.psum(a * a, "i"))

    @forward.defjvp
    def _(primals, tangents):
        (a,), (t,) = primals, tangents
        return forward(a), jnp.sum(3 * lax.psum(a * t, "i") + lax.axis_index("i") * t)

    @xs.custom_vjp
    def backward(a):
        return jnp.sum(a)

    backward.defvjp(lambda a: (jnp.sum(a), a), lambda a, ct: (5 * lax.psum(ct, "i") * a + lax.axis_index("i"),))
    x = np.float32([[1, 2], [3, 1], [2, 2]])
    i = np.float32([[0], [1], [2]])
    # The tangent of all three results is three times the sum of 3 a t, and each example's own i t.
    same(PLACES[place](forward)(x), 9 * x + i)
    same(PLACES[place](backward)(x), 15 * x + i)


@pytest.mark.parametrize("place", PLACES)
def test_a_rematerialized_function_may_cross_the_axis(place):
    x = np.float32([[1, 2], [3, 1], [2, 2]])
    same(PLACES[place](xs.checkpoint(lambda a: jnp.sum(lax.psum(a * a, "i"))))(x), 6 * x)


# What goes wrong ----------------------------------------------------------------------------------------------------

UNBOUND = {
    "psum": lambda a: lax.psum(a, "k"),
    "psum of a number": lambda a: lax.psum(1, "k"),
    "pmean": lambda a: lax.pmean(a, "k"),
    "pmax": lambda a: lax.pmax(a, ("i", "k")),
    "pmin": lambda a: lax.pmin(a, "k"),
    "all_gather": lambda a: lax.all_gather(a, "k"),
    "all_to_all": lambda a: lax.all_to_all(a, "k", 0, 0),
    "psum_scatter": lambda a: lax.psum_scatter(a, "k"),
    "ppermute": lambda a: lax.ppermute(a, "k", []),
    "pshuffle": lambda a: lax.pshuffle(a, "k", [0]),
    "pbroadcast": lambda a: lax.pbroadcast(a, "k", 0),
    "axis_index": lambda a: a * lax.axis_index("k"),
    "axis_size": lambda a: a * lax.axis_size("k"),
}


@pytest.mark.parametrize("name", UNBOUND)
def test_a_name_that_is_not_bound_says_which_are(name):
    f, what = UNBOUND[name], name.split()[0]
    x = np.ones((3, 3), "float32")
    with pytest.raises(
        NameError, match=rf"{what}: unbound axis name 'k'. The names bound here: 'i', 'j'\.\n.*axis_name='k'"
    ):
        xs.vmap(xs.vmap(f, axis_name="j"), axis_name="i")(np.ones((2, 3, 3)))
    for call in (lambda: f(x), lambda: xs.jit(f)(x), lambda: xs.vmap(f)(x)):
        if "i" in f.__code__.co_consts:
            continue
        with pytest.raises(NameError, match="The names bound here: none"):
            call()
    assert STATE.axes == () and STATE.batch is None


WRONG = {
    "scatter": (lambda a: lax.psum_scatter(a, "i"), "axis 0 of shape (6, 5) has size 6, but the axis 'i' has size 3"),
    "scatter, hint": (lambda a: lax.psum_scatter(a, "i"), "Use tiled=True"),
    "scatter tiled": (lambda a: lax.psum_scatter(a, "i", scatter_dimension=1, tiled=True), "no 3 equal parts"),
    "all_to_all": (lambda a: lax.all_to_all(a, "i", 1, 0), "axis 1 of shape (6, 5) has size 5"),
    "all_to_all tiled": (lambda a: lax.all_to_all(a, "i", 1, 0, tiled=True), "no 3 equal parts"),
    "all_gather axis": (lambda a: lax.all_gather(a, "i", axis=3), "all_gather along axis 3, where there are 3 axes"),
    "tiled axis": (lambda a: lax.all_gather(a, "i", axis=2, tiled=True), "axis 2, where there are 2 axes"),
    "position": (lambda a: lax.psum(a, ("i", 2)), "axis 2, where there are 2 axes"),
    "targets": (lambda a: lax.ppermute(a, "i", [(0, 1), (2, 1)]), "the targets [1, 1] have to be different numbers"),
    "sources": (lambda a: lax.ppermute(a, "i", [(3, 1)]), "the sources [3] have to be different numbers from 0 to 2"),
    "pshuffle": (lambda a: lax.pshuffle(a, "i", [0, 1]), "[0, 1] is no permutation of 0 to 2"),
    "pbroadcast": (lambda a: lax.pbroadcast(a, "i", 3), "no example 3 along 'i', which has size 3"),
    "twice": (lambda a: lax.psum(a, ("i", "i")), "names an axis twice"),
    "groups": (
        lambda a: lax.psum(a, "i", axis_index_groups=[[0, 1]]),
        "each index from 0 to 2, along 'i', has to be in",
    ),
    "uneven": (lambda a: lax.all_gather(a, "i", axis_index_groups=[[0, 1], [2]]), "all_gather have to be of one size"),
    "no groups": (lambda a: lax.pmax(a, "i", axis_index_groups=[0, 1, 2]), "of pmax is a list of lists of indices"),
    "groups of two axes": (
        lambda a: xs.vmap(lambda b: lax.psum(b, ("i", "j"), axis_index_groups=[range(18)]), axis_name="j")(a),
        "it can cross no other",
    ),
    "a group's size": (
        lambda a: lax.psum_scatter(a, "i", axis_index_groups=[[0, 2, 1]]),
        "axis 0 of shape (6, 5) has size 6, but a group of axis_index_groups has size 3",
    ),
    "no array": (lambda a: lax.psum("text", "i"), "of type str is not a valid array"),
}


@pytest.mark.parametrize("wrapped", [lambda f: f, xs.jit], ids=["alone", "jit"])
@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_said(name, wrapped):
    f, text = WRONG[name]
    with pytest.raises((ValueError, TypeError, NotImplementedError)) as caught:
        xs.vmap(wrapped(f), axis_name="i")(np.ones((3, 6, 5), "float32"))
    assert text in str(caught.value)


@pytest.mark.parametrize("name", [7, ("a", "b"), ["a"]])
def test_an_axis_name_is_one_name(name):
    with pytest.raises(TypeError, match="axis_name is one name"):
        xs.vmap(lambda x: x, axis_name=name)


def test_an_axis_of_a_mesh_changes_no_value():
    same(xs.vmap(lambda a: a * 2, spmd_axis_name="data")(np.ones(3, "float32")), np.full(3, 2, "float32"))


def test_names_may_be_any_objects():
    key = object()
    same(xs.vmap(lambda a: lax.psum(a, key), axis_name=key)(np.ones(3, "float32")), np.full(3, 3, "float32"))


def test_a_collective_that_nobody_carries_out_cannot_be_compiled():
    kept = []
    xs.vmap(lambda a: kept.append(xs.make_jaxpr(lambda b: lax.psum(b, "i"))(a)) or a, axis_name="i")(np.ones(3))
    assert [equation.primitive for equation in kept[0].eqns] == [lax.psum_p]
    with pytest.raises(NameError, match="'i', which is not bound by a pmap or shard_map"):
        lower(kept[0], "f")


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize(
    "transform", [lambda f: f, xs.jit, xs.grad, lambda f: xs.vmap(f, axis_name="j", axis_size=2, in_axes=None)]
)
def test_an_interrupt_leaves_no_axis_behind(transform, error):
    def f(a):
        lax.psum(a, "i")
        raise error

    with pytest.raises(error):
        xs.vmap(transform(f), axis_name="i")(np.ones(3, "float32"))
    assert STATE.axes == () and STATE.batch is None and STATE.trace is None


def test_axes_belong_to_their_thread():
    found = []

    def elsewhere():
        try:
            lax.axis_size("i")
        except NameError as error:
            found.append(error)

    def f(a):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return a * lax.axis_size("i")

    same(xs.vmap(f, axis_name="i")(np.ones(3, "float32")), np.full(3, 3, "float32"))
    assert len(found) == 1
