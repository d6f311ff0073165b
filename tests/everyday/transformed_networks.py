"""A small network as people write one, and every transformation and pair of transformations of it.

The network has what a function makes anew at each call: lambdas that are mapped, scanned and branched on, jitted
helpers, functions with rules of their own, typed keys.
"""

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import lax, nn, random
from xlascope.scipy.special import logsumexp

Function = Callable[[Any], Any]

INPUT = jnp.linspace(0.1, 0.9, 3)
_WEIGHTS = jnp.linspace(-1.0, 1.0, 9).reshape(3, 3)
_KEY = random.key(0)


@xs.custom_jvp
def soft_sign(x):
    return x / (1 + jnp.abs(x))


soft_sign.defjvps(lambda t, _, x: t / (1 + jnp.abs(x)) ** 2)


@xs.custom_vjp
def doubled_gradient(x):
    return 1.0 * x


doubled_gradient.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (2 * ct,))


@xs.jit
def layer(weights, x):
    return jnp.tanh(weights @ x)


def network(x):
    """Activations, dropout, a loop and a branch; the result is a vector."""
    hidden = nn.relu(layer(_WEIGHTS, x))
    hidden = hidden * random.bernoulli(random.fold_in(_KEY, 1), 0.5, hidden.shape)
    hidden = xs.vmap(lambda h: soft_sign(h) * nn.silu(h))(hidden + x)
    total, sums = lax.scan(lambda c, h: (c + h * x[0], c * h), 0.0, hidden)
    chosen = lax.cond(total > 0, lambda h: h * 2.0, lambda h: -h, sums)
    return chosen + x - logsumexp(x)


def with_reverse_rule(x):
    """The same with a function that cannot be differentiated forward."""
    return doubled_gradient(network(x)) ** 2


def fresh_network() -> Function:
    """Return the network with bytecode of its own, which Python has not specialized."""
    return FunctionType(_copy_code(network.__code__), network.__globals__)


def _copy_code(code: CodeType) -> CodeType:
    return code.replace(co_consts=tuple(_copy_code(x) if isinstance(x, CodeType) else x for x in code.co_consts))


#: From a function of a vector to another one. What it makes is made once, as in a program.
TRANSFORMATIONS: dict[str, Callable[[Function], Function]] = {
    "nothing": lambda f: f,
    "jit": xs.jit,
    "grad": lambda f: xs.grad(lambda x: f(x).sum()),
    "value_and_grad": lambda f: _last(xs.value_and_grad(lambda x: f(x).sum())),
    "jvp": lambda f: lambda x: xs.jvp(f, (x,), (x,))[1],
    "vjp": lambda f: lambda x: _pulled_back(f, x),
    "linearize": lambda f: lambda x: xs.linearize(f, x)[1](x),
    "vmap": lambda f: lambda x: xs.vmap(f)(jnp.stack([x, x]))[0],
    "jacfwd": xs.jacfwd,
    "jacrev": xs.jacrev,
    "hessian": lambda f: xs.hessian(lambda x: f(x).sum()),
    "checkpoint": xs.checkpoint,
}
#: Forward over a function that has nothing but a rule for reverse mode.
FORWARD = {"jvp", "linearize", "jacfwd", "hessian"}


def _last(f: Function) -> Function:
    return lambda x: f(x)[1]


def _pulled_back(f: Function, x: Any) -> Any:
    y, pullback = xs.vjp(f, x)
    return pullback(y)[0]


def transformed(outer: str, inner: str, network: Function = network) -> Function:
    """Return the network transformed by ``inner``, and that by ``outer``."""
    return TRANSFORMATIONS[outer](TRANSFORMATIONS[inner](network))
