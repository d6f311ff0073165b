"""Rules of one's own for derivatives: a clipped gradient, a stable function, a root by Newton's method."""

import functools

import jax
import jax.numpy as jnp


@jax.custom_jvp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * x_dot


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def clip_gradient(limit, x):
    return x


def clip_forward(limit, x):
    return x, None


def clip_backward(limit, _, gradient):
    return (jnp.clip(gradient, -limit, limit),)


clip_gradient.defvjp(clip_forward, clip_backward)


@jax.custom_vjp
def square_root(a):
    def improve(state):
        x, _ = state
        return 0.5 * (x + a / x), x

    def changes(state):
        x, before = state
        return jnp.any(jnp.abs(x - before) > 1e-6 * x)

    x, _ = jax.lax.while_loop(changes, improve, (a, a + 1))
    return x


def root_forward(a):
    x = square_root(a)
    return x, x


def root_backward(x, gradient):
    return (gradient / (2 * x),)


square_root.defvjp(root_forward, root_backward)


@jax.jit
def gradient_of_all(x):
    def total(x):
        y = log1pexp(3 * x)
        y = clip_gradient(0.5, y)
        return jnp.sum(square_root(y + 1) * jnp.cos(x))

    return jax.value_and_grad(total)(x)


x = jnp.linspace(-3.0, 3.0, 4096)
for _ in range(10):
    value, gradient = gradient_of_all(x)
    x = x - 0.1 * gradient
print(float(value), float(jnp.abs(gradient).max()))
print(jax.jit(jax.vmap(jax.grad(log1pexp)))(jnp.array([0.0, 50.0, 100.0])).tolist())
