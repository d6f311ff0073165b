"""Numerical programs: sampling, mechanics, transforms, factorizations, half precision, a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from .engine import BenchmarkProgram, EngineModules, Sizes, draw_normal

_HMC: Sizes = {"small": {"chains": 8, "draws": 20}, "large": {"chains": 1024, "draws": 100}}
_BODIES: Sizes = {"small": {"bodies": 32, "steps": 10}, "large": {"bodies": 2048, "steps": 20}}
_FFT: Sizes = {"small": {"size": 64, "steps": 2}, "large": {"size": 2048, "steps": 10}}
_MATRICES: Sizes = {"small": {"size": 48}, "large": {"size": 768}}
_PRODUCTS: Sizes = {"small": {"size": 128, "layers": 2}, "large": {"size": 4096, "layers": 6}}
_PIXELS: Sizes = {"small": {"size": 64, "rounds": 50}, "large": {"size": 2048, "rounds": 500}}


def hmc(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return Hamiltonian Monte Carlo with many chains: random numbers, nested loops, a selection."""
    xs, jnp, lax, random = engine.xs, engine.np, engine.lax, engine.random
    chains, draws = _HMC[size]["chains"], _HMC[size]["draws"]

    def log_density(q: Any) -> Any:
        return -0.5 * jnp.sum(q**2) - 0.1 * jnp.sum(q**4)

    def leap(_: Any, state: Any) -> Any:
        q, p = state
        p = p + 0.05 * xs.grad(log_density)(q)
        q = q + 0.1 * p
        return q, p + 0.05 * xs.grad(log_density)(q)

    def move(q: Any, key: Any) -> Any:
        key1, key2 = random.split(key)
        p = random.normal(key1, q.shape)
        new_q, new_p = lax.fori_loop(0, 10, leap, (q, p))
        gain = (log_density(new_q) - 0.5 * jnp.sum(new_p**2)) - (log_density(q) - 0.5 * jnp.sum(p**2))
        q = jnp.where(jnp.log(random.uniform(key2)) < gain, new_q, q)
        return q, jnp.mean(q * q)

    def sample(q: Any, seeds: Any) -> Any:
        keys = xs.vmap(lambda seed: random.split(random.PRNGKey(seed), draws))(seeds)
        squares = xs.vmap(lambda q, keys: lax.scan(move, q, keys)[1])(q, keys)
        return jnp.mean(squares, axis=0)[:8], jnp.mean(squares)

    return BenchmarkProgram(
        sample, (*draw_normal((chains, 20), scale=1.0), np.arange(chains, dtype=np.int32)), tolerance=2e-2
    )


def n_body(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return the gradient through a simulation of bodies that attract each other."""
    xs, jnp = engine.xs, engine.np
    bodies, steps = _BODIES[size]["bodies"], _BODIES[size]["steps"]

    def accelerations(x: Any, mass: Any) -> Any:
        displacements = x[:, None] - x[None, :]
        square = jnp.sum(displacements * displacements, -1) + 0.1
        return -jnp.sum(mass[None, :, None] * displacements / square[..., None] ** 1.5, axis=1)

    def endpoint_error(v: Any, x: Any, mass: Any, target: Any) -> Any:
        def advance(_: Any, state: Any) -> Any:
            x, v = state
            v = v + 0.005 * accelerations(x, mass)
            x = x + 0.01 * v
            return x, v + 0.005 * accelerations(x, mass)

        end, _ = engine.lax.fori_loop(0, steps, advance, (x, v))
        return jnp.mean((end - target) ** 2)

    x, v, mass, target = draw_normal((bodies, 3), (bodies, 3), (bodies,), (3,), scale=1.0)
    return BenchmarkProgram(xs.grad(endpoint_error), (v, x, np.abs(mass) / bodies, target), tolerance=1e-2)


def fourier(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return steps of a heat equation with a source, solved by two-dimensional Fourier transforms."""
    jnp = engine.np
    points, steps = _FFT[size]["size"], _FFT[size]["steps"]
    frequencies = np.fft.fftfreq(points) ** 2
    decay = np.exp(-0.1 * (frequencies[:, None] + frequencies[None, : points // 2 + 1])).astype(np.float32)

    def evolve(field: Any, source: Any) -> Any:
        for _ in range(steps):
            field = jnp.fft.irfft2(jnp.fft.rfft2(field) * decay) + 0.1 * source * jnp.sin(field)
        return field, jnp.abs(jnp.fft.rfft2(field))[:4, :4]

    return BenchmarkProgram(evolve, tuple(draw_normal((points, points), (points, points), scale=1.0)), updates=True)


def linear_algebra(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return factorizations and solutions: Cholesky, QR, eigenvalues, singular values, a linear system."""
    linalg, jnp = engine.np.linalg, engine.np
    n = _MATRICES[size]["size"]

    def factor(a: Any, b: Any) -> Any:
        definite = a @ a.T + n * jnp.eye(n)
        lower = linalg.cholesky(definite)
        q, r = linalg.qr(a)
        values, vectors = linalg.eigh(definite)
        singular = linalg.svd(a, compute_uv=False)
        rebuilt = (vectors * values) @ vectors.T
        return lower @ lower.T, q @ r, rebuilt, singular, linalg.solve(definite, b)

    return BenchmarkProgram(factor, tuple(draw_normal((n, n), (n, 4), scale=1.0)), tolerance=5e-3)


def half_precision(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return layers of bfloat16 and float16 products accumulated in float32."""
    jnp, lax = engine.np, engine.lax
    n, layers = _PRODUCTS[size]["size"], _PRODUCTS[size]["layers"]

    def multiply(x: Any, weights: Any) -> Any:
        for number, w in enumerate(weights):
            dtype = (jnp.bfloat16, jnp.float16)[number % 2]
            y = lax.dot(x.astype(dtype), w.astype(dtype), preferred_element_type=jnp.float32)
            x = jnp.tanh(y) + 0.5 * x
        return x, jnp.mean(x * x)

    weights = draw_normal(*[(n, n)] * layers, scale=n**-0.5, seed=5)
    return BenchmarkProgram(multiply, (draw_normal((n, n), scale=1.0)[0], weights), updates=True, tolerance=3e-2)


def loop(engine: EngineModules, size: str) -> BenchmarkProgram:
    """Return a while loop over an image: the escape times of the Mandelbrot set."""
    jnp, lax = engine.np, engine.lax
    side, rounds = _PIXELS[size]["size"], _PIXELS[size]["rounds"]

    def escape(x0: Any, y0: Any) -> Any:
        def advance(state: Any) -> Any:
            number, x, y, count = state
            inside = x * x + y * y < 4.0
            x, y = jnp.where(inside, x * x - y * y + x0, x), jnp.where(inside, 2 * x * y + y0, y)
            return number + 1, x, y, count + inside

        start = (0, jnp.zeros_like(x0), jnp.zeros_like(y0), jnp.zeros(x0.shape, jnp.int32))
        count = lax.while_loop(lambda state: state[0] < rounds, advance, start)[3]
        return jnp.mean(count.astype(jnp.float32)), jnp.mean((count == rounds).astype(jnp.float32))

    line = np.linspace(-1.5, 1.0, side, dtype=np.float32)
    x0, y0 = np.meshgrid(line - 0.5, line)
    return BenchmarkProgram(escape, (x0, y0), tolerance=2e-3)
