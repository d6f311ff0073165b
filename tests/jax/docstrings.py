"""Programs that others wrote: the examples in the docstrings of installed packages, each as a script of its own.

Nothing of them is kept here: a row names the object, and its docstring is taken apart when a script is written.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from typing import Any

#: What the examples of each package take for granted.
_PRELUDES = {
    "jax": "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import grad, jit, lax, vmap",
    "flax": (
        "import functools\nfrom functools import partial\nimport flax\nimport flax.linen as nn\nimport jax\n"
        "import jax.numpy as jnp\nimport numpy as np\nimport optax"
    ),
    "flax.nnx": "import jax\nimport jax.numpy as jnp\nimport optax\nfrom flax import nnx",
    "optax": "import jax\nimport jax.numpy as jnp\nimport optax",
    "equinox": "import equinox\nimport equinox as eqx\nimport jax\nimport jax.numpy as jnp\nimport jax.random as jr",
    "numpyro": (
        "import jax\nimport jax.numpy as jnp\nimport numpy as np\nimport numpyro\n"
        "import numpyro.distributions as dist\nfrom jax import lax, random, vmap\nfrom numpyro.infer import *"
    ),
}

#: Objects whose docstrings hold programs, each by its module and name.
OF_JAX = (
    "jax:checkpoint",
    "jax:hessian",
    "jax:jacfwd",
    "jax:jit",
    "jax:linearize",
    "jax:pure_callback",
    "jax:vjp",
    "jax:vmap",
    "jax.experimental.checkify:checkify",
    "jax.lax:associative_scan",
    "jax.numpy:einsum",
    "jax.numpy.linalg:svd",
)
OF_LIBRARIES = (
    "equinox:filter_custom_vjp",
    "flax.linen:BatchNorm",
    "flax.linen:MultiHeadDotProductAttention",
    "flax.linen:scan",
    "flax.linen:while_loop",
    "flax.nnx:BatchNorm",
    "flax.nnx:MultiMetric",
    "flax.nnx:Optimizer",
    "flax.nnx:custom_vjp",
    "flax.nnx:split_rngs",
    "flax.nnx:vmap",
    "numpyro.contrib.control_flow:scan",
    "numpyro.infer:DiscreteHMCGibbs",
    "optax:adam",
    "optax:multi_transform",
    "optax:optimistic_adam",
    "optax:scale_by_backtracking_linesearch",
    "optax.contrib:schedule_free_adamw",
)

_FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def script_of(program: str) -> str:
    """The examples in the docstring of an object as a script, with the imports that they take for granted."""
    module, _, name = program.partition(":")
    documented: Any = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        documented = getattr(documented, part)
    text = inspect.cleandoc(documented.__doc__)
    prompted = [each.source for each in doctest.DocTestParser().get_examples(text)]
    written = "".join(prompted or _FENCED.findall(text))
    if not written:
        raise LookupError(f"{program} has no examples in this version")
    prelude = max((each for each in _PRELUDES if f"{module}.".startswith(f"{each}.")), key=len)
    return f"{_PRELUDES[prelude]}\n\n{written}"
