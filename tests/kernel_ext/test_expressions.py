"""A question about an expression is one about a function of the arrays that it names."""

from typing import Any

import pytest

NAMES = """
params = {"w": jnp.ones((8, 4)), "layers": [jnp.ones(4), jnp.ones(4)]}
class model: w, rate = jnp.ones((8, 4)), 0.5
key = xs.random.key(0)
def scaled(x, name, scale): return getattr(jnp, name)(x) * scale
"""
#: An expression, its parameters' types, and an operation of its program.
EXPRESSIONS = {
    "x.sum()": ("f32[16,8]", "reduce_sum"),
    "x[0].sum()": ("f32[16,8]", "reduce_sum"),
    "x.reshape(8, 16)": ("f32[16,8]", "reshape"),
    "x.astype(jnp.bfloat16)": ("f32[16,8]", "convert_element_type"),
    "jnp.asarray(x).at[0].set(3.0)": ("f32[16,8]", "dynamic_update_slice"),
    "(x @ w).T": ("f32[16,8] b:f32[8,4]", "transpose"),
    "x @ params['w'] + params['layers'][1]": ("f32[16,8] b:f32[8,4] c:f32[4]", "add"),
    "x @ model.w * model.rate": ("f32[16,8] b:f32[8,4]", "mul c 0.5:f32[]"),
    "params['w'].sum()": ("f32[8,4]", "reduce_sum"),
    "jnp.exp(x).mean()": ("f32[16,8]", "exp"),
    "update(w, x).sum()": ("f32[8,4] b:f32[16,8]", "update"),
    "loss(w, x)": ("f32[8,4] b:f32[16,8]", "tanh"),
    "jnp.stack([x, x])[0]": ("f32[16,8]", "concatenate"),
    "key[None]": ("key<fry>[]", "broadcast_in_dim"),
    "jnp.sum(x, axis=0)": ("f32[16,8]", "axes=(0,)"),
    "jnp.reshape(x, (8, -1))": ("f32[16,8]", "new_sizes=(8, 16)"),
    "jnp.einsum('ij,ij->i', x, x)": ("f32[16,8] b:f32[16,8]", "dot_general"),
    "xs.lax.scan(lambda c, a: (c + a, c * a), x[0], x)": ("f32[8] b:f32[16,8]", "scan"),
    "xs.random.split(key, 3)": ("key<fry>[]", "random_unwrap"),
    "scaled(x, 'tanh', 2)": ("f32[16,8] b:i32[]", "tanh"),
    "x * sum(i for i in range(2))": ("f32[16,8]", "mul"),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_a_function_of_its_arrays(terminal: Any, expression: str) -> None:
    terminal.run(NAMES)
    parameters, operation = EXPRESSIONS[expression]
    shown = terminal.run(f"%jaxpr --text {expression}")
    assert f"lambda ; a:{parameters}. let" in shown
    assert operation in shown


def test_what_an_expression_lacks_is_said_as_python_does(terminal: Any) -> None:
    terminal.run(NAMES)
    assert "KeyError: 'nothing'" in terminal.run("%jaxpr params['nothing'].sum()", fails=True)
    assert "NameError: name 'nothing'" in terminal.run("%jaxpr x @ nothing", fails=True)
