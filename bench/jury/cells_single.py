"""Programs with one function on one device: short and long calls, few and many, waited for or not."""

from __future__ import annotations

from .program import Program

_SHORT_DATA = "x = jnp.ones(1000)\n"
_SHORT = """
@jax.jit
def short(x):
    return jnp.tanh(x) * 0.5 + x
"""
_STEP_DATA = 'w, x = jnp.ones((128, 128)) * 0.01, np.ones((256, 128), "f4")\n'
_STEP = """
@jax.jit
def step(w, x):
    g = jax.grad(lambda w: jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2))(w)
    return w - 1e-3 * g
"""
_LONG_DATA = 'a = jnp.asarray(np.random.default_rng(0).normal(size=(1400, 1400)).astype("f4")) / 40\n'
_LONG = """
@jax.jit
def long(a):
    return jnp.tanh(a @ a)
"""
_DONATED = """
from functools import partial
@partial(jax.jit, donate_argnums=0)
def step(w, x):
    g = jax.grad(lambda w: jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2))(w)
    return w - 1e-3 * g
"""
_TRAIN = """
@jax.jit
def train(w, x):
    loss, g = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2))(w)
    return w - 1e-3 * g, loss
"""


def _waiting(call: str, wait: str, times: int, name: str, warm_up: int = 2) -> str:
    """Return a loop that waits for each call, with its clock."""
    return f"""
ends, spans = [], []
for i in range({times}):
    t = now()
    {call}
    {wait}
    ends.append(now()); spans.append(ends[-1] - t)
tell("{name}", ends=ends, spans=spans, warm_up={warm_up})
"""


def _free(call: str, result: str, times: int, name: str) -> str:
    """Return a loop that waits for nothing, with its clock."""
    return f"""
clock = Free("{name}")
for i in range({times}):
    {call}
    clock.note({result})
clock.tell()
"""


def _returning(call: str, result: str, times: int, name: str) -> str:
    """Return a loop that waits for its second call and its last, and notes when each call returned.

    So short calls are measured, and calls whose results are donated. Calls of some length return when others complete.
    """
    return f"""
ends = []
for i in range({times}):
    {call}
    if i == 1: {result}.block_until_ready(); t = now()
    ends.append(now())
{result}.block_until_ready()
tell("{name}", ends=ends, seconds=now() - t, calls={times - 2})
"""


def _beside(work: str, call: str, result: str, times: int, name: str) -> str:
    """Return a loop that works longer than its calls, for which it does not wait, with its clock."""
    return f"""
def work():
    global x
    {work}
ends = []
for i in range({times}):
    work()
    {call}
    ends.append(now())
{result}.block_until_ready()
tell("{name}", ends=ends, calls={times - 2})
"""


def _alone(name: str, call: str, result: str, work: str = "") -> str:
    """Return what measures a function after the cell; each call needs the ``result`` of the last, a global name."""
    return f"""
def once():
    global {result.replace("[0]", "")}
    {call}
    return {result}
tell_alone("{name}", once, chained=True{f", work={work}" if work else ""})
"""


_SHORT_INSIDE = 'tell_inside(jax, "short", short, x)\n'
_SHORT_ALONE = _alone("short", "x = short(x)", "x")
_SHORT_AFTER = _SHORT_ALONE + _SHORT_INSIDE
_TRAIN_INSIDE = """
carry = w, jnp.float32(0.0), jnp.asarray(x)
tell_inside(jax, "train", lambda carry: (*train(carry[0], carry[2]), carry[2]), carry)
"""
_TRAIN_AFTER = _alone("train", "w, loss = train(w, x)", "w") + _TRAIN_INSIDE
_STEP_INSIDE = 'tell_inside(jax, "step", lambda carry: (step(*carry), carry[1]), (w, jnp.asarray(x)))\n'
_STEP_AFTER = _alone("step", "w = step(w, x)", "w") + _STEP_INSIDE
_STEP_AFTER_WORK = _alone("step", "w = step(w, x)", "w", "work") + _STEP_INSIDE
_STEP_BESIDE_WORK = _STEP_AFTER_WORK + 'tell_beside_work("step", once, work)\n'
_LONG_INSIDE = 'tell_inside(jax, "long", long, a)\n'
_PREDICT_INSIDE = 'tell_inside(jax, "predict", lambda carry: (carry[0], predict(*carry)), (w, jnp.asarray(x)))\n'

_SHORT_WAIT = "x.block_until_ready()"
_STEP_WAIT = "w.block_until_ready()"

#: As people first write it: nothing is waited for until the end.
_UNWAITED = """
clock = Free("step")
for i in range(100):
    w = step(w, x)
    clock.note(w)
clock.tell()
print(w[0, 0])
"""
_RERUN = """
clock = Free("step")
for i in range(100):
    w = step(w, x)
    clock.note(w)
clock.tell()
"""
_INDEPENDENT = """
@jax.jit
def predict(w, x):
    return jnp.tanh(jnp.tanh(x @ w) @ w)
clock = Free("predict")
for i in range(100):
    y = predict(w, x)
    clock.note(y)
clock.tell()
"""
_BATCH = 'x = np.sin(np.random.normal(size=(256, 256)))[:, :128].astype("f4")'
_NUMPY_WAITED = f"""
def work():
    global x
    {_BATCH}
ends, spans = [], []
for i in range(60):
    work()
    t = now()
    w = step(w, x)
    w.block_until_ready()
    ends.append(now()); spans.append(ends[-1] - t)
tell("step", ends=ends, spans=spans)
"""
_KEPT_RESULTS = """
results, ends = [], []
for i in range(100):
    results.append(short(x * i))
    ends.append(now())
jax.block_until_ready(results)
tell("short", ends=ends, calls=98)
"""

SINGLE = (
    Program("short_once", _SHORT_DATA, _SHORT + _waiting("y = short(x)", "y.block_until_ready()", 1, "short")),
    Program("short_3", _SHORT_DATA, _SHORT + _waiting("y = short(x)", "y.block_until_ready()", 3, "short")),
    Program(
        "short_5_warm",
        _SHORT_DATA + _SHORT + "for _ in range(3): short(x).block_until_ready()\n",
        _waiting("y = short(x)", "y.block_until_ready()", 5, "short", warm_up=0),
    ),
    Program("short_free_30", _SHORT_DATA, _SHORT + _returning("x = short(x)", "x", 30, "short"), _SHORT_INSIDE),
    Program("short_free_100", _SHORT_DATA, _SHORT + _returning("x = short(x)", "x", 100, "short"), _SHORT_INSIDE),
    Program("short_free_1000", _SHORT_DATA, _SHORT + _returning("x = short(x)", "x", 1000, "short"), _SHORT_INSIDE),
    Program(
        "short_waited_1000", _SHORT_DATA, _SHORT + _waiting("x = short(x)", _SHORT_WAIT, 1000, "short"), _SHORT_AFTER
    ),
    Program(
        "short_float_100", _SHORT_DATA, _SHORT + _waiting("y = short(x)", "float(y[0])", 100, "short"), _SHORT_AFTER
    ),
    Program("short_results_kept", _SHORT_DATA, _SHORT + _KEPT_RESULTS, _SHORT_AFTER),
    Program("step_unwaited_100", _STEP_DATA, _STEP + _UNWAITED, _STEP_INSIDE),
    Program("step_free_30", _STEP_DATA, _STEP + _free("w = step(w, x)", "w", 30, "step"), _STEP_INSIDE),
    Program("step_free_1000", _STEP_DATA, _STEP + _free("w = step(w, x)", "w", 1000, "step"), _STEP_INSIDE),
    Program("step_waited_100", _STEP_DATA, _STEP + _waiting("w = step(w, x)", _STEP_WAIT, 100, "step"), _STEP_AFTER),
    Program("step_same_cell_again", _STEP_DATA, _STEP + _UNWAITED, _STEP_INSIDE, again=True),
    Program("step_warm_cell_again", _STEP_DATA + _STEP, _RERUN, _STEP_INSIDE, again=True),
    Program(
        "loss_float_100",
        _STEP_DATA,
        _TRAIN + _waiting("w, loss = train(w, x)", "float(loss)", 100, "train"),
        _TRAIN_AFTER,
    ),
    Program("asarray_30", _STEP_DATA, _STEP + _waiting("w = step(w, x)", "np.asarray(w)", 30, "step"), _STEP_AFTER),
    Program("predict_independent", _STEP_DATA, _INDEPENDENT, _PREDICT_INSIDE),
    Program("donated_free_300", _STEP_DATA, _DONATED + _returning("w = step(w, x)", "w", 300, "step"), _STEP_INSIDE),
    Program(
        "donated_waited_100", _STEP_DATA, _DONATED + _waiting("w = step(w, x)", _STEP_WAIT, 100, "step"), _STEP_AFTER
    ),
    Program("long_once", _LONG_DATA, _LONG + _waiting("b = long(a)", "b.block_until_ready()", 1, "long")),
    Program("long_3", _LONG_DATA, _LONG + _waiting("a = long(a)", "a.block_until_ready()", 3, "long")),
    Program("long_free_10", _LONG_DATA, _LONG + _free("a = long(a)", "a", 10, "long"), _LONG_INSIDE),
    Program(
        "long_waited_30", _LONG_DATA, _LONG + _waiting("a = long(a)", "a.block_until_ready()", 30, "long"), _LONG_INSIDE
    ),
    Program(
        "numpy_beside_free",
        _STEP_DATA,
        _STEP + _beside(_BATCH, "w = step(w, x)", "w", 100, "step"),
        _STEP_BESIDE_WORK,
    ),
    Program("numpy_beside_waited", _STEP_DATA, _STEP + _NUMPY_WAITED, _STEP_AFTER_WORK),
    Program(
        "sleep_beside_free",
        _STEP_DATA,
        _STEP + _beside("time.sleep(0.01)", "w = step(w, x)", "w", 60, "step"),
        _STEP_AFTER_WORK,
    ),
    Program(
        "python_beside_free",
        _STEP_DATA,
        _STEP + _beside("n = sum(k * k for k in range(60_000))", "w = step(w, x)", "w", 100, "step"),
        _STEP_BESIDE_WORK,
    ),
    Program(
        "python_beside_short",
        _SHORT_DATA,
        _SHORT + _beside("n = sum(k * k for k in range(20_000))", "x = short(x)", "x", 200, "short"),
        _alone("short", "x = short(x)", "x", "work") + _SHORT_INSIDE,
    ),
)
