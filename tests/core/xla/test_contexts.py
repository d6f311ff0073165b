"""XLA never works in the MLIR context in which threads lower: its passes would load dialects into it under them."""

import pytest

PROGRAM = """
import numpy as np
import xlascope as xs
import xlascope.numpy as jnp
from xlascope.xla.mlir.builder import context

xs.config.update("jax_compilation_cache_dir", {cache!r})
function = {function}
xs.jit(function)(np.float32([1.0, 2.0])).block_until_ready()
print(context().is_registered_operation("stablehlo.add"), context().is_registered_operation("mhlo.add"))
"""


@pytest.mark.parametrize(
    ("function", "cached"),
    [
        ("lambda x: jnp.sin(x) * x", False),
        ("lambda x: xs.pure_callback(lambda y: y + 1, x, x)", False),
        ("lambda x: jnp.cos(x) * x", True),
    ],
    ids=["compiled", "calls Python", "persistent cache"],
)
def test_compiling_leaves_the_context_of_lowering_alone(function, cached, fresh_python, tmp_path):
    cache = str(tmp_path) if cached else None
    assert fresh_python(PROGRAM.format(cache=cache, function=function)).split() == ["True", "False"]
