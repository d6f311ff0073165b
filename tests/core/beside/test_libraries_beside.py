"""einops and opt_einsum with arrays of both engines, whose arrays have one type, in every order of imports."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
for name in sys.argv[1].split():
    if name == "xlascope":
        import xlascope as xs, xlascope.numpy as xnp
        xnp.ones(3) + 1
    elif name == "jax":
        import jax, jax.numpy as jnp
    elif name == "used":  # by jax first: the libraries remember what serves a type
        x = jnp.ones((2, 3))
        einops.rearrange(x, "a b -> b a"), opt_einsum.contract("ab,cb->ac", x, x)
    else:
        import einops, opt_einsum
from xlascope.xla.faces import is_ours
found = []
for library, functions in ((xs, xnp), (jax, jnp)) if "jax" in sys.modules else ((xs, xnp),):
    x = functions.ones((2, 3))
    for f in (
        lambda x: einops.repeat(x, "a b -> a b c", c=2),
        lambda x: einops.rearrange([x, x], "i a b -> a b i"),
        lambda x: opt_einsum.contract("ab,cb,cd->ad", x, x, x),
    ):
        for y in (f(x), library.jit(f)(x), library.grad(lambda x: f(x).sum())(x)):
            found.append(is_ours(y) == (library is xs) and bool((y >= 1).all()))
print(json.dumps([len(found), all(found), "jax" in sys.modules]))
"""
ORDERS = {
    "xlascope libraries": 9,
    "libraries xlascope": 9,
    "jax xlascope libraries": 18,
    "libraries jax used xlascope": 18,
    "xlascope libraries jax used": 18,
}


@pytest.mark.parametrize("order", ORDERS)
def test_each_engine_gets_its_own(order: str) -> None:
    pytest.importorskip("einops")
    done = subprocess.run([sys.executable, "-c", PROGRAM, order], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [ORDERS[order], True, "jax" in order]
