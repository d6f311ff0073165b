"""What users are told when something is wrong: what, where, and the way out. One row, one message."""

import dataclasses
import enum
import functools
import math
from pathlib import Path

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import errors, lax, random
from xlascope.ir.avals import make_aval
from xlascope.ir.checker import check_jaxpr
from xlascope.ir.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var
from xlascope.operations.arithmetic import Add
from xlascope.operations.trigonometry import Sin

KEY = xs.random.PRNGKey(0)


def identity(x):
    return x


@xs.jit
def in_a_loop(x, n):
    return lax.fori_loop(0, n, lambda i, v: v * x, 1.0)


def decorate(option):
    """What is written in place of ``@xs.jit``."""
    return f"static: in place of @xs.jit write @functools.partial(xs.jit, {option})"


def pair_of(backward):
    """A function with that backward rule."""
    function = xs.custom_vjp(lambda x: x)
    function.defvjp(lambda x: (x, x), backward)
    return function


class Slip:
    def __repr__(self):
        return "a slip"

    def method(self):
        return 1.0


@dataclasses.dataclass
class DataSlip:
    w: float


# (what is done, the type of the error, what its message has to hold)
MESSAGES = [
    # values that are not there yet
    (
        lambda: xs.jit(lambda x: 1 if x else 2)(1.0),
        errors.TracerBoolConversionError,
        ["truth value", __file__, "lax.cond", "numpy.where"],
    ),
    (lambda: xs.jit(lambda x: int(x))(1.0), errors.ConcretizationTypeError, ["number", __file__, "static_argnums"]),
    (lambda: xs.jit(lambda x: float(x))(1.0), errors.ConcretizationTypeError, ["number", __file__]),
    (lambda: xs.jit(lambda x: x.item())(1.0), errors.ConcretizationTypeError, [__file__]),
    (lambda: xs.jit(lambda n: list(range(n)))(3), errors.TracerIntegerConversionError, ["integer", __file__, "static"]),
    (lambda: xs.jit(lambda x: [1, 2, 3][x])(1), errors.TracerIntegerConversionError, ["integer", __file__]),
    (lambda: xs.jit(lambda x: np.sin(x))(1.0), errors.TracerArrayConversionError, ["xlascope.numpy", __file__]),
    (lambda: xs.jit(lambda x: np.asarray(x))(1.0), errors.TracerArrayConversionError, ["xlascope.numpy"]),
    (lambda: xs.jit(lambda n: jnp.zeros((n,)))(3), errors.TracerIntegerConversionError, ["static", __file__]),
    (
        lambda: xs.jit(lambda x: f"{x:.3f}")(1.0),
        errors.ConcretizationTypeError,
        ["text of format '.3f'", __file__, "debug.print"],
    ),
    (
        lambda: xs.jit(lambda i: np.arange(3)[i])(1),
        errors.TracerArrayConversionError,
        ["asarray(a)[i]", __file__],
    ),
    (
        lambda: xs.jit(jnp.repeat)(jnp.ones(3), jnp.arange(3)),
        errors.ConcretizationTypeError,
        ["repeat: the size", __file__, "total_repeat_length"],
    ),
    # everyday slips of arrays
    (lambda: jnp.zeros(3).__delitem__(0), TypeError, ["del x[index]", "numpy.delete", __file__]),
    (lambda: xs.jit(lambda x: x.__delitem__(0))(jnp.zeros(3)), TypeError, ["del x[index]", "numpy.delete"]),
    (lambda: jnp.zeros(3).at.__setitem__(0, 1.0), TypeError, ["x.at[index].set(y)", __file__]),
    (lambda: jnp.zeros(3).at(0), TypeError, ["brackets", "x.at[index].set(y)", __file__]),
    (lambda: jnp.array([[1, 2], [3]]), ValueError, ["different lengths", __file__, "All rows need one length: pad"]),
    (lambda: jnp.sum([1, 2]), TypeError, ["list", "2 elements", "array(", __file__]),
    (lambda: jnp.linalg.inv([[1.0, 2.0], [3.0, 4.0]]), TypeError, ["list", "2 elements", "array(", __file__]),
    (lambda: jnp.sum(x for x in range(3)), TypeError, ["argument a of sum", "array(list("]),
    (lambda: jnp.concatenate(jnp.ones(3), jnp.ones(3)), TypeError, ["one list", "concatenate([x, y], axis=0)"]),
    (lambda: jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))]), TypeError, ["f32[2,3] and f32[2,4]", __file__]),
    (lambda: jnp.zeros(3, 4), TypeError, ["dtype", "4", "zeros((3, 4))"]),
    (lambda: xs.random.normal((3,)), TypeError, ["takes a key as its first argument", "(3,)", __file__]),
    (lambda: xs.random.normal(np.random.default_rng(0)), TypeError, ["random.key(0)", "Generator", __file__]),
    (
        lambda: xs.jit(Slip.method)(Slip()),
        TypeError,
        ["argument self of method", "static_argnums=0"],
    ),
    (lambda: xs.jit(identity)(Slip()), TypeError, ["argument x of identity", "register_pytree_node_class"]),
    (lambda: xs.jit(identity)(DataSlip(1.0)), TypeError, ["argument x of identity", "register_dataclass"]),
    # trees that differ
    (
        lambda: xs.tree.map(max, {"a": 1}, {"a": 1}, {"b": 1}),
        ValueError,
        ["tree.map: tree 3", "a dict of 'a', this one a dict of 'b'", "lacks 'a'; it should not have 'b'", __file__],
    ),
    (
        lambda: xs.tree.map(max, {"p": (1, None)}, {"p": (1, 2)}),
        ValueError,
        ["tree.map: tree 2", "at ['p'][1] the first one has None", "is_leaf=lambda x: x is None", __file__],
    ),
    (lambda: xs.tree.map(max, [[1, 2]], [[1, 2, 3]]), ValueError, ["at [0]", "a list of 2", "a list of 3", __file__]),
    (lambda: xs.tree.map(max, [(1, 2)], [3]), ValueError, ["at [0]", "a leaf of type int", "of the same kinds"]),
    (
        lambda: xs.tree.map_with_path(lambda *x: x, [1], [1, 2]),
        ValueError,
        ["tree.map_with_path: tree 2", "at its root", __file__],
    ),
    (lambda: xs.tree.broadcast([1], [1, 2]), ValueError, ["tree.broadcast: tree 2", __file__]),
    (lambda: xs.tree.leaves({"a": {"w": 1, 0: 2}}), ValueError, ["'w', 0", "cannot be sorted", "str(k)", __file__]),
    (lambda: xs.tree.leaves_with_path({"w": 1, 0: 2}), ValueError, ["'w', 0", "cannot be sorted", __file__]),
    (lambda: xs.grad(lambda p: p["w"])({"w": 1.0, 0: 2.0}), ValueError, ["'w', 0", "cannot be sorted", __file__]),
    (lambda: xs.jit(lambda x: {"w": x, 0: x})(1.0), ValueError, ["'w', 0", "cannot be sorted", __file__]),
    # sizes that are traced
    (
        lambda: xs.jit(lambda x: jnp.ones(jnp.add(x.size, 1)))(np.ones(3)),
        errors.TracerIntegerConversionError,
        ["computed by add from known values alone", "x.size + 1", __file__],
    ),
    (
        lambda: xs.jit(lambda x: jnp.ones(x + 1))(3),
        errors.TracerIntegerConversionError,
        ["computed by add from the argument x", "Make x static: jit(f, static_argnums=0)", __file__],
    ),
    (
        lambda: xs.jit(lambda i: jnp.arange(i, i + 2))(3),
        errors.ConcretizationTypeError,
        ["arange: the start is the argument i", "start + xlascope.numpy.arange(n)", __file__],
    ),
    (
        lambda: xs.jit(lambda x: x.at[x > 1].set(0))(np.ones(3)),
        errors.NonConcreteBooleanIndexError,
        ["the part to change", "xlascope.numpy.where(mask, y, x) in place of x.at[mask].set(y)", __file__],
    ),
    (
        lambda: xs.jit(lambda x: x[x > 1].sum())(np.ones(3)),
        errors.NonConcreteBooleanIndexError,
        ["the result", "where(mask, x, 0)", "x.sum(where=mask)", __file__],
    ),
    (lambda: xs.jit(lambda x, i: x[i : i + 2])(np.ones(3), 1), IndexError, ["dynamic_slice_in_dim", __file__]),
    # containers in place of arrays
    (
        lambda: jnp.sum((jnp.zeros(1), {})),
        TypeError,
        ["sum takes one array, got a tuple (element 1 is a dict)", "sum(xlascope.numpy.sum(x) for x in", __file__],
    ),
    (
        lambda: jnp.sin({"a": 1.0}),
        TypeError,
        ["sin takes one array, got a dict", "xlascope.tree.map(xlascope.numpy.sin, tree)", __file__],
    ),
    (
        lambda: lax.cond(True, lambda: {"a": 1.0}, lambda: {}),
        TypeError,
        [
            "structure: result from true_fun is a dict of 'a' and from false_fun an empty dict.",
            "the same kinds, lengths and keys",
            "zeros_like",
            __file__,
        ],
    ),
    (
        lambda: xs.grad(lambda x: in_a_loop(x, 3))(2.0),
        ValueError,
        ["(in in_a_loop)", "make n " + decorate("static_argnums=1"), "custom_vjp", __file__],
    ),
    # text and names
    (lambda: xs.jit(lambda x: xs.debug.print(f"{x}", x=x))(1.0), ValueError, ["leave out the f", __file__]),
    (lambda: xs.debug.print("loss", 1.0), ValueError, ["unused arguments 0", "'x = {}', x", __file__]),
    (lambda: xs.debug.print("{y}", x=1.0), KeyError, ["field 'y'", "x=x", __file__]),
    (
        lambda: xs.jit(lambda x: jnp.nonzero(x))(np.ones(3)),
        errors.ConcretizationTypeError,
        ["a.prod(where=a != 0)", "nonzero(a, size=n)", "index 0 unless fill_value", __file__],
    ),
    (lambda: xs.grad(pair_of(lambda x, g: g))(1.0), TypeError, ["a tuple", "return (ct_0,)", __file__]),
    (lambda: xs.random.normal(xs.random.split(xs.random.key(0), 3)), ValueError, ["vmap(lambda key", __file__]),
    (lambda: xs.random.normal(42), TypeError, ["takes a key (from random.key) as", "random.key(42)", __file__]),
    (lambda: xs.jit(lambda x, n: x, static_argnames="m")(1, 2), ValueError, ["x, n", "Name one of these", __file__]),
    (lambda: lax.psum(1.0, "i"), NameError, ["vmap(f, axis_name='i')", "shard_map", "make_mesh", __file__]),
    # arguments and results
    (lambda: xs.jit(identity)("text"), TypeError, ["argument x of identity", "'text'", "static"]),
    (lambda: xs.jit(identity)({"a": [object()]}), TypeError, ["argument x['a'][0] of identity"]),
    (lambda: xs.jit(lambda x: "text")(1.0), TypeError, ["result", "'text'"]),
    (lambda: xs.jit(lambda x: {"a": (1, "text")})(1.0), TypeError, ["as result['a'][1] ('text')"]),
    (lambda: xs.jit(3), TypeError, ["jit takes a function", "3"]),
    (lambda: jnp.sin([1.0, 2.0]), TypeError, ["list", "array("]),
    (lambda: jnp.zeros(2).__add__([1.0, 2.0]), TypeError, ["list", "array("]),
    # derivatives
    (lambda: xs.grad(identity)(3), TypeError, ["argument 0", "int32", "astype(float)", "identity"]),
    (lambda: xs.grad(identity)(np.ones(2)), TypeError, ["scalar", "(2,)", "jacrev"]),
    (lambda: xs.grad(lambda x: (x, x))(1.0), TypeError, ["tuple", "has_aux"]),
    (lambda: xs.grad(lambda x: jnp.argmax(jnp.stack([x, x])))(1.0), TypeError, ["floating-point result", "int32"]),
    (lambda: xs.grad(identity, argnums=1)(1.0), TypeError, ["argnums=1", "1 positional"]),
    (lambda: xs.grad(identity, has_aux=True)(1.0), TypeError, ["pair (result, aux)"]),
    (lambda: xs.grad(lambda p: p["a"])({"a": 1}), TypeError, ["argument 0['a']", "int32"]),
    (lambda: xs.jvp(identity, 1.0, 1.0), TypeError, ["tuples"]),
    (lambda: xs.jvp(identity, (1.0,), (1.0, 2.0)), TypeError, ["structure"]),
    (lambda: xs.jvp(identity, (np.ones(2),), (np.ones(3),)), ValueError, ["(3,)", "(2,)"]),
    (lambda: xs.vjp(identity, 1.0)[1]((1.0, 2.0)), ValueError, ["structure"]),
    (lambda: xs.vjp(identity, np.ones(2, "f4"))[1](np.ones(2, "i4")), ValueError, ["int32", "float32"]),
    (lambda: xs.vjp(identity, np.ones(2, "f4"))[1](np.ones(3, "f4")), ValueError, ["(3,)", "(2,)"]),
    (lambda: xs.linearize(identity, 1.0)[1](1.0, 2.0), TypeError, ["structure"]),
    (lambda: xs.jacfwd(identity)(3), TypeError, ["int32"]),
    (lambda: xs.jacrev(identity)(3), TypeError, ["int32"]),
    (lambda: xs.pmap(identity, out_axes=3)(np.ones((1, 2))), ValueError, ["out_axes has 3", "a result of 1 axes"]),
    (lambda: xs.pmap(identity, in_axes=3)(np.ones((1, 2))), ValueError, ["in_axes", "3"]),
    # arrays
    *(
        (functools.partial(create, shape), TypeError, ["no negative sizes", "-1"])
        for create in (
            jnp.zeros,
            jnp.ones,
            jnp.empty,
            lambda s: jnp.full(s, 2.0),
            lambda s: jnp.zeros_like(0.0, shape=s),
        )
        for shape in (-1, (2, -1), np.array([-1]))
    ),
    (lambda: jnp.zeros(3).__setitem__(0, 1.0), TypeError, [".at[index].set(y)"]),
    (lambda: xs.jit(lambda x: x.__setitem__(0, 1.0))(np.ones(3)), TypeError, [".at[index].set(y)"]),
    (lambda: bool(jnp.zeros(3)), ValueError, ["ambiguous", "any()"]),
    (lambda: jnp.zeros(3) + jnp.zeros(4), (TypeError, ValueError), ["(3,)", "(4,)"]),
    (lambda: jnp.zeros((2, 3)) @ jnp.zeros((2, 3)), (TypeError, ValueError), ["(2, 3)"]),
    # random numbers
    (lambda: xs.random.normal(0), TypeError, ["random.normal", "random.key(0)"]),
    (lambda: xs.random.normal(xs.random.split(KEY, 3)), TypeError, ["vmap"]),
    (lambda: xs.random.normal(np.zeros(2)), TypeError, ["f32[2]", "split"]),
    (lambda: xs.random.normal(KEY, 3.5), TypeError, ["(3,)", "3.5"]),
    (lambda: xs.random.normal(KEY, (-1,)), ValueError, ["negative"]),
    (lambda: xs.random.normal(KEY, (3,), "int32"), TypeError, ["floating-point", "int32"]),
    (lambda: xs.jit(lambda n: xs.random.normal(KEY, (n,)))(3), TypeError, ["known while tracing"]),
    (lambda: xs.random.PRNGKey(1.5), TypeError, ["integer"]),
    (lambda: xs.random.PRNGKey(np.arange(3)), TypeError, ["vmap(PRNGKey)"]),
    (lambda: xs.random.PRNGKey(2**64), OverflowError, ["64 bits"]),
    (lambda: xs.random.PRNGKey(0, impl="philox"), ValueError, ["threefry2x32", "philox"]),
    (lambda: xs.random.randint(KEY, (), 1j, 9), TypeError, ["minval", "c64"]),
    (lambda: xs.random.randint(KEY, (), 0, 9, float), TypeError, ["integer dtype"]),
    (lambda: xs.random.bits(KEY, (), "int32"), TypeError, ["unsigned", "int32"]),
    (lambda: xs.random.uniform(KEY, (2,), minval=np.zeros(3)), ValueError, ["(3,)", "(2,)"]),
    (lambda: xs.random.categorical(KEY, np.zeros((2, 3)), shape=(3,)), ValueError, ["(2,)", "(3,)"]),
    (lambda: xs.random.choice(KEY, 3, (4,), replace=False), ValueError, ["4 cannot be drawn from 3"]),
    (lambda: xs.random.bernoulli(KEY, 1), TypeError, ["floating-point"]),
    # the rest
    (lambda: xs.config.update("jax_no_such_setting", 1), AttributeError, ["no_such_setting", "enable_x64"]),
    (lambda: xs.config.no_such_setting, AttributeError, ["no_such_setting"]),
    (lambda: xs.no_such_name, AttributeError, ["no_such_name"]),
    (lambda: xs.jit(identity, backend="abacus")(1.0), RuntimeError, ["abacus", "cpu"]),
    (lambda: xs.tree.map(lambda x, y: x, [1, 2], [1]), ValueError, []),
    (lambda: xs.nn.one_hot(np.arange(3), 3, axis=5), ValueError, ["axis 5"]),
    (lambda: xs.nn.softmax(np.ones(3), axis=1), ValueError, ["axis 1", "1 axes"]),
    (
        lambda: xs.grad(lambda x: float(x) * x)(5.0),
        errors.ConcretizationTypeError,
        ["without a derivative", "stop_gradient"],
    ),
    (
        lambda: xs.grad(lambda x: math.sqrt(x) * x)(5.0),
        errors.ConcretizationTypeError,
        ["Use xlascope.numpy.sqrt instead of math.sqrt", __file__],
    ),
    (lambda: xs.jvp(lambda x: x.tolist() * x, (5.0,), (1.0,)), errors.ConcretizationTypeError, ["x.tolist()"]),
    (lambda: xs.jvp(lambda x: abs(complex(x)) * x, (5.0,), (1.0,)), errors.ConcretizationTypeError, ["complex(x)"]),
    (lambda: xs.jit(lambda x, n: x, static_argnums=9)(1, 2), ValueError, ["0 is x, 1 is n"]),
    (lambda: xs.vmap(lambda x, y: x, in_axes=(0,))(np.ones(3), 2.0), ValueError, ["in_axes=(0, None)"]),
    (
        lambda: xs.vmap(lambda x, y: x, in_axes=(0, 1))(np.ones((10, 4)), np.ones((10, 2))),
        ValueError,
        ["x: 10, y: 2", "x is mapped along axis 0 of shape (10, 4)", "y is mapped along axis 1 of shape (10, 2)"],
    ),
    (lambda: lax.scan(lambda c, x: (c, c), 0.0, (np.ones(19), np.ones(18))), ValueError, ["19", "18", "x[:18]"]),
    (lambda: lax.cond(lambda x: x > 0, lambda: 1, lambda: 2), TypeError, ["Call it: cond(f(operand), …)."]),
    (lambda: lax.cond(identity, lambda: 1, lambda: 2), TypeError, ["Call it: cond(identity(operand), …)."]),
    (
        lambda: jnp.ones((2, 4)) + jnp.ones(2),
        ValueError,
        ["(2, 4) and (2,)", "\nGive the one of shape (2,)", "x[:, None]"],
    ),
    (
        lambda: jnp.ones((32, 128)) @ jnp.ones((784, 128)),
        TypeError,
        ["they have to be equal.\nTranspose the second one: a @ b.T\nAt ", __file__],
    ),
    (lambda: jnp.ones((5, 2)) @ jnp.ones((5, 3)), TypeError, ["Transpose the first one: a.T @ b"]),
    (lambda: jnp.arange(10)[10 / 2], TypeError, ["got 5.0", "// instead of /"]),
    (lambda: jnp.array("3.4"), TypeError, ["float(text)"]),
    (
        lambda: xs.jit(lambda x: (x, Slip.method))(1.0),
        TypeError,
        ["as result[1], but a jitted function", "Leave it out of the result", __file__],
    ),
    (lambda: xs.grad(lambda x: x * x)(3), TypeError, ["3.0 for 3"]),
    (lambda: xs.jit(lambda n: random.normal(random.key(0), (n,)))(3), TypeError, ["static_argnums"]),
    (
        lambda: xs.devices("gpu"),
        RuntimeError,
        ["no GPU was found", "\nWrite devices() or devices('cpu'). If", __file__],
    ),
    (lambda: lax.pmean(jnp.ones(2), "i"), NameError, ["Without a mapped axis", "x.mean()", __file__]),
]


@pytest.mark.parametrize("row", range(len(MESSAGES)))
def test_the_message_says_what_where_and_the_way_out(row):
    act, error, fragments = MESSAGES[row]
    with pytest.raises(error) as caught:
        act()
    message = str(caught.value)
    assert not [fragment for fragment in fragments if fragment not in message], message
    assert len(message) < 1000


# Where a value is not known, what each line of the message is about: what, the fix, the user's line. -----------------


class Mode(enum.Enum):
    A = 1
    B = "text"


@xs.jit
def euler(x, n):
    for _ in range(n):
        x = x + 0.1 * x
    return x


@xs.jit
def smallest(x, axis):
    return x.min(axis)


@xs.jit
def upto(n):
    return jnp.arange(0, n, 1)


@xs.jit
def window(x):
    return jnp.arange(x[0] - 1, x[0] + 1)


@xs.jit
def named(x, *, n):
    return jnp.zeros(n) + x


@xs.jit
def element(i):
    return [1.0, 2.0, 3.0][i]


@functools.partial(xs.jit, donate_argnums=1)
def zeros_added(x, n):
    return jnp.zeros(n) + x


@functools.partial(xs.jit, static_argnums=2)
def ones_added(x, n, m):
    return jnp.ones((n, m)) + x


@xs.jit
def sample(key, size):
    return random.randint(key, (size,), 0, 10)


def escape(c):
    return c if c > 2.0 else 0.0


def scaled(x, scale):
    return x * scale


def weighted(p, x):
    return p["w"] * x + p["b"]


def body(state, x):
    total, n = state
    return (total + x, n + 0.5), None


def grown(i, state):
    a, b = state
    return a - b[i], b


# (what is done, the first line after the class, the second)
LINES = [
    (
        lambda: xs.vmap(escape)(jnp.ones(4)),
        "the truth value of Traced<bool[]> is not known while the function is traced. It stands for every example of a "
        "vmap at once.",
        "Under vmap one `if` would have to go both ways at once. Choose values with xlascope.numpy.where(condition, a, "
        "b); for a loop that stops early use xlascope.lax.while_loop.",
    ),
    (
        lambda: xs.jit(xs.vmap(escape))(jnp.ones(4)),
        "It stands for every example of a vmap at once.",
        "Under vmap one `if` would have to go both ways at once. Choose values with xlascope.numpy.where(condition, a, "
        "b); for a loop that stops early use xlascope.lax.while_loop.",
    ),
    (
        lambda: xs.vmap(lambda n: jnp.zeros(n))(jnp.arange(3)),
        "It stands for every example of a vmap at once.",
        "Under vmap a size, an axis or the length of a range() has to be the same for all examples: in_axes=None for "
        "its argument makes it so.",
    ),
    (
        lambda: smallest(jnp.arange(4), 0),
        "is not known while smallest is traced. It is the argument axis of smallest.",
        "Make axis " + decorate("static_argnums=1") + ".",
    ),
    (
        lambda: euler(1.0, 5),
        "is not known while euler is traced. It is the argument n of euler.",
        "Make n " + decorate("static_argnums=1") + ". Or loop with xlascope.lax.fori_loop(0, n, body, x).",
    ),
    (lambda: named(1.0, n=3), "It is the argument n of named.", "Make n " + decorate("static_argnames='n'") + "."),
    (
        lambda: zeros_added(1.0, 3),
        "It is the argument n of zeros_added.",
        "Make n static: add static_argnums=1 in the decorator of zeros_added.",
    ),
    (
        lambda: ones_added(1.0, 3, 4),
        "It is the argument n of ones_added.",
        "Make n static: add 1 to static_argnums in the decorator of ones_added.",
    ),
    (
        lambda: sample(random.key(0), "text"),
        "argument size of sample of type str is not a valid array: 'text'.",
        "Make size " + decorate("static_argnums=1") + ".",
    ),
    (
        lambda: xs.jit(Slip.method)(Slip()),
        "argument self of method of type Slip is not a valid array: a slip.",
        "Where the object has a hash and does not change, make self static: jit(method, static_argnums=0). Or register "
        "its class as a container of arrays (xlascope.tree_util.register_pytree_node_class).",
    ),
    (
        lambda: element(1),
        "It is the argument i of element.",
        "Make an array of the list: xlascope.numpy.asarray(list)[i].",
    ),
    (
        lambda: upto(5),
        "arange: the stop is the argument n, so the number of elements isn't known while upto is traced.",
        "Make n " + decorate("static_argnums=0") + ".",
    ),
    (
        lambda: window(np.zeros(1, int)),
        "arange: the start depends on the argument x, so the number of elements isn't known while window is traced.",
        "If you know the length n, write start + xlascope.numpy.arange(n).",
    ),
    (lambda: sample(random.key(0), 5), "got (Traced<i32[]>,).", "Make size " + decorate("static_argnums=1") + "."),
    (
        lambda: xs.grad(lambda x: np.sin(x).sum())(np.ones((2, 2))),
        "numpy.sin was given a value that is being differentiated (Traced<f32[2,2]>): NumPy would make a constant of "
        "it, without a derivative.",
        "Use xlascope.numpy.sin.",
    ),
    (
        lambda: xs.jit(lambda x: np.sin(x))(1.0),
        "a NumPy function needs values, and a traced array has none yet. It is the argument x of <lambda>.",
        "Use xlascope.numpy.sin.",
    ),
    (
        lambda: xs.jit(lambda x: sum(map(np.sin, [x])))(1.0),
        "A NumPy function was given Traced<f32[]> while <lambda> is traced: a NumPy function needs values, and a "
        "traced array has none yet. It is the argument x of <lambda>.",
        "Use xlascope.numpy in place of numpy.",
    ),
    (
        lambda: xs.grad(lambda x: float(x) ** 2 + x)(5.0),
        "would be a constant without a derivative.",
        "Leave float() away: arrays can be computed with. To make it a constant: float(xlascope.lax.stop_gradient(x)).",
    ),
    (
        lambda: xs.jit(lambda x: (x, Mode.A))(1.0),
        "<lambda> returns a value of type Mode as result[1], but a jitted function can only return arrays and numbers.",
        "Return Mode.A.value and make Mode(…) of it after the call, or leave it out of the result and use it where the "
        "function is called.",
    ),
    (
        lambda: xs.jit(lambda x: (x, Mode.B))(1.0),
        "of type Mode as result[1], but a jitted function can only return arrays and numbers.",
        "Leave it out of the result and use it where the function is called.",
    ),
    (
        lambda: xs.jit(scaled)(1.0, "not a number"),
        "argument scale of scaled of type str is not a valid array: 'not a number'.",
        "Make scale static: jit(scaled, static_argnums=1).",
    ),
    (
        lambda: xs.jit(scaled)(1.0, "2.5"),
        "argument scale of scaled of type str is not a valid array: '2.5'.",
        "Make scale static: jit(scaled, static_argnums=1). Or make a number of it: float(text).",
    ),
    (
        lambda: jnp.max({"a": jnp.ones(2), "b": jnp.ones(3)}),
        "max takes one array, got a dict.",
        "For the maximum of all arrays in a tree: xlascope.tree.reduce(xlascope.numpy.maximum, "
        "xlascope.tree.map(xlascope.numpy.max, tree))",
    ),
    (
        lambda: lax.scan(body, (0.0, jnp.zeros((), jnp.int32)), jnp.arange(3.0)),
        "scan: carry[1] starts as i32[] but body returns it as f32[]; a carry has to keep its type.",
        "Start carry[1] as a float (0.0 or xlascope.numpy.zeros((), 'float32')).",
    ),
    (
        lambda: lax.scan(lambda c, x: (c.astype(int), x), jnp.zeros(2), jnp.arange(3.0)),
        "scan: carry starts as f32[2] but the body returns it as i32[2]; a carry has to keep its type.",
        "Return carry from the body as float32: xlascope.numpy.asarray(y, 'float32').",
    ),
    (
        lambda: lax.fori_loop(0, 9, grown, (0, jnp.ones([10, 10]))),
        "fori_loop: carry[0] starts as i32[] but grown returns it as f32[10]; a carry has to keep its type.",
        "Start carry[0] with the shape that grown returns: xlascope.numpy.zeros(10).",
    ),
    (
        lambda: lax.cond(True, lambda x: x, lambda x: 0, jnp.float32(3.0)),
        "cond: true_fun returns f32[], false_fun returns i32[] (a Python int); its functions have to return the same "
        "types.",
        "Write 0.0 instead of 0, or xlascope.numpy.zeros_like(x).",
    ),
    (
        lambda: lax.cond(True, lambda x: x, lambda x: x.sum(), jnp.ones(3)),
        "cond: true_fun returns f32[3], false_fun returns f32[]; its functions have to return the same types.",
        "Give the result of false_fun the shape (3,): xlascope.numpy.broadcast_to(y, (3,)).",
    ),
    (
        lambda: xs.vmap(scaled)(jnp.arange(3.0), 2.0),
        "vmap of scaled: scale is a scalar and has no axis 0.",
        "Share it among all examples: vmap(scaled, in_axes=(0, None)).",
    ),
    (
        lambda: xs.vmap(weighted)({"w": jnp.ones(3), "b": 1.0}, jnp.arange(3.0)),
        "vmap of weighted: p['b'] is a scalar and has no axis 0.",
        "Share it among all examples: vmap(weighted, in_axes=({'b': None, 'w': 0}, 0)).",
    ),
    (
        lambda: xs.vmap(scaled, in_axes=(0,))(jnp.ones(3), jnp.ones(3)),
        "vmap of scaled: in_axes has 1 entry, but scaled gets 2 arguments, x and scale.",
        "in_axes=(0, 0) maps both (in_axes=0 is the same); in_axes=(0, None) maps x only and gives every example all "
        "of scale.",
    ),
    (
        lambda: xs.vmap(scaled, in_axes=(0, None, 0))(jnp.ones(3), 1.0),
        "vmap of scaled: in_axes has 3 entries, but scaled gets 2 arguments, x and scale.",
        "Give one entry for each: in_axes=(0, None).",
    ),
    (
        lambda: xs.tree.map(scaled, {"w": None}, {"w": 2.0}),
        "at ['w'] the first one has None, this one a leaf of type float.",
        "None counts as an empty tree, not as a leaf. To keep it: tree.map(lambda x, *others: None if x is None else "
        "f(x, *others), first, ..., is_leaf=lambda x: x is None).",
    ),
    (
        lambda: jnp.dot(jnp.ones((32, 128)), jnp.ones((784, 128))),
        "dot of shapes (32, 128) and (784, 128): the last axis of the first has size 128, the first axis of the second "
        "784; they have to be equal.",
        "Transpose the second one: dot(a, b.T)",
    ),
    (
        lambda: jnp.ones((5, 2, 3)) @ jnp.ones((5, 4, 3)),
        "the last axis of the first has size 3, the last but one axis of the second 4; they have to be equal.",
        "Transpose the second one: a @ b.mT",
    ),
    (
        lambda: xs.grad(pair_of(lambda x, g: g))(1.0),
        "returned one array; it has to return a tuple with the cotangent of the one argument.",
        "Write return (ct_0,): a tuple of one, with a comma.",
    ),
    (
        lambda: xs.tree.map(max, {"w": [1, 2, 3]}, {"w": [1, 2, 3, 4]}),
        "at ['w'] the first one has a list of 3, this one a list of 4.",
        "Shorten ['w'] of tree 2 to 3 elements (or lengthen that of the first one to 4).",
    ),
    (
        lambda: xs.tree.map(max, (1,), (1,), ()),
        "at its root the first one has a tuple of 1, this one a tuple of 0.",
        "Lengthen tree 3 to 1 element (or shorten the first one to 0).",
    ),
    (
        lambda: xs.vjp(jnp.sum, jnp.ones(2, "float16"))[1](1.0),
        "the cotangent given to the vjp of sum has dtype float32, expected float16.",
        "Give xlascope.numpy.asarray(1.0, 'float16') in place of 1.0.",
    ),
    (
        lambda: xs.vjp(jnp.sum, jnp.ones(2, "float32"))[1](1),
        "has dtype int32, expected float32.",
        "Write 1.0 instead of 1.",
    ),
    (
        lambda: xs.vjp(jnp.sum, jnp.ones(2, "float16"))[1](jnp.ones(())),
        "has dtype float32, expected float16.",
        "Convert it with .astype('float16').",
    ),
    (
        lambda: xs.jvp(jnp.sum, (jnp.ones(2),), (jnp.ones(2) * 1j,)),
        "expected float32.",
        "Give a real one of dtype float32.",
    ),
    (
        lambda: xs.grad(identity)(3),
        "but argument 0 of identity has dtype int32.",
        "Pass a floating-point number (3.0 for 3, x.astype(float) for an array), or differentiate with respect to "
        "another argument (argnums).",
    ),
    (
        lambda: jnp.array(1 << 40),
        "the integer 1099511627776 does not fit int32.",
        "Write it as a float, or enable 64-bit types before the first array is made: "
        "xlascope.config.update('jax_enable_x64', True), or JAX_ENABLE_X64=1 in the environment.",
    ),
    (
        lambda: jnp.zeros(3).__setitem__(0, 1.0),
        "arrays cannot be changed in place.",
        "Instead of x[index] = y write x = x.at[index].set(y) (inside jit the copy is optimized away).",
    ),
]


@pytest.mark.parametrize("row", range(len(LINES)))
def test_the_lines_of_a_message_are_what_the_fix_and_where(row):
    act, what, fix = LINES[row]
    with pytest.raises((TypeError, ValueError, OverflowError)) as caught:
        act()
    lines = [line for line in str(caught.value).splitlines() if " is defined at " not in line]
    assert lines[0].endswith(what)
    assert lines[1] == fix
    assert lines[2].startswith(f"At {__file__}:")
    assert not [line for line in lines[3:] if not line.startswith("See xlascope.errors.explain(")]


# The functions to change, whose definitions a message gives. ---------------------------------------------------------


def returns_sum(total, x):
    return total + x


def returns_mode(x):
    return x, Mode.A


def returns_cotangent(x, g):
    return g


# (what is done, the function to change)
TO_CHANGE = [
    (lambda: xs.jit(scaled)(1.0, "text"), scaled),
    (lambda: sample("text", 5), sample.__wrapped__),
    (lambda: xs.jit(Slip.method)(Slip()), Slip.method),
    (lambda: xs.jit(returns_mode)(1.0), returns_mode),
    (lambda: lax.cond(True, returns_mode, returns_mode, 1.0), returns_mode),
    (lambda: lax.scan(returns_sum, 0.0, jnp.arange(3.0)), returns_sum),
    (lambda: lax.scan(functools.partial(returns_sum), 0.0, jnp.arange(3.0)), returns_sum),
    (lambda: xs.grad(pair_of(returns_cotangent))(1.0), returns_cotangent),
    (lambda: xs.grad(scaled)(jnp.ones(3), 2.0), scaled),
]


@pytest.mark.parametrize("row", range(len(TO_CHANGE)))
def test_a_message_says_where_the_function_to_change_is_defined(row):
    act, function = TO_CHANGE[row]
    with pytest.raises(TypeError) as caught:
        act()
    line = function.__code__.co_firstlineno
    assert f"{function.__name__} is defined at {__file__}:{line}." in str(caught.value).splitlines()


def test_a_function_of_the_library_has_no_definition_to_change():
    with pytest.raises(TypeError) as caught:
        xs.jit(jnp.linalg.norm)("text")
    assert " is defined at " not in str(caught.value)


# The advice of each message, taken literally. ------------------------------------------------------------------------

ADVICE = [
    (lambda: xs.vmap(lambda c: jnp.where(c > 2.0, c, 0.0))(jnp.array([1.0, 3.0])), [0.0, 3.0]),
    (lambda: xs.vmap(lambda x, n: jnp.zeros(n) + x, in_axes=(0, None))(jnp.arange(2.0), 2), [[0.0, 0.0], [1.0, 1.0]]),
    (lambda: xs.jit(lambda x, axis: x.min(axis), static_argnums=1)(jnp.arange(4), 0), 0),
    (lambda: xs.jit(lambda x, *, n: jnp.zeros(n) + x, static_argnames="n")(1.0, n=2), [1.0, 1.0]),
    (lambda: xs.jit(lambda i: jnp.asarray([1.0, 2.0, 3.0])[i])(1), 2.0),
    (lambda: xs.jit(lambda x: x[0] - 1 + jnp.arange(2))(np.zeros(1, int)), [-1, 0]),
    (lambda: xs.grad(lambda x: jnp.sin(x).sum())(np.zeros(2, "float32")), [1.0, 1.0]),
    (lambda: xs.grad(lambda x: x**2 + x)(5.0), 11.0),
    (lambda: xs.jit(lambda a: a.prod(where=a != 0))(jnp.array([0, 1, 2])), 2),
    (lambda: xs.jit(lambda a: jnp.where(a != 0, a, 1).prod())(jnp.array([0, 1, 2])), 2),
    (lambda: xs.jit(lambda a: jnp.nonzero(a, size=3)[0])(jnp.array([0, 1, 2])), [1, 2, 0]),
    (lambda: Mode(int(xs.jit(lambda x: (x, Mode.A.value))(1.0)[1])).value, 1),
    (lambda: sum(jnp.sum(x) for x in xs.tree.leaves((jnp.ones(2), {}))), 2.0),
    (lambda: xs.tree.reduce(jnp.maximum, xs.tree.map(jnp.max, {"a": jnp.ones(2), "b": jnp.zeros(3)})), 1.0),
    (lambda: lax.scan(body, (0.0, jnp.zeros((), jnp.float32)), jnp.arange(3.0))[0][1], 1.5),
    (lambda: lax.scan(body, (0.0, 0.0), jnp.arange(3.0))[0][1], 1.5),
    (lambda: lax.fori_loop(0, 2, grown, (jnp.zeros(3), jnp.ones([3, 3])))[0], [-2.0, -2.0, -2.0]),
    (lambda: lax.cond(False, lambda x: x, lambda x: 0.0, jnp.float32(3.0)), 0.0),
    (lambda: lax.cond(False, lambda x: x, lambda x: jnp.zeros_like(x), jnp.float32(3.0)), 0.0),
    (lambda: xs.vmap(scaled, in_axes=(0, None))(jnp.arange(3.0), 2.0), [0.0, 2.0, 4.0]),
    (
        lambda: xs.vmap(weighted, in_axes=({"b": None, "w": 0}, 0))({"w": jnp.ones(2), "b": 1.0}, jnp.ones(2)),
        [2.0, 2.0],
    ),
    (lambda: xs.vmap(scaled, in_axes=(0, 0))(jnp.ones(2), jnp.ones(2)), [1.0, 1.0]),
    (lambda: xs.vmap(scaled, in_axes=(0, None))(jnp.ones(2), jnp.ones(2)), [[1.0, 1.0], [1.0, 1.0]]),
    (
        lambda: xs.tree.map(
            lambda x, *others: None if x is None else x + others[0],
            {"w": None, "b": 1.0},
            {"w": 2.0, "b": 3.0},
            is_leaf=lambda x: x is None,
        )["b"],
        4.0,
    ),
    (lambda: jnp.ones((2, 3)) @ jnp.ones((4, 3)).T, np.full((2, 4), 3.0)),
    (lambda: (jnp.ones((5, 2, 3)) @ jnp.ones((5, 4, 3)).mT)[0], np.full((2, 4), 3.0)),
    (lambda: xs.grad(pair_of(lambda x, g: (g,)))(1.0), 1.0),
    (lambda: xs.grad(xs.jit(in_a_loop.__wrapped__, static_argnums=1))(2.0, 3), 12.0),
    (lambda: jnp.array(float(1 << 40)), float(1 << 40)),
    (lambda: functools.partial(xs.jit, static_argnums=1)(smallest.__wrapped__)(jnp.arange(4), 0), 0),
    (lambda: functools.partial(xs.jit, static_argnames="n")(named.__wrapped__)(1.0, n=2), [1.0, 1.0]),
    (lambda: xs.vjp(jnp.sum, jnp.ones(2, "float16"))[1](xs.numpy.asarray(1.0, "float16"))[0], [1.0, 1.0]),
    (lambda: xs.vjp(jnp.sum, jnp.ones(2, "float16"))[1](jnp.ones(()).astype("float16"))[0], [1.0, 1.0]),
    (lambda: xs.jit(lambda x: x / x.sum())(jnp.ones(2)), [0.5, 0.5]),
    (lambda: jnp.ones((2, 4)) + jnp.ones(2)[:, None], np.full((2, 4), 2.0)),
    (lambda: lax.fori_loop(0, 2, grown, (xs.numpy.zeros(3), jnp.ones([3, 3])))[0], [-2.0, -2.0, -2.0]),
    (lambda: lax.scan(body, (0.0, xs.numpy.zeros((), "float32")), jnp.arange(3.0))[0][1], 1.5),
]


@pytest.mark.parametrize("row", range(len(ADVICE)))
def test_the_advice_of_a_message_works(row):
    act, wanted = ADVICE[row]
    np.testing.assert_allclose(act(), wanted)


def test_the_tracers_errors_are_type_errors_as_in_jax():
    assert issubclass(errors.TracerBoolConversionError, errors.ConcretizationTypeError)
    assert issubclass(errors.ConcretizationTypeError, TypeError)
    assert issubclass(errors.UnexpectedTracerError, TypeError)


# The classes, held to JAX's ------------------------------------------------------------------------------------------

PROGRAMS = Path(__file__).with_name("error_programs.py")


def test_what_is_raised_has_jaxs_classes(jax_says, programs):
    assert programs(PROGRAMS).raised(xs) == jax_says(PROGRAMS, "raised")


def test_what_catches_an_error_of_jax_catches_ours(jax_says, programs):
    expected, found = jax_says(PROGRAMS, "bases"), programs(PROGRAMS).bases(xs)
    for name in ("TracerIntegerConversionError", "TracerArrayConversionError"):
        expected[name][1].insert(0, "ConcretizationTypeError")
    assert found == expected


#: Functions of a size or an axis, which jax refuses with ConcretizationTypeError, TracerIntegerConversionError or
#: TypeError if it is traced.
OF_A_TRACED_INTEGER = {
    "linspace": lambda n: jnp.linspace(0, 1, n),
    "split": lambda n: jnp.split(jnp.arange(4.0), n),
    "pad": lambda n: jnp.pad(jnp.arange(4.0), n),
    "sum": lambda n: jnp.sum(jnp.arange(4.0), axis=n),
    "reshape": lambda n: jnp.reshape(jnp.arange(4.0), (n, -1)),
    "diag": lambda n: jnp.diag(jnp.arange(4.0), n),
    "mgrid": lambda n: jnp.mgrid[0:n],
}


@pytest.mark.parametrize("name", OF_A_TRACED_INTEGER)
def test_a_traced_size_is_an_error_of_each_class_that_jax_raises_for_one(name):
    with pytest.raises(errors.ConcretizationTypeError, match=r"It is the argument n|from the argument n") as caught:
        xs.jit(lambda n: OF_A_TRACED_INTEGER[name](n))(2)
    assert isinstance(caught.value, TypeError)


# Where values come from ----------------------------------------------------------------------------------------------


def several(x, p):
    y = x * p["w"][0]
    return y if (y + 1).sum() > 0 else x


def unused(x, y, z):
    return float(y)


ORIGINS = [
    (
        lambda: xs.jit(several)(np.ones(2), {"w": [2.0]}),
        "was computed by gt from the arguments x, p['w'][0] of several",
    ),
    (lambda: xs.jit(unused)(1.0, 2.0, 3.0), "It is the argument y of unused."),
    (lambda: xs.jit(xs.grad(unused, 1))(1.0, 2.0, 3.0), "It is the argument y of unused."),
    (lambda: xs.jit(lambda *a: float(sum(a)))(1.0, 2.0, 3.0, 4.0), "the arguments a[0], a[1], a[2], … of <lambda>."),
    (lambda: xs.vmap(unused)(*np.ones((3, 2), "f4")), "It stands for every example of a vmap at once."),
    (lambda: xs.jit(xs.vmap(unused))(*np.ones((3, 2), "f4")), "It is the argument y of unused."),
    (lambda: xs.lax.scan(lambda c, x: (int(c), x), 0, np.ones(2)), "is traced"),
]


@pytest.mark.parametrize("row", range(len(ORIGINS)))
def test_messages_about_tracers_name_the_arguments_behind_them(row):
    act, sentence = ORIGINS[row]
    with pytest.raises(errors.TracerError) as caught:
        act()
    assert sentence in str(caught.value)


def leak():
    """A value computed while a function was traced, and the function's argument."""
    found = []

    def keeps(x):
        found.extend([x * 2, x])
        return x

    xs.jit(keeps)(1.0)
    return (keeps, *found)


USES = [
    lambda x: x + 1,
    lambda x: 1 + x,
    lambda x: -x,
    lambda x: x[0],
    lambda x: x.sum(),
    lambda x: bool(x),
    lambda x: float(x),
    lambda x: int(x),
    lambda x: complex(x),
    lambda x: [1, 2][x],
    lambda x: len(x),
    lambda x: x.item(),
    lambda x: x.tolist(),
    lambda x: x.tobytes(),
    lambda x: x.at[0].set(1.0),
    lambda x: x.T,
    lambda x: x.shape,
    lambda x: x.dtype,
    lambda x: x.devices(),
    lambda x: np.asarray(x),
    lambda x: np.sin(x),
    lambda x: jnp.sin(x),
    lambda x: jnp.zeros(3).at[0].set(x),
    lambda x: xs.jit(identity)(x),
    lambda x: xs.jit(lambda y: y + x)(1.0),
    lambda x: xs.grad(lambda y: y * x)(1.0),
    lambda x: xs.vmap(lambda y: y * x)(np.ones(3)),
    lambda x: xs.grad(identity)(x),
]


@pytest.mark.parametrize("use", USES)
def test_a_value_that_left_its_trace_says_where_it_comes_from(use):
    keeps, computed, argument = leak()
    with pytest.raises(errors.UnexpectedTracerError, match=r"computed by mul .* while keeps was traced"):
        use(computed)
    with pytest.raises(errors.UnexpectedTracerError, match="It is the argument x of keeps"):
        use(argument)
    del keeps
    with pytest.raises(errors.UnexpectedTracerError, match="belongs to keeps"):  # the program is gone, the name is not
        use(computed)


# No memory, and arrays that are gone ---------------------------------------------------------------------------------

TOO_MANY = 1 << 48  # a petabyte: no machine has it, and no address space of 47 bits


def huge(x):
    return jnp.zeros((TOO_MANY,)) + x


def test_no_memory_names_the_function_and_the_sizes():
    with pytest.raises(errors.OutOfMemoryError) as caught:
        xs.jit(huge)(1.0)
    message = str(caught.value)
    for fragment in ("huge", "cpu:0", "1 PiB", f"f32[{TOO_MANY}]", __file__, "its results 1 PiB"):
        assert fragment in message, message
    assert isinstance(caught.value, errors.JaxRuntimeError)


def test_no_memory_is_said_before_a_program_is_compiled(caplog):
    with xs.log_compiles(True), pytest.raises(errors.OutOfMemoryError):
        xs.jit(lambda: jnp.hamming(1 << 40))()
    assert not [each for each in caplog.records if "Compiling" in each.getMessage()]


def test_no_memory_says_which_arrays_live():
    """Beside one that lies on a mesh, whose parts have been looked at."""
    spread = xs.device_put(jnp.arange(4.0), xs.sharding.NamedSharding(xs.make_mesh((1,), ("x",)), xs.P("x")))
    assert spread.addressable_shards[0].data.shape == (4,)
    kept = [jnp.ones((5000, 5003)) for _ in range(2)]
    with pytest.raises(errors.OutOfMemoryError, match=r"most of it .*2 × float32\[5000, 5003\] \(191 MiB\)"):
        jnp.ones((2_000_000, 1_000_000))
    del kept


@pytest.mark.parametrize("read", [float, lambda x: x.tolist(), lambda x: xs.device_get(x), lambda x: f"{x}"])
def test_no_memory_that_shows_later_is_said_when_a_result_is_read(read):
    @xs.jit
    def pairs(x):
        return jnp.max(jnp.sort(x[:, None] - x[None, :]))

    with pytest.raises(errors.OutOfMemoryError, match="PiB"):
        read(pairs(jnp.zeros(1 << 24)))


@pytest.fixture
def gone():
    """An array that was donated."""
    x = jnp.arange(7.0)
    xs.jit(lambda weights: weights * 2, donate_argnums=0)(x)
    assert x.is_deleted()
    return x


DELETED = [
    (lambda x: x + 1, "operand 0 of add"),
    (lambda x: jnp.sin(x), "operand 0 of sin"),
    (lambda x: xs.jit(lambda new: new * 3)(x), "argument new of <lambda>"),
    (lambda x: xs.jit(lambda y: y + x)(1.0), "a value that <lambda> closes over"),
    (lambda x: xs.jit(lambda p: p["a"])({"a": x}), "argument p['a'] of <lambda>"),
    (lambda x: xs.grad(lambda y: y.sum())(x), "operand 0 of reduce_sum"),
    (lambda x: x.tolist(), "an array"),
    (lambda x: str(x), "an array"),
    (lambda x: float(x[0]), ""),
]


@pytest.mark.parametrize("row", range(len(DELETED)))
def test_an_array_that_is_gone_names_who_it_was_given_to(gone, row):
    use, named = DELETED[row]
    with pytest.raises(errors.DeletedArrayError) as caught:
        use(gone)
    message = str(caught.value)
    for fragment in (named, "f32[7]", "donated to <lambda> (its argument weights)", __file__):
        assert fragment in message, message


def test_an_array_that_is_gone_may_be_passed_where_nothing_needs_it(gone):
    assert xs.jit(lambda unused, y: y + 1)(gone, 1.0) == 2.0


def test_an_array_that_was_deleted_by_hand():
    x = jnp.arange(11.0)
    x.delete()
    with pytest.raises(errors.DeletedArrayError, match=r"x\.delete\(\)\), or donated to a jitted function"):
        x + 1


REPEATED = [
    (lambda x: x, lambda x: x + 1, "argument x of <lambda>"),
    (lambda x: {"w": (x,)}, lambda p: p["w"][0] + 1, "argument p['w'][0] of <lambda>"),
    (lambda x: xs.random.key(int(x[3])), lambda key: xs.random.split(key)[0], "argument key of <lambda>"),
]


@pytest.mark.parametrize("row", range(len(REPEATED)))
def test_a_repeated_call_with_what_was_donated_in_another_one(row):
    """jaxlib repeats the call of a step whose state was donated to it when it was compiled, and asks us."""
    make, function, named = REPEATED[row]
    step, state = xs.jit(function, donate_argnums=0), make(jnp.arange(7.0))
    step(state)
    for _ in range(4):
        with pytest.raises(errors.DeletedArrayError) as caught:
            step(state)
        assert named in str(caught.value) and __file__ in str(caught.value) and "x = f(x)" in str(caught.value)
    other = xs.jit(function)
    other(make(jnp.arange(7.0)))
    with pytest.raises(errors.DeletedArrayError, match="donated to <lambda>"):
        other(state)


def test_what_a_repeated_call_has_donated_has_jaxlibs_words_and_they_are_understood(capsys):
    act = donated_before()
    with pytest.raises(ValueError, match="deleted or donated") as caught:
        act()
    errors.explain(caught.value)
    assert capsys.readouterr().out.startswith("# DeletedArrayError")


def donated_before():
    """A call with an array that was donated in a call that jaxlib repeated: nothing of ours has seen it."""
    x, step = jnp.arange(5.0), xs.jit(lambda x: x + 1, donate_argnums=0)
    step(step(x + 1))
    step(x)
    return lambda: step(x)


JAXLIBS = [
    (lambda: lambda: xs.jit(lambda n: n, static_argnums=0)([2]), "[2] of type list, has no hash"),
    (lambda: lambda: xs.jit(lambda n: n, static_argnames="n")(n={"w": 2}), "{'w': 2} of type dict, has no hash"),
    (lambda: lambda: xs.jit(lambda p: p)({"w": 1, 0: 2}), "Make them all text"),
    (donated_before, "Array 0 of the arguments has been deleted or donated"),
]


@pytest.mark.parametrize("row", range(len(JAXLIBS)))
def test_jaxlibs_own_words_get_a_note_where_python_of_ours_sees_them(row):
    """A call that jaxlib repeats runs no Python: the next boundary of ours, here that of grad, says what to do."""
    prepare, words = JAXLIBS[row]
    act = prepare()
    with pytest.raises(ValueError) as caught:
        xs.grad(lambda x: (act(), x)[1])(1.0)
    (note,) = [note for note in caught.value.__notes__ if words in note]
    assert f"At {__file__}:" in note
    with pytest.raises(ValueError) as caught:
        act()
    assert not getattr(caught.value, "__notes__", ())


# The type checker for jaxprs ----------------------------------------------------------------------------------------

F3, F4 = make_aval((3,), np.dtype("float32")), make_aval((4,), np.dtype("float32"))


def equation(operation, inputs, outputs):
    return (operation, inputs, outputs, None, -1, None)


def wrong_programs():
    x, y, z = Var(F3), Var(F3), Var(F4)
    yield "used before", ([x], [equation(Sin(), [y], [Var(F3)])], [x])
    yield "used before", ([x], [], [y])
    yield "second time", ([x], [equation(Sin(), [x], [x])], [x])
    yield "second time", ([x, x], [], [x])
    yield "the operation gives (f32[3])", ([x], [equation(Sin(), [x], [z])], [z])
    yield "do not fit", ([x, z], [equation(Add(), [x, z], [y])], [y])
    yield "no scalar", ([x], [equation(Add(), [x, Literal(np.ones(3, "f4"), F3)], [y])], [y])
    half = Literal(np.float64(1), make_aval((), np.dtype("float32")))
    yield "float64", ([x], [equation(Add(), [x, half], [y])], [y])


@pytest.mark.parametrize("number", range(8))
def test_the_checker_finds_what_is_wrong(number):
    text, (arguments, equations, results) = list(wrong_programs())[number]
    with pytest.raises(errors.JaxprTypeError) as caught:
        check_jaxpr(ClosedJaxpr(Jaxpr((), arguments, results, equations, "f")))
    assert text in str(caught.value) and "f" in str(caught.value)


def test_the_checker_looks_into_bodies():
    program = xs.make_jaxpr(xs.jit(lambda x: jnp.sin(x) * 2))(1.0)
    check_jaxpr(program)
    (call,) = program.eqns
    body = call.operation.bodies()[0].jaxpr
    body.invars = (Var(F3),)
    with pytest.raises(errors.JaxprTypeError, match=r"equation 0 \(jit\)"):
        check_jaxpr(program)
