"""A small language model of flax (linen), trained with optax's Adam."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

VOCABULARY, LENGTH, WIDTH = 64, 16, 32


class Block(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x, mask, deterministic):
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(self.heads, dropout_rate=0.1, deterministic=deterministic)(y, mask=mask)
        x = x + y
        y = nn.LayerNorm()(x)
        y = nn.Dense(4 * x.shape[-1])(y)
        y = nn.gelu(y)
        y = nn.Dense(x.shape[-1])(y)
        return x + nn.Dropout(0.1, deterministic=deterministic)(y)


class LanguageModel(nn.Module):
    layers: int = 2

    @nn.compact
    def __call__(self, tokens, deterministic=True):
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        x = x + self.param("positions", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        mask = nn.make_causal_mask(tokens)
        for _ in range(self.layers):
            x = Block(heads=4)(x, mask, deterministic)
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


@jax.jit
def train_step(state, tokens, key):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, tokens[:, :-1], deterministic=False, rngs={"dropout": key})
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
        return losses.mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


model = LanguageModel()
tokens = np.random.default_rng(0).integers(0, VOCABULARY, (8, LENGTH + 1))
params = model.init(jax.random.key(0), jnp.asarray(tokens[:, :-1]))["params"]
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 5, 20)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)

for step in range(20):
    state, loss = train_step(state, tokens, jax.random.fold_in(jax.random.key(1), step))
    if step % 5 == 0:
        print(step, float(loss))
