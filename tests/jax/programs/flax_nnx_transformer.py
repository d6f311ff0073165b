"""The same language model in flax's nnx, trained with optax's Adam."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

VOCABULARY, LENGTH, WIDTH = 64, 16, 32


class Block(nnx.Module):
    def __init__(self, heads, rngs):
        self.first_norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(heads, WIDTH, dropout_rate=0.1, decode=False, rngs=rngs)
        self.second_norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x, mask):
        x = x + self.attention(self.first_norm(x), mask=mask)
        y = self.down(nnx.gelu(self.up(self.second_norm(x))))
        return x + self.dropout(y)


class LanguageModel(nnx.Module):
    def __init__(self, layers, rngs):
        self.embed = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.positions = nnx.Param(0.02 * jax.random.normal(rngs.params(), (LENGTH, WIDTH)))
        self.blocks = nnx.List([Block(4, rngs) for _ in range(layers)])
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.head = nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens) + self.positions[...]
        mask = nnx.make_causal_mask(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))


@nnx.jit
def train_step(model, optimizer, metrics, tokens):
    def loss_fn(model):
        logits = model(tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    metrics.update(loss=loss)
    optimizer.update(model, grads)


model = LanguageModel(2, nnx.Rngs(0, dropout=1))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
tokens = jnp.asarray(np.random.default_rng(0).integers(0, VOCABULARY, (8, LENGTH + 1)))

model.train()
for step in range(20):
    train_step(model, optimizer, metrics, tokens)
    if step % 5 == 4:
        print(step, float(metrics.compute()["loss"]))
        metrics.reset()
