"""XLA never works in the MLIR context in which threads lower: its passes would load dialects into it under them."""

import numpy as np
import pytest

import xlascope as xs
import xlascope.numpy as jnp
from xlascope.xla.builder import context


def _callback(x):
    return xs.pure_callback(lambda y: y + 1, x, x)


@pytest.mark.parametrize(
    ("function", "cached"),
    [(lambda x: jnp.sin(x) * x, False), (_callback, False), (lambda x: jnp.cos(x) * x, True)],
    ids=["compiled", "calls Python", "persistent cache"],
)
def test_compiling_leaves_the_context_of_lowering_alone(function, cached, tmp_path):
    before = xs.config.jax_compilation_cache_dir
    xs.config.update("jax_compilation_cache_dir", str(tmp_path) if cached else None)
    try:
        xs.jit(function)(np.float32([1.0, 2.0])).block_until_ready()
    finally:
        xs.config.update("jax_compilation_cache_dir", before)
    assert context().is_registered_operation("stablehlo.add")
    assert not context().is_registered_operation("mhlo.add"), "XLA's own dialect"
