"""Programs in which something repeats: a function, its arguments, and the loops that it may become (how often what is
repeated, and in how many steps), the longest first.
"""

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, random


def _arrays(*shapes):
    generator = np.random.default_rng(0)
    return [jnp.asarray(generator.normal(size=shape).astype(np.float32) / 3) for shape in shapes]


def _steps(w, x):
    for _ in range(8):
        x = jnp.tanh(x @ w)
    return x


def _loss(function):
    return lambda *arguments: jnp.sum(function(*arguments) ** 2)


def _layers(weights, x):
    for w, b in weights:
        x = x + jnp.tanh(x @ w + b)
    return x


def _leapfrog(x):
    def force(x):
        return jnp.sin(x[None] - x[:, None]).sum(1)

    v = jnp.zeros_like(x)
    for _ in range(7):
        v = v + 0.1 * force(x)
        x = x + 0.1 * v
        v = v + 0.1 * force(x)
    return x


def _recurrent(w, xs_):
    h = jnp.zeros(xs_.shape[1:])
    for t in range(xs_.shape[0]):
        h = jnp.tanh(h @ w + xs_[t])
    return h


def _backward_in_time(w, xs_):
    h = jnp.zeros(xs_.shape[1:])
    for t in range(xs_.shape[0] - 1, 0, -2):
        h = jnp.tanh(h @ w + xs_[t])
    return h


def _numbers(x):
    for k in range(6):
        x = jnp.sin(x @ x) * (0.1 * k) + 0.2 * k
    return x


def _all_states(w, x):
    states = []
    for _ in range(5):
        x = jnp.tanh(x @ w)
        states.append(x)
    return states, x


def _states_in_one_array(w, x):
    states = []
    for _ in range(6):
        x = jnp.tanh(x @ w)
        states.append(x)
    return jnp.stack(states, 1)


def _states_joined(w, x):
    states = [x]
    for _ in range(7):
        states.append(jnp.tanh(states[-1] @ w))
    joined = jnp.concatenate(states[2:7], 1)
    return jnp.stack(states[1:]), jnp.stack(states[:-1]), joined, states[3][None], jnp.stack(states)


def _two_answers(w, x):
    for _ in range(6):
        y = x @ w
        x = jnp.cos(y)
    return x, y


@xs.jit
def _block(w, x):
    return jnp.sin(x @ w) + x


def _calls(weights, x):
    for w in weights:
        x = _block(w, x)
    return x


@xs.jit
def _model(weights, x):
    return _calls(weights, x)


def _nested(weights, x):
    return _model(weights, x) + _model(weights, 2.0 * x)


@xs.jit
def _large(w, x):
    for k in range(1, 12):
        x = jnp.sin(x @ w) / k + jnp.cos(x) / (k + 1)
    return x


def _side_by_side(w, x):
    first = _large(w, x)
    other = _large(w, x + jnp.sum(w))
    third = _large(w, jnp.exp(x))
    return first * other + third


def _within_a_scan(w, xs_):
    def step(h, x):
        for _ in range(5):
            h = jnp.tanh(h @ w + x)
        return h, h.sum()

    return lax.scan(step, xs_[0], xs_)


def _raw_keys(key):
    drawn = []
    for _ in range(5):
        key, used = random.split(key)
        drawn.append(random.normal(used, (3,)))
    return drawn, key


def _whole_numbers(x):
    for _ in range(9):
        x = (x * x + 3) % 1001
    return x, x > 500


def _otherwise_in_between(w, x):
    for k in range(9):
        x = jnp.tanh(x @ w)
        if k == 4:
            x = jnp.cos(x) @ w
    return x


def _checkpointed(weights, x):
    for w in weights:
        x = xs.checkpoint(lambda w, x: jnp.sin(jnp.sin(x @ w)) + x)(w, x)
    return x


def _two_back(w, x):
    before = x
    for _ in range(6):
        before, x = x, jnp.sin(x @ w) + before
    return x


def _two_back_from_two(w, x, y):
    for _ in range(7):
        x, y = y, jnp.sin(y @ w) + x
    return x, y


def _three_back(w, x):
    a = b = c = x
    for _ in range(6):
        a, b, c = b, c, jnp.sin(c @ w) + a
    return c


_W, _X = _arrays((4, 4), (3, 4))
_WEIGHTS = [tuple(_arrays((4, 4), (4,))) for _ in range(6)]
_SQUARES = _arrays(*[(4, 4)] * 6)
_IN_TIME, _ALONE, _FEW = _arrays((8, 3, 4), (5,), (4, 4))

ROWS = {
    "steps": (_steps, (_W, _X), [(8, 2)]),
    "its gradient": (xs.grad(_loss(_steps)), (_W, _X), [(7, 7), (8, 3), (3, 1)]),
    "its second derivative": (xs.hessian(_loss(_steps)), (_W[:2, :2], _X[:, :2]), None),
    "layers": (_layers, (_WEIGHTS, _X), [(6, 5)]),
    "gradient of layers": (xs.grad(_loss(_layers)), (_WEIGHTS, _X), [(5, 10), (6, 6), (2, 1)]),
    "batched layers": (xs.vmap(_layers, (None, 0)), (_WEIGHTS, jnp.stack([_X] * 5)), None),
    "leapfrog": (_leapfrog, (_ALONE,), None),
    "its gradient, too": (xs.grad(_loss(_leapfrog)), (_ALONE,), None),
    "recurrent": (_recurrent, (_W, _IN_TIME), [(8, 3)]),
    "gradient of recurrent": (xs.grad(_loss(_recurrent)), (_W, _IN_TIME), None),
    "backward in time": (_backward_in_time, (_W, _IN_TIME), [(4, 3)]),
    "numbers that differ": (_numbers, (_FEW,), None),
    "all states": (_all_states, (_W, _X), [(5, 2)]),
    "states in one array": (_states_in_one_array, (_W, _X), [(6, 2)]),
    "gradient of states in one array": (xs.grad(_loss(_states_in_one_array)), (_W, _X), None),
    "states joined": (_states_joined, (_W, _X), None),
    "two answers": (_two_answers, (_W, _X), [(6, 2)]),
    "calls": (_calls, (_SQUARES, _X), [(6, 1)]),
    "gradient of calls": (xs.grad(_loss(_calls)), (_SQUARES, _X), [(5, 1), (5, 1)]),
    "nested": (_nested, (_SQUARES, _X), [(6, 1), (6, 1)]),
    "side by side": (_side_by_side, (_W, _X), [(3, 1), (11, 6)]),
    "within a scan": (_within_a_scan, (_W, _IN_TIME), None),
    "raw keys": (_raw_keys, (random.PRNGKey(3),), None),
    "typed keys": (_raw_keys, (random.key(3),), [(5, 9), (2, 1), (2, 1)]),
    "whole numbers": (_whole_numbers, (jnp.arange(7),), [(9, 10)]),
    "otherwise in between": (_otherwise_in_between, (_W, _X), [(5, 2), (4, 2)]),
    "checkpointed": (xs.grad(_loss(_checkpointed)), (_SQUARES, _X), None),
    "two back": (_two_back, (_W, _X), [(6, 3)]),
    "gradient of two back": (xs.grad(_loss(_two_back)), (_W, _X), None),
    "two back from two": (_two_back_from_two, (_W, _X, 2 * _X), [(7, 3)]),
    "three back": (_three_back, (_W, _X), None),
    "half precision": (_steps, (_W.astype("bfloat16"), _X.astype("bfloat16")), [(8, 2)]),
}


def by_chance(seed):
    """A loop of some instructions by chance, on what came before, constants and what differs; and its arguments."""
    chance = np.random.default_rng(seed)
    sources = ("before", "before", "two before", "constant", "differing", "number", "in time", "inside", "inside")
    body = [(chance.integers(4), *chance.choice(sources, 2)) for _ in range(chance.integers(2, 7))]
    count, odd = int(chance.integers(3, 9)), int(chance.integers(0, 14))
    shown = chance.choice(len(body))

    def function(x, constant, differing, in_time):
        before, two_before, all_shown = x, 2.0 * x, []
        for k in range(count):
            inside = [before]
            values = {
                "before": before,
                "two before": two_before,
                "constant": constant,
                "differing": differing[k],
                "number": 0.1 * k + 0.2,
                "in time": in_time[k],
            }
            for place, (kind, *operands) in enumerate(body):
                a, b = (inside[-1 - place % 2] if each == "inside" else values[each] for each in operands)
                inside.append((jnp.sin(a + b * x), a * b, jnp.maximum(a, b) - x, jnp.tanh(a) + jnp.sum(b * x))[kind])
                if k == odd and not place:
                    inside.append(jnp.cos(inside[-1]))
            two_before, before = before, jnp.tanh(inside[-1])
            all_shown.append(inside[1 + shown] * x)
        all_shown = all_shown[:: 1 + seed % 3]
        return before, two_before, jnp.stack(all_shown, seed % 2) if seed % 5 == 2 else all_shown

    few = jnp.asarray(chance.normal(size=(2 + count, 3)).astype(np.float32))
    return function, (few[0], few[1], list(few[2:]), jnp.sin(few[2:]))
