"""Programs with several functions or shapes, eager code, loops within, threads, errors, and eight devices."""

from __future__ import annotations

from .cells_single import _STEP, _STEP_AFTER, _STEP_DATA, _STEP_INSIDE, _TRAIN, _TRAIN_AFTER, _alone, _free
from .program import Program

_TRAIN_EVAL = (
    _TRAIN
    + """
@jax.jit
def evaluate(w, x):
    return jnp.mean(jnp.abs(jnp.tanh(jnp.tanh(x @ w) @ w)))
ends, spans, eval_ends, eval_spans = [], [], [], []
for i in range(100):
    t = now()
    w, loss = train(w, x)
    float(loss)
    ends.append(now()); spans.append(ends[-1] - t)
    if i % 10 == 9:
        t = now()
        float(evaluate(w, x))
        eval_ends.append(now()); eval_spans.append(eval_ends[-1] - t)
tell("train", ends=ends, spans=spans)
tell("evaluate", ends=eval_ends, spans=eval_spans)
"""
)
_INTERLEAVED = """
@jax.jit
def generator(w, x):
    return w - 1e-3 * jax.grad(lambda w: jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2))(w)
@jax.jit
def critic(v, w):
    return v - 1e-3 * jnp.tanh(v @ w)
v = w
clock = Free("generator")
for i in range(100):
    w = generator(w, x)
    clock.note(w)
    v = critic(v, w)
    clock.note(v, "critic")
clock.tell()
"""
_INTERLEAVED_AFTER = (
    _alone("generator", "w = generator(w, x)", "w")
    + _alone("critic", "v = critic(v, w)", "v")
    + """
tell_inside(jax, "generator", lambda carry: (generator(*carry), carry[1]), (w, jnp.asarray(x)))
critic_ms = tell_inside(jax, "critic", lambda carry: (critic(*carry), carry[1]), (v, w))
tell_beside("generator", clock.mean_ms["generator"] - critic_ms)
"""
)
_PIPELINE = """
@jax.jit
def load(x):
    return (x - jnp.mean(x, 0)) / (jnp.std(x, 0) + 1e-6)
@jax.jit
def encode(w, x):
    return jnp.tanh(x @ w)
@jax.jit
def reduce(y):
    return jnp.sum(y ** 2, 1)
times = {"load": [], "encode": [], "reduce": []}
ends = {name: [] for name in times}
def timed(name, f, *args):
    t = now()
    y = f(*args)
    y.block_until_ready()
    ends[name].append(now()); times[name].append(ends[name][-1] - t)
    return y
for i in range(60):
    timed("reduce", reduce, timed("encode", encode, w, timed("load", load, x)))
for name in times:
    tell(name, ends=ends[name], spans=times[name])
"""
_PIPELINE_AFTER = (
    _alone("load", "x = load(x)", "x")
    + _alone("encode", "x = encode(w, x)", "x")
    + """
tell_inside(jax, "load", load, x)
tell_inside(jax, "encode", lambda carry: (carry[0], encode(*carry)), (w, x))
"""
)
#: Of a function with two programs: the rows of the second argument of each.
_BOTH_STEPS = """
for which, rows in enumerate((256, 512)):
    def once():
        global w
        w = step(w, x)
        return w
    x = jnp.ones((rows, 128))
    tell_alone("step", once, chained=True, which=which)
    tell_inside(jax, "step", lambda carry: (step(*carry), carry[1]), (w, x), which)
"""
_BOTH_TRAINS = """
for which, rows in enumerate((256, 96)):
    def once():
        global w
        w, loss = train(w, x)
        return w
    x = jnp.ones((rows, 128))
    tell_alone("train", once, chained=True, which=which)
    carry = w, jnp.float32(0.0), x
    tell_inside(jax, "train", lambda carry: (*train(carry[0], carry[2]), carry[2]), carry, which)
"""
_RETRACED = (
    _STEP
    + """
for rows in (256, 512):
    x, ends, spans = np.ones((rows, 128), "f4"), [], []
    for i in range(50):
        t = now()
        w = step(w, x)
        w.block_until_ready()
        ends.append(now()); spans.append(ends[-1] - t)
    tell("step", ends=ends, spans=spans)
"""
)
_LAST_BATCH = (
    _TRAIN
    + """
data = np.ones((10 * 256 + 96, 128), "f4")
times, ends = {256: [], 96: []}, {256: [], 96: []}
for epoch in range(8):
    for k in range(0, len(data), 256):
        batch = data[k:k + 256]
        t = now()
        w, loss = train(w, batch)
        float(loss)
        ends[len(batch)].append(now()); times[len(batch)].append(ends[len(batch)][-1] - t)
for rows in times:
    tell("train", ends=ends[rows], spans=times[rows])
"""
)
_EAGER_BESIDE = (
    _TRAIN
    + """
mean, ends, spans = 0.0, [], []
for i in range(100):
    t = now()
    w, loss = train(w, x)
    loss.block_until_ready()
    d = now() - t
    mean = mean * 0.9 + jnp.sqrt(loss) * 0.1
    mean.block_until_ready()
    ends.append(now()); spans.append(d)
tell("train", ends=ends, spans=spans)
"""
)
_SCAN = """
@jax.jit
def simulate(state):
    def body(state, _):
        state = state + 0.01 * jnp.stack([state[1], -jnp.sin(state[0])])
        return state, state[0]
    return jax.lax.scan(body, state, None, length=500)
ends, spans = [], []
for i in range(60):
    t = now()
    state, path = simulate(state)
    path = np.asarray(path)
    ends.append(now()); spans.append(ends[-1] - t)
tell("simulate", ends=ends, spans=spans)
"""
_SCAN_FREE = """
@jax.jit
def simulate(state):
    def body(state, _):
        return state + 0.01 * jnp.stack([state[1], -jnp.sin(state[0])]), None
    return jax.lax.scan(body, state, None, length=2000)[0]
clock = Free("simulate")
for i in range(60):
    state = simulate(state)
    clock.note(state)
clock.tell()
"""
_PER_EXAMPLE = """
@jax.jit
def norms(w, x):
    gradient = jax.vmap(jax.grad(lambda w, x: jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w) ** 2)), (None, 0))(w, x)
    return jnp.sqrt(jnp.sum(gradient ** 2, (1, 2)))
ends, spans = [], []
for i in range(30):
    t = now()
    n = norms(w, x)
    n.block_until_ready()
    ends.append(now()); spans.append(ends[-1] - t)
tell("norms", ends=ends, spans=spans)
"""
_THREAD = (
    _TRAIN
    + """
ends, spans = [], []
def work():
    global w
    for i in range(100):
        t = now()
        w, loss = train(w, x)
        float(loss)
        ends.append(now()); spans.append(ends[-1] - t)
thread = threading.Thread(target=work)
thread.start(); thread.join()
tell("train", ends=ends, spans=spans)
"""
)
_ERROR = (
    _TRAIN
    + """
ends, spans = [], []
for i in range(100):
    t = now()
    w, loss = train(w, x)
    float(loss)
    ends.append(now()); spans.append(ends[-1] - t)
    if i == 60:
        tell("train", ends=ends, spans=spans)
        raise KeyError("the data ends here")
"""
)
_TRANSFERRED = (
    _STEP
    + """
batches = np.random.default_rng(0).normal(size=(8, 256, 128)).astype("f4")
ends, spans = [], []
for i in range(60):
    batch = jax.device_put(batches[i % 8])
    t = now()
    w = step(w, batch)
    w.block_until_ready()
    ends.append(now()); spans.append(ends[-1] - t)
tell("step", ends=ends, spans=spans)
"""
)
_WAITED_10TH = (
    _TRAIN
    + """
ends = []
for i in range(200):
    w, loss = train(w, x)
    if i % 10 == 9:
        last = float(loss)
        ends.append(now())
tell("train", ends=ends, warm_up=1, every=10, chained=True)
"""
)
_NORMS_INSIDE = 'tell_inside(jax, "norms", lambda w: w + 0.0 * jnp.sum(norms(w, x)), w)\n'

_MESH = """
mesh = jax.make_mesh((8,), ("i",))
P, NamedSharding = jax.sharding.PartitionSpec, jax.sharding.NamedSharding
x = jax.device_put(np.ones((1024, 256), "f4"), NamedSharding(mesh, P("i")))
w = jax.device_put(np.ones((256, 256), "f4") * 0.01, NamedSharding(mesh, P()))
"""
_SHARD_MAP = """
from functools import partial
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("i")), out_specs=P())
def step(w, x):
    g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - 1e-3 * jax.lax.pmean(g, "i")
"""
_PMAP_DATA = "w, x = jnp.ones((8, 128, 128)) * 0.01, jnp.ones((8, 128, 128))\n"
_PMAP = """
from functools import partial
@partial(jax.pmap, axis_name="i")
def step(w, x):
    g = jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
    return w - 1e-3 * jax.lax.pmean(g, "i")
"""


def _waited(times: int) -> str:
    return f"""
ends, spans = [], []
for i in range({times}):
    t = now()
    w = step(w, x)
    w.block_until_ready()
    ends.append(now()); spans.append(ends[-1] - t)
tell("step", ends=ends, spans=spans)
"""


MIXED = (
    Program(
        "train_and_evaluate", _STEP_DATA, _TRAIN_EVAL, _TRAIN_AFTER + 'tell_alone("evaluate", lambda: evaluate(w, x))\n'
    ),
    Program("two_interleaved_free", _STEP_DATA, _INTERLEAVED, _INTERLEAVED_AFTER),
    Program("three_in_turn_waited", _STEP_DATA, _PIPELINE, _PIPELINE_AFTER),
    Program("retraced_in_the_middle", _STEP_DATA, _RETRACED, _BOTH_STEPS),
    Program("smaller_last_batch", _STEP_DATA, _LAST_BATCH, _BOTH_TRAINS),
    Program("eager_beside", _STEP_DATA, _EAGER_BESIDE, _TRAIN_AFTER),
    Program("scan_inside_asarray", "state = jnp.array([1.0, 0.0])\n", _SCAN),
    Program("scan_inside_free", "state = jnp.array([1.0, 0.0])\n", _SCAN_FREE),
    Program("vmap_grad_30", _STEP_DATA, _PER_EXAMPLE, _NORMS_INSIDE),
    Program("in_a_thread", _STEP_DATA, _THREAD, _TRAIN_AFTER),
    Program("error_in_the_middle", _STEP_DATA, _ERROR, _TRAIN_AFTER, raises="KeyError"),
    Program("device_put_each", _STEP_DATA, _TRANSFERRED, _STEP_AFTER),
    Program("loss_every_tenth", _STEP_DATA, _WAITED_10TH, _TRAIN_AFTER),
    Program("sharded_8_waited", _MESH, _STEP + _waited(60), _STEP_AFTER, devices=8),
    Program("sharded_8_free", _MESH, _STEP + _free("w = step(w, x)", "w", 60, "step"), _STEP_INSIDE, devices=8),
    Program("shard_map_8_waited", _MESH, _SHARD_MAP + _waited(60), _STEP_AFTER, devices=8),
    Program("pmap_8_free", _PMAP_DATA, _PMAP + _free("w = step(w, x)", "w", 60, "step"), devices=8),
)
