"""A program with jax's persistent compilation cache, in the folder that is given, or a new one."""

import sys
import tempfile

import jax
import jax.numpy as jnp

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
jax.config.update("jax_compilation_cache_dir", folder)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@jax.jit
def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])
    return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v)


q, k, v = jax.random.normal(jax.random.key(0), (3, 8, 64, 32))
for _ in range(20):
    q = attention(q, k, v)
print(float(q.sum()))
