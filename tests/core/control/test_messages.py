"""What users are told about control flow that does not fit: jax's type, the line, what differs, the fix."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import errors, lax

X = np.arange(3, dtype=np.float32)
I = np.int32(0)  # noqa: E741
F = np.float32(0)


def same(x):
    return x


def body(c, x):
    return c, x


# (what is done, the type of the error, what its message has to hold beside this file's name)
MESSAGES = [
    # cond
    (lambda: lax.cond(X > 1, same, same, X), TypeError, ["scalar predicate", "(3,)", "numpy.where", "vmap"]),
    (lambda: lax.cond(None, same, same, X), TypeError, ["scalar predicate", "NoneType"]),
    (lambda: lax.cond("yes", same, same, X), TypeError, ["scalar predicate", "'yes'"]),
    (lambda: lax.cond(1j, same, same, X), TypeError, ["boolean or numeric", "complex64"]),
    (lambda: lax.cond(True, 3, same, X), TypeError, ["two functions", "3"]),
    (lambda: lax.cond(True, same, 3), TypeError, ["two functions", "3"]),
    (lambda: lax.cond(True, same, same, "a"), TypeError, ["operand of cond", "'a'"]),
    (lambda: lax.cond(True, same, same, X, operand=X), TypeError, ["not both"]),
    (
        lambda: lax.cond(True, same, lambda x: (x, x), X),
        TypeError,
        ["one structure", "result from true_fun", "and from false_fun", "a tuple of 2", "true_fun (same) is an array"],
    ),
    (
        lambda: lax.cond(True, lambda: {"a": (1, 2)}, lambda: {"a": (1, {"b": 3})}),
        TypeError,
        ["result['a'][1] from true_fun", "a dict of 'b'", "an array"],
    ),
    (lambda: lax.cond(True, lambda: {"a": 1}, lambda: {"b": 1}), TypeError, ["a dict of 'b'", "a dict of 'a'"]),
    (
        lambda: lax.cond(True, lambda: {"a": X, "b": 1.0, "c": 1}, lambda: {"a": X[:2], "b": 1, "c": 2}),
        TypeError,
        [
            "result['a']",
            "f32[2]",
            "f32[3]",
            "result['b']",
            "i32[]",
            "Give both results one shape. Write 1.0 instead of 1.",
        ],
    ),
    (lambda: lax.cond(True, lambda: "a", lambda: 1), TypeError, ["result", "'a'"]),
    # switch
    (lambda: lax.switch(1.0, [same, same], X), TypeError, ["integer", "float32"]),
    (lambda: lax.switch(True, [same, same], X), TypeError, ["integer", "bool"]),
    (lambda: lax.switch(np.arange(2), [same, same], X), TypeError, ["scalar index", "(2,)"]),
    (lambda: lax.switch(1, []), ValueError, ["at least one branch"]),
    (lambda: lax.switch(1, [same, 2], X), TypeError, ["functions", "2"]),
    (lambda: lax.switch(1, [same, same, lambda x: 1], X), TypeError, ["branches[2]", "i32[]", "f32[3]"]),
    # while_loop
    (lambda: lax.while_loop(3, same, X), TypeError, ["cond_fun is 3"]),
    (lambda: lax.while_loop(same, 3, X), TypeError, ["body_fun is 3"]),
    (lambda: lax.while_loop(lambda c: c < X, same, 0.0), TypeError, ["boolean scalar", "bool[3]"]),
    (lambda: lax.while_loop(same, same, 1), TypeError, ["boolean scalar", "i32[]"]),
    (lambda: lax.while_loop(lambda c: (c < 3,), same, 1), TypeError, ["boolean scalar", "(*,)"]),
    (lambda: lax.while_loop(lambda c: None, same, 1), TypeError, ["boolean scalar", "None"]),
    (
        lambda: lax.while_loop(lambda c: c < 3, lambda c: c * 0.5, I),
        TypeError,
        ["i32[]", "f32[]", "Start carry as a float (0.0 or"],
    ),
    (
        lambda: lax.while_loop(
            lambda c: False, lambda c: {"a": c["a"], "b": [c["b"][0][:2], 1]}, {"a": I, "b": [X, F]}
        ),
        TypeError,
        ["carry['b'][0] starts as f32[3] but the body returns it as f32[2]", "carry['b'][1] starts", "i32[]"],
    ),
    (
        lambda: lax.while_loop(lambda c: False, lambda c: [c[0], c[1]], (1, 2)),
        TypeError,
        ["the carry goes in as a tuple of 2 and comes out as a list of 2"],
    ),
    (lambda: lax.while_loop(lambda c: False, same, "a"), TypeError, ["initial value", "'a'"]),
    (lambda: lax.while_loop(lambda c: True, lambda c: "a", 1), TypeError, ["result", "'a'"]),
    (
        lambda: xs.grad(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * 2, x))(1.0),
        ValueError,
        ["reverse-mode", "scan", "fori_loop", "jvp", "custom_vjp"],
    ),
    (
        lambda: xs.jit(xs.grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * 2, x)))(1.0, 3),
        ValueError,
        ["reverse-mode", "fori_loop"],
    ),
    # fori_loop
    (lambda: lax.fori_loop(0, 3, 3, 0), TypeError, ["function of (i, value)", "3"]),
    (lambda: lax.fori_loop(0, "a", body, 0), TypeError, ["upper bound", "'a'"]),
    (lambda: lax.fori_loop(0.5, 3, body, 0), TypeError, ["bounds of one type", "float32", "astype"]),
    (lambda: lax.fori_loop(np.arange(2), 3, body, 0), TypeError, ["lower is i32[2]"]),
    (lambda: lax.fori_loop(np.int8(0), np.int32(3), body, 0), TypeError, ["int8", "int32", "astype"]),
    (lambda: lax.fori_loop(0, 3, lambda i, c: c * 0.5, I), TypeError, ["i32[]", "f32[]"]),
    (lambda: xs.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 0, unroll=2))(3), ValueError, ["unrolled"]),
    # scan
    (lambda: lax.scan(3, 0, X), TypeError, ["function of (carry, x)", "3"]),
    (lambda: lax.scan(body, 0.0), ValueError, ["body", "xs or length"]),
    (lambda: lax.scan(body, 0.0, 1.0), ValueError, ["leading axis", "xs has none"]),
    (lambda: lax.scan(body, 0.0, {"a": [X, 1.0]}), ValueError, ["xs['a'][1] has none"]),
    (lambda: lax.scan(body, 0.0, (X, X[:2])), ValueError, ["xs[0]: 3", "xs[1]: 2"]),
    (lambda: lax.scan(body, 0.0, X, length=2), ValueError, ["xs: 3", "length: 2"]),
    (lambda: lax.scan(body, 0.0, None, length=-1), ValueError, ["at least 0", "-1"]),
    (lambda: xs.jit(lambda n: lax.scan(body, 0.0, None, length=n))(3), errors.ConcretizationTypeError, ["static"]),
    (lambda: lax.scan(body, 0.0, X, unroll=-1), ValueError, ["unroll", "-1"]),
    (lambda: lax.scan(body, 0.0, X, unroll=2.5), TypeError, ["unroll", "2.5"]),
    (lambda: lax.scan(lambda c, x: c, 0.0, X), TypeError, ["pair (carry, y)"]),
    (lambda: lax.scan(lambda c, x: (c, x, x), 0.0, X), TypeError, ["pair (carry, y)", "(*, *, *)"]),
    (lambda: lax.scan(lambda c, x: {"a": c, "b": x}, 0.0, X), TypeError, ["pair (carry, y)"]),
    (lambda: lax.scan(lambda c, x: ((c, c), x), 0.0, X), TypeError, ["an array", "a tuple of 2"]),
    (lambda: lax.scan(lambda c, x: (None, x), 0.0, X), TypeError, ["comes out as None"]),
    (
        lambda: lax.scan(lambda c, x: (c * x, x), I, X),
        TypeError,
        ["carry starts as i32[]", "f32[]", "Start carry as a float"],
    ),
    (lambda: lax.scan(lambda c, x: (c + X, x), F, X), TypeError, ["f32[]", "f32[3]", "shape"]),
    (lambda: lax.scan(body, "a", X), TypeError, ["initial carry", "'a'"]),
    (lambda: lax.scan(body, 0.0, ["a"]), TypeError, ["(xs)", "'a'"]),
    (lambda: lax.scan(lambda c, x: (c, "a"), 0.0, X), TypeError, ["result[1]", "'a'"]),
    # map and associative_scan
    (lambda: lax.map(same, (X, X[:2])), ValueError, ["xs[0]: 3", "xs[1]: 2"]),
    (lambda: lax.map(same, (X, X[:2]), batch_size=2), ValueError, ["one size"]),
    (lambda: lax.map(same, X, batch_size=-1), ValueError, ["batch_size", "-1"]),
    (lambda: lax.associative_scan(3, X), TypeError, ["function of two operands", "3"]),
    (lambda: lax.associative_scan(jnp.add, X, axis=2), ValueError, ["axis 2", "[1]"]),
    (lambda: lax.associative_scan(jnp.add, (X, X[:2])), ValueError, ["one size", "[2, 3]"]),
    (lambda: lax.associative_scan(jnp.add, 1.0), ValueError, ["axis 0", "[0]"]),
]


@pytest.mark.parametrize("row", range(len(MESSAGES)))
def test_the_message_says_what_where_and_the_way_out(row):
    act, error, fragments = MESSAGES[row]
    with pytest.raises(error) as caught:
        act()
    message = str(caught.value)
    assert not [fragment for fragment in [__file__, *fragments] if fragment not in message], message
    assert len(message) < 800


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_inside_a_body_leaves_nothing_behind(error):
    def failing(*values):
        raise error("inside")

    loops = [
        lambda x: lax.scan(failing, x, X),
        lambda x: lax.while_loop(failing, same, x),
        lambda x: lax.while_loop(lambda c: c < 3, failing, x),
        lambda x: lax.cond(x > 0, failing, same, x),
        lambda x: lax.fori_loop(0, 3, failing, x),
        lambda x: lax.map(failing, X * x),
        lambda x: lax.associative_scan(failing, X * x),
    ]
    for loop in loops:
        for around in (same, xs.jit, xs.grad, xs.vmap, lambda f: lambda x: lax.scan(lambda c, y: (f(c), y), x, X)):
            with pytest.raises(error, match="inside"):
                around(loop)(jnp.ones(2) if around is xs.vmap else 1.0)
            assert xs.make_jaxpr(lambda x: x + 1)(1.0).eqns[0].primitive.name == "add"
            assert float(jnp.sin(0.0) + 1.0) == 1.0  # and nothing is traced any more


def test_a_value_from_inside_a_body_cannot_be_used_outside():
    kept = []
    lax.scan(lambda c, x: (kept.append(c), (c, x))[1], 0.0, X)
    with pytest.raises(errors.UnexpectedTracerError):
        kept[0] + 1
