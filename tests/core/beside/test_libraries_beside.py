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
from xlascope.xla.devices.array_patching import is_xlascope_array
found = []
for library, functions in ((xs, xnp), (jax, jnp)) if "jax" in sys.modules else ((xs, xnp),):
    x = functions.ones((2, 3))
    for f in (
        lambda x: einops.repeat(x, "a b -> a b c", c=2),
        lambda x: einops.rearrange([x, x], "i a b -> a b i"),
        lambda x: opt_einsum.contract("ab,cb,cd->ad", x, x, x),
    ):
        for y in (f(x), library.jit(f)(x), library.grad(lambda x: f(x).sum())(x)):
            found.append(is_xlascope_array(y) == (library is xs) and bool((y >= 1).all()))
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


COMPAT = """
import sys
for name in sys.argv[1].split():
    if name == "xlascope":
        import xlascope as xs, xlascope.numpy as xnp
        xnp.ones(3) + 1
    elif name == "jax":
        import jax, jax.numpy as jnp
    elif name == "used":  # by jax first: the library remembers the answers for a type
        compat.array_namespace(jnp.ones(3)), compat.is_jax_array(jnp.ones(3))
    elif name == "compat":
        import array_api_compat as compat
    else:
        import scipy._lib.array_api_compat as compat
x, y = xnp.ones((2, 3)), jnp.ones((2, 3))
for of, module, array in ((xs, xnp, x), (jax, jnp, y)):
    seen = []
    def product(x):
        seen.append(compat.array_namespace(x))
        return compat.array_namespace(x).matmul(x, x.T).sum()
    product(array), of.jit(product)(array), of.grad(product)(array), of.vmap(of.jit(product))(module.ones((2, 2, 3)))
    assert len(seen) >= 3 and set(seen) == {module}, seen
    assert compat.is_jax_array(array) == (of is jax) and compat.is_array_api_obj(array), of
    assert compat.to_device(array, compat.device(array)).shape == (2, 3) and compat.size(array) == 6, of
try:
    compat.array_namespace(x, y)
except TypeError as error:
    assert "Multiple namespaces" in str(error)
else:
    raise AssertionError("arrays of both have no namespace in common")
"""


@pytest.mark.parametrize("library", ["compat", "vendored"])
@pytest.mark.parametrize("order", ["xlascope {} jax used", "{} jax used xlascope", "jax xlascope {}"])
def test_array_api_compat_tells_the_engines_apart(library: str, order: str) -> None:
    pytest.importorskip("array_api_compat" if library == "compat" else "scipy._lib.array_api_compat")
    words = [sys.executable, "-c", COMPAT, order.format(library)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
