"""Programs of jax, alone and with the libraries that people use with it."""

from __future__ import annotations

from .cells_single import _STEP, _STEP_DATA, _STEP_INSIDE, _TRAIN, _TRAIN_AFTER, _free, _waiting
from .program import Program

_DATA = """
images = np.random.default_rng(0).normal(size=(128, 64)).astype("f4")
labels = np.random.default_rng(1).integers(0, 10, 128)
"""
_OPTAX_DATA = (
    _DATA
    + """
import optax
optimizer = optax.adam(1e-3)
params = {"w": jnp.zeros((64, 256)) + 0.01, "v": jnp.zeros((256, 10)) + 0.01}
state = optimizer.init(params)
"""
)
_OPTAX = """
@jax.jit
def update(params, state, images, labels):
    def loss(params):
        logits = jnp.tanh(images @ params["w"]) @ params["v"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    value, gradient = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(params, updates), state, value
clock = Free("update")
for i in range(200):
    params, state, value = update(params, state, images, labels)
    clock.note(value)
clock.tell()
"""
_OPTAX_AFTER = """
tell_inside(jax, "update", lambda carry: update(carry[0], carry[1], images, labels), (params, state, value))
"""
_NNX_DATA = (
    _DATA
    + """
import optax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(64, 512, rngs=rngs)
        self.second = nnx.Linear(512, 512, rngs=rngs)
        self.last = nnx.Linear(512, 10, rngs=rngs)
    def __call__(self, x):
        return self.last(nnx.relu(self.second(nnx.relu(self.first(x)))))
model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
"""
)
_NNX = """
@nnx.jit
def train_step(model, optimizer, images, labels):
    def loss_of(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(images), labels).mean()
    loss, gradient = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, gradient)
    return loss
""" + _waiting("loss = train_step(model, optimizer, images, labels)", "float(loss)", 60, "train_step")
_NNX_AFTER = """
tell_alone("train_step", lambda: train_step(model, optimizer, images, labels), chained=True, slow_dispatch=True)
"""
_LINEN_DATA = (
    _DATA
    + """
import optax
from flax import linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(512)(x))
        return nn.Dense(10)(nn.relu(nn.Dense(512)(x)))
net = Net()
params = net.init(jax.random.key(0), images)
state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))
"""
)
_LINEN = """
@jax.jit
def train_step(state, images, labels):
    def loss_of(params):
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(params, images), labels).mean()
    loss, gradient = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=gradient), loss
clock = Free("train_step")
for i in range(100):
    state, loss = train_step(state, images, labels)
    clock.note(loss)
clock.tell()
print(float(loss))
"""
_LINEN_AFTER = 'tell_inside(jax, "train_step", lambda carry: train_step(carry[0], images, labels), (state, loss))\n'
_SVI_DATA = """
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
x = np.random.default_rng(0).normal(size=(2000, 32)).astype("f4")
y = (x[:, 0] > 0).astype("i4")
def model(x, y):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(32), 1.0).to_event(1))
    with numpyro.plate("n", len(x)):
        numpyro.sample("y", dist.Bernoulli(logits=x @ w), obs=y)
svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(1e-2), Trace_ELBO())
state = svi.init(jax.random.key(0), x, y)
"""
_SVI = """
@jax.jit
def update(state):
    return svi.update(state, x, y)
""" + _waiting("state, loss = update(state)", "float(loss)", 100, "update")
_SVI_AFTER = 'tell_inside(jax, "update", lambda carry: update(carry[0]), (state, loss))\n'
_HMC_DATA = """
from numpyro.infer.hmc import hmc as make_hmc
scale = np.linspace(0.5, 2.0, 16).astype("f4")
def potential(z):
    return 0.5 * jnp.sum((z / scale) ** 2)
init_kernel, kernel = make_hmc(potential, algo="HMC")
state = init_kernel(jnp.zeros(16), num_warmup=0, step_size=0.1, trajectory_length=20.0, rng_key=jax.random.key(0))
"""
_HMC = """
@jax.jit
def sample(state):
    return kernel(state)
""" + _waiting("state = sample(state)", "np.asarray(state.z)", 60, "sample")
_DIFFRAX_DATA = """
import diffrax
def field(t, y, parameters):
    a, b, c, d = parameters
    return jnp.stack([a * y[0] - b * y[0] * y[1], -c * y[1] + d * y[0] * y[1]])
parameters = jnp.array([1.0, 0.6, 0.8, 0.5])
"""
_DIFFRAX = """
@jax.jit
def solve(parameters):
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Tsit5(), t0=0.0, t1=1000.0, dt0=0.1, y0=jnp.array([1.0, 0.8]),
        args=parameters, max_steps=100_000,
        stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
    )
    return found.ys
""" + _waiting("y = solve(parameters)", "y.block_until_ready()", 60, "solve")
_DIFFRAX_AFTER = 'tell_inside(jax, "solve", lambda p: p + 0.0 * jnp.sum(solve(p)), parameters)\n'
_EQUINOX_DATA = (
    _DATA
    + """
import equinox as eqx
model = eqx.nn.MLP(64, 10, 256, 2, key=jax.random.key(0))
"""
)
_EQUINOX = """
@eqx.filter_jit
def make_step(model, images, labels):
    def loss_of(model):
        logits = jax.nn.log_softmax(jax.vmap(model)(images))
        return -jnp.mean(jnp.take_along_axis(logits, labels[:, None], 1))
    loss, gradient = eqx.filter_value_and_grad(loss_of)(model)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -1e-3 * g, gradient)), loss
""" + _waiting("model, loss = make_step(model, images, labels)", "float(loss)", 60, "make_step")
_EQUINOX_AFTER = """
def once():
    global model
    model, loss = make_step(model, images, labels)
    return loss
tell_alone("make_step", once, chained=True, slow_dispatch=True)
arrays, rest = eqx.partition(model, eqx.is_array)
def body(carry):
    model, loss = make_step(eqx.combine(carry[0], rest), images, labels)
    return eqx.filter(model, eqx.is_array), loss
tell_inside(jax, "make_step", body, (arrays, loss))
"""

JAX = (
    Program("jax_free_100", _STEP_DATA, _STEP + _free("w = step(w, x)", "w", 100, "step"), _STEP_INSIDE, engine="jax"),
    Program(
        "jax_float_100",
        _STEP_DATA,
        _TRAIN + _waiting("w, loss = train(w, x)", "float(loss)", 100, "train"),
        _TRAIN_AFTER,
        "jax",
    ),
    Program("jax_optax_free", _OPTAX_DATA, _OPTAX, _OPTAX_AFTER, engine="jax", needs=("optax",)),
    Program("jax_flax_nnx", _NNX_DATA, _NNX, _NNX_AFTER, engine="jax", needs=("flax", "optax")),
    Program("jax_flax_linen", _LINEN_DATA, _LINEN, _LINEN_AFTER, engine="jax", needs=("flax", "optax")),
    Program("jax_numpyro_svi", _SVI_DATA, _SVI, _SVI_AFTER, engine="jax", needs=("numpyro",)),
    Program("jax_numpyro_hmc", _HMC_DATA, _HMC, engine="jax", needs=("numpyro",)),
    Program("jax_diffrax", _DIFFRAX_DATA, _DIFFRAX, _DIFFRAX_AFTER, engine="jax", needs=("diffrax",)),
    Program("jax_equinox", _EQUINOX_DATA, _EQUINOX, _EQUINOX_AFTER, engine="jax", needs=("equinox",)),
)
