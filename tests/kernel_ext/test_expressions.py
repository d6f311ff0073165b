"""A question about an expression is one about a function of the arrays that it names."""

from typing import Any

import pytest

NAMES = """
import dataclasses, functools
params = {"w": jnp.ones((8, 4)), "layers": [jnp.ones(4), jnp.ones(4)]}
class model: w, rate = jnp.ones((8, 4)), 0.5
key = xs.random.key(0)
def scaled(x, name, scale): return getattr(jnp, name)(x) * scale
def split(p, x): return {"y": x @ p["w"], "z": p["layers"][0]}
@xs.jit
def f(x): return jnp.sin(x) * 2
class Net:
    def __init__(self, n): self.w = jnp.ones((8, n))
    def apply(self, p, x): return x @ p["w"] + self.w.sum()
@functools.partial(xs.tree_util.register_dataclass, data_fields=["w", "step"], meta_fields=["name"])
@dataclasses.dataclass
class State:
    w: object
    step: int = 0
    name: str = "adam"
    def __call__(self, x): return x @ self.w
state, states = State(jnp.ones((8, 4))), {"now": [State(jnp.ones((8, 4)))], "before": None}
settings = {"name": "tanh", "scale": 2.0, "w": jnp.ones((8, 4))}
def configured(c, x): return getattr(jnp, c["name"])(x @ c["w"]) * c["scale"]
fns, s = {"f": f}, xs.ShapeDtypeStruct((16, 8), jnp.float32)
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
    # Results: the question is about the whole expression.
    "split(params, x)['y'].sum()": ("f32[4] b:f32[4] c:f32[8,4] d:f32[16,8]", "dot_general"),
    "Net(4).apply(params, x).mean()": ("f32[4] b:f32[4] c:f32[8,4] d:f32[16,8]", "dot_general"),
    "xs.grad(loss)(w, x).sum()": ("f32[8,4] b:f32[16,8]", "tanh"),
    "xs.vmap(loss, (None, 0))(w, x[:, None]).sum()": ("f32[8,4] b:f32[16,8]", "tanh"),
    "fns['f'](x).sum()": ("f32[16,8]", "sin"),
    "f(x) + f(x + 1)": ("f32[16,8]", "name=f"),
    "f(x)[0]": ("f32[16,8]", "sin"),
    "f(s).sum()": ("f32[16,8]", "sin"),
    "(f(x), scaled(x, 'cos', 2))": ("f32[16,8]", "cos"),
    "[f(x), x @ w]": ("f32[16,8] b:f32[8,4]", "dot_general"),
    "{'a': f(x)}": ("f32[16,8]", "sin"),
    "[v * 2 for v in params['layers']]": ("f32[4] b:f32[4]", "mul"),
    "sum(f(x).sum() for _ in range(2))": ("f32[16,8]", "sin"),
    "sum(v.sum() for v in params['layers'])": ("f32[4] b:f32[4]", "reduce_sum"),
    "f(x) if len(fns) else loss(w, x)": ("f32[16,8] b:f32[8,4]", "sin"),
    "(x @ state.w).sum()": ("f32[16,8] b:f32[8,4]", "dot_general"),
    "state(x).sum()": ("f32[8,4] b:i32[] c:f32[16,8]", "dot_general"),
    "(lambda a: a['now'][0](x))(states).sum()": ("f32[16,8] b:f32[8,4] c:i32[]", "dot_general"),
    "configured({'name': 'tanh', 'scale': 2, 'w': w}, x)": ("f32[8,4] b:f32[16,8]", "tanh"),
    "(lambda a: a + 1)(x)": ("f32[16,8]", "add"),
    "(f(x) * 2).sum(), ": ("f32[16,8]", "reduce_sum"),
    # Conversions to Python are no part of it.
    "float(loss(w, x))": ("f32[8,4] b:f32[16,8]", "tanh"),
    "np.asarray(f(x))": ("f32[16,8]", "sin"),
    "print(f(x).sum().item())": ("f32[16,8]", "sin"),
    "xs.block_until_ready(f(x))": ("f32[16,8]", "sin"),
    "f(x).block_until_ready()": ("f32[16,8]", "sin"),
}
#: Lines that are no question, and what the error says.
NO_QUESTIONS = {
    "%jaxpr f(x), f(x)": "(%diff compares two; in parentheses they are asked about as one)",
    "%jaxpr f": "got 'f' (call it: f(…))",
    "%jaxpr lambda x: x + 1": "(call it: (lambda …)(x))",
    "%jaxpr y = f(x)": "(without the assignment)",
    "%jaxpr x": "got 'x'. Example",
    "%jaxpr f(x": "got 'f(x' ('(' was never closed). Example",
    "%jaxpr f(x); f(x)": "got 'f(x); f(x)'. Example",
    "%timings f(s)": "%timings: f cannot be timed: there are shapes and no values among the arguments (fusions and",
    "%timings loss(w, s)": "%timings: loss cannot be timed: there are shapes",
    "%timings f(s).sum()": "%timings: expression cannot be timed: there are shapes",
    "%values f(s)": "%values: the values of f are not known: there are shapes",
    "%timings f(gone)": "%timings: f cannot be timed: x was donated to an earlier call or deleted, and has no values",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_a_function_of_its_arrays(terminal: Any, expression: str) -> None:
    terminal.run(NAMES)
    parameters, operation = EXPRESSIONS[expression]
    shown = terminal.run(f"%jaxpr --text {expression}")
    assert f"lambda ; a:{parameters}. let" in shown
    assert operation in shown


def test_settings_beside_arrays_stay_in_the_function(terminal: Any) -> None:
    terminal.run(NAMES)
    assert "{ lambda a:f32[8,4]; b:f32[16,8]. let" in terminal.run("%jaxpr --text configured(settings, x)")


def test_what_an_expression_lacks_is_said_as_python_does(terminal: Any) -> None:
    terminal.run(NAMES)
    assert "KeyError: 'nothing'" in terminal.run("%jaxpr params['nothing'].sum()", fails=True)
    assert "NameError: name 'nothing'" in terminal.run("%jaxpr x @ nothing", fails=True)


@pytest.mark.parametrize("line", NO_QUESTIONS)
def test_what_is_wrong_with_a_line_is_said_in_one(terminal: Any, line: str) -> None:
    terminal.run(f"{NAMES}gone = jnp.ones(3)\ngone.delete()")
    shown = terminal.run(line, fails=True)
    assert NO_QUESTIONS[line] in shown
    assert "Traceback" not in shown and len(shown.strip().splitlines()) == 1


def test_times_of_an_expression_are_those_of_all_its_programs(terminal: Any) -> None:
    terminal.run(NAMES)
    shown = terminal.run("%timings split(params, x)['y'].sum()")
    assert "expression is not jitted" in shown and "dot_general" in shown


STATEFUL = """
import functools
class Trainer:
    def __init__(self):
        self.w, self.losses, self.count, self.inner = jnp.ones((8, 4)), [], {"calls": 0}, Inner()
    @functools.partial(xs.jit, static_argnums=0)
    def step(self, w, x): return w - 0.1 * xs.grad(loss)(w, x), loss(w, x)
    def fit(self, x):
        self.w, value = self.step(self.w, x)
        self.inner.latest = value
        self.losses.append(value)
        self.count["calls"] += 1
        return value
class Inner: latest = None
t, trainers = Trainer(), [Trainer()]
w_before = t.w
product = functools.partial(xs.jit(lambda w, x: x @ w), t.w)
"""
STATEFUL_QUESTIONS = ("%jaxpr t.fit(x)", "%timings t.fit(x)", "%values t.fit(x)", "%jaxpr trainers[0].fit(x) * 2")


def test_questions_leave_objects_as_they_were(terminal: Any) -> None:
    terminal.run(STATEFUL)
    for line in STATEFUL_QUESTIONS:
        terminal.run(line)
    state = "[(a.losses, a.count, vars(a.inner)) for a in (t, *trainers)] + [t.w is w_before]"
    assert "[([], {'calls': 0}, {}), ([], {'calls': 0}, {}), True]" in terminal.run(f"print({state})")
    terminal.run("t.fit(x)")
    assert "1 {'calls': 1}" in terminal.run("print(len(t.losses), t.count)")


@pytest.mark.parametrize("call", ["t.step(t.w, x)", "product(x)", "functools.partial(t.step, t.w)(x)"])
def test_jitted_methods_and_partials_of_jitted_functions_are_jitted(terminal: Any, call: str) -> None:
    terminal.run(STATEFUL)
    assert "not jitted" not in terminal.run(f"%timings {call}")
    assert "name=" not in terminal.run(f"%jaxpr {call}")
