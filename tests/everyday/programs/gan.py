"""A generative adversarial network: two networks, two optimizers, fresh noise from typed keys at every step."""

import itertools

import numpy as np


def train(xs, steps=30):
    jnp, random = xs.numpy, xs.random
    key = random.key(7)

    def init(key, sizes):
        keys = random.split(key, len(sizes) - 1)
        shapes = itertools.pairwise(sizes)
        return [(random.normal(k, (n, m)) / np.sqrt(n), jnp.zeros(m)) for k, (n, m) in zip(keys, shapes, strict=True)]

    def mlp(params, x):
        for w, b in params[:-1]:
            x = xs.nn.leaky_relu(x @ w + b, 0.2)
        w, b = params[-1]
        return x @ w + b

    def adam_init(params):
        zeros = xs.tree.map(jnp.zeros_like, params)
        return zeros, zeros, jnp.array(0)

    def adam(grads, state, params, learning_rate):
        m, v, count = state
        count = count + 1
        m = xs.tree.map(lambda m, g: 0.5 * m + 0.5 * g, m, grads)
        v = xs.tree.map(lambda v, g: 0.99 * v + 0.01 * g**2, v, grads)
        scale = learning_rate * jnp.sqrt(1 - 0.99**count) / (1 - 0.5**count)
        return xs.tree.map(lambda p, m, v: p - scale * m / (jnp.sqrt(v) + 1e-8), params, m, v), (m, v, count)

    def discriminator_loss(discriminator, generator, noise, real):
        on_real = mlp(discriminator, real)
        on_fake = mlp(discriminator, mlp(generator, noise))
        return jnp.mean(xs.nn.softplus(-on_real)) + jnp.mean(xs.nn.softplus(on_fake))

    def generator_loss(generator, discriminator, noise):
        return jnp.mean(xs.nn.softplus(-mlp(discriminator, mlp(generator, noise))))

    @xs.jit
    def update_discriminator(discriminator, state, generator, key, real):
        noise = random.normal(key, (64, 4))
        loss, grads = xs.value_and_grad(discriminator_loss)(discriminator, generator, noise, real)
        discriminator, state = adam(grads, state, discriminator, 2e-3)
        return discriminator, state, loss

    @xs.jit
    def update_generator(generator, state, discriminator, key):
        noise = random.normal(key, (64, 4))
        loss, grads = xs.value_and_grad(generator_loss)(generator, discriminator, noise)
        generator, state = adam(grads, state, generator, 1e-3)
        return generator, state, loss

    key, generator_key, discriminator_key = random.split(key, 3)
    generator, discriminator = init(generator_key, [4, 32, 2]), init(discriminator_key, [2, 32, 1])
    generator_state, discriminator_state = adam_init(generator), adam_init(discriminator)
    for _ in range(steps):
        key, real_key, key1, key2 = random.split(key, 4)
        angle = random.uniform(real_key, (64,), maxval=2 * np.pi)
        real = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1)
        discriminator, discriminator_state, d_loss = update_discriminator(
            discriminator, discriminator_state, generator, key1, real
        )
        generator, generator_state, g_loss = update_generator(generator, generator_state, discriminator, key2)
        yield d_loss + g_loss
