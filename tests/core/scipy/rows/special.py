"""Special functions; most have their own tests against SciPy."""

import runpy
from pathlib import Path

ROWS = """
sp.bernoulli(0)
sp.bernoulli(12)
sp.bernoulli(-1)
sp.bernoulli(1.5)
sp.comb(k + 2, i)
sp.comb(5, 2)
sp.comb(y + 2, p)
sp.comb(k, i, repetition=True)
sp.comb(x, y)
sp.comb(0, 0, repetition=True)
sp.comb(k + 2, m[:, :3])
library.grad(lambda a: sp.comb(a, p).sum())(y + 1)
sp.kl_div(n.astype("int8"), 300)
sp.rel_entr(jnp.array([4294967295], "uint32"), jnp.array([1]))
sp.xlogy(n, 1j)
sp.xlogy(jnp.array([0.0, 1.0]), 2 + 1j)
sp.xlog1py(k, 1j)
"""

KNOWN: dict[str, str] = {}
#: These need to be numbers of Python's.
EAGER: set[str] = set()

every = runpy.run_path(str(Path(__file__).parents[1] / "expressions.py"))["every_of"](ROWS)
