"""Solvers and minima."""

import runpy
from pathlib import Path

ROWS = """
sparse.cg(d, x)[0]
sparse.cg(lambda t: d @ t, x)
sparse.cg(v, z)[0]
sparse.cg(d, x, x0=y, maxiter=2)[0]
sparse.cg(d, x, M=jnp.diag(1 / jnp.diag(d)))[0]
sparse.cg(lambda t: {"a": 2 * t["a"], "b": 3 * t["b"]}, {"a": x, "b": y})[0]["b"]
sparse.cg(d, i)[0]
sparse.cg(d, x, x0=y[:2])
sparse.cg(r, x)
sparse.bicgstab(s, x)[0]
sparse.bicgstab(c, z)[0]
sparse.bicgstab(s, x, M=jnp.linalg.inv(s))[0]
sparse.gmres(s, x)[0]
sparse.gmres(c, z, restart=2)[0]
sparse.gmres(s, x, solve_method="incremental")[0]
sparse.gmres(s, x, solve_method="none")
library.grad(lambda t: sparse.cg(t @ t.T, x)[0].sum())(s)
library.grad(lambda t: sparse.bicgstab(s, t)[0].sum())(x)
library.grad(lambda t: sparse.gmres(t, x)[0].sum())(s)
library.vmap(lambda t: sparse.cg(d, t)[0])(m.T)
library.vmap(lambda t: sparse.gmres(s, t)[0])(m.T)
optimize.minimize(lambda t: ((t - x) ** 2).sum(), y, method="BFGS").x
optimize.minimize(lambda t: ((t - x) ** 2).sum(), y, method="BFGS").success
optimize.minimize(lambda t: ((t - x) ** 2).sum(), y, method="BFGS").status
optimize.minimize(lambda t: (t - x) @ d @ (t - x) + jnp.cos(t[0]), y, method="bfgs").x.round(3)
optimize.minimize(lambda t, a: (t - a) @ d @ (t - a), y, (x,), method="BFGS", tol=1e-4).x.round(3)
optimize.minimize(lambda t: ((t - x) ** 2).sum(), y, method="l-bfgs-experimental-do-not-rely-on-this").x.round(3)
optimize.minimize(lambda t: ((t - x) ** 2).sum(), y, method="none")
optimize.minimize(lambda t, a: ((t - x) ** 2).sum(), y, args=x, method="BFGS")
library.vmap(lambda a: optimize.minimize(lambda t: ((t - a) ** 2).sum(), y, method="BFGS").x)(m.T)
"""

KNOWN = {
    "sparse.cg(d, i)[0]": "integers count as floats",
    'optimize.minimize(lambda t: (t - x) @ d @ (t - x) + jnp.cos(t[0]), y, method="bfgs").x.round(3)': (
        "the minimum, where SciPy has it, too; jax stops before"
    ),
}

every = runpy.run_path(str(Path(__file__).parents[1] / "expressions.py"))["every_of"](ROWS)
