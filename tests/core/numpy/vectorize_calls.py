"""Calls of vectorized functions, for us and, in its own process, for jax."""

from __future__ import annotations

from typing import Any

import numpy as np

VALUES = {
    "v": np.arange(4, dtype=np.float32),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "o": np.ones((2, 1, 4), np.float32),
    "i": np.array([1, 2, 3, 0], np.int32),
}
ROWS = """
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(t, v)
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(o, m)
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(v, v)
jnp.vectorize(jnp.dot, signature=' ( n , m ) , ( m ) -> ( n ) ')(t, v)
jnp.vectorize(jnp.dot, signature='(n,m),(m,k)->(n,k)')(t, t.transpose(0, 2, 1))
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(t, v[:3])
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(t, 1.0)
jnp.vectorize(jnp.dot, signature='(n,(n)->()')(t, v)
jnp.vectorize(jnp.dot, signature='->(k)')()
jnp.vectorize(jnp.dot, signature='(n),(n)->(k)')(t, v)
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(t)
jnp.vectorize(jnp.dot, signature='(n),(n)->()')(t, o[:, 0], v)
jnp.vectorize(lambda a, b: (a @ b, a), signature='(n),(n)->(),(n)')(t, v)
jnp.vectorize(lambda a, b: (a @ b, a), signature='(n),(n)->()')(t, v)
jnp.vectorize(lambda a, b: a @ b, signature='(n),(n)->(),()')(t, v)
jnp.vectorize(lambda a: a[:2], signature='(n)->(k)')(o)
jnp.vectorize(lambda a: jnp.zeros(3), signature='()->(k)')(v)
jnp.vectorize(lambda a: a[:, 0], signature='(3,4)->(3)')(t)
jnp.vectorize(lambda a, b: a * b, signature='(n),(m)->(n)')(m, t[:, 0])
jnp.vectorize(lambda a, b: a * 2 if b is None else a * b)(m, None)
jnp.vectorize(lambda a, b: a * 2 if b is None else a * b, signature='(n),()->(n)')(m, None)
jnp.vectorize(lambda a, b, c: a @ c, signature='(n),(),(n)->()')(t, None, v)
jnp.vectorize(lambda a, b: a, signature='(n),(n)->(n)')(m, None)
jnp.vectorize(lambda x, n: x * n, excluded={1})(m, 3)
jnp.vectorize(lambda x, n: x * len(n), excluded=(1,))(m, 'abc')
jnp.vectorize(lambda n, x: x ** n, excluded=[0])(2, m)
jnp.vectorize(lambda x, n=2: x * n, excluded={'n'})(m, n=3)
jnp.vectorize(lambda x, n=2: x * n, excluded={'n'})(m)
jnp.vectorize(lambda x, n=2: x * n)(m, n=3)
jnp.vectorize(lambda x, n: x @ n, excluded={1}, signature='(k)->()')(m, v)
jnp.vectorize(lambda x, n: x @ n, excluded={1}, signature='(k),(k)->()')(m, v)
jnp.vectorize(lambda x, n: x * n, excluded={-1})(m, 3)
jnp.vectorize(lambda x, n: x * n, excluded={1.5})(m, 3)
jnp.vectorize(lambda a, b: a + b)(m, o)
jnp.vectorize(lambda a, b: a + b)(o[:, :, :1], 2.0)
jnp.vectorize(lambda a, b: a + b)(m, t[0, :, :3])
jnp.vectorize(lambda a, b: a if a.shape == () else a + b)(v, i)
jnp.vectorize(lambda a: (a, a + 1))(m)
jnp.vectorize(lambda a: [a, a])(v)
jnp.vectorize(lambda a: jnp.ones(2) * a)(m)
jnp.vectorize(lambda a, b: a * b)(1, 2)
jnp.vectorize(lambda a, b: a * b)(i, 0.5)
jnp.vectorize(lambda *a: sum(a))(1, 2, v)
jnp.vectorize(lambda: 1)()
jax.grad(lambda a: jnp.vectorize(jnp.dot, signature='(n),(n)->()')(a, v).sum())(m)
jax.jit(jnp.vectorize(lambda a, b: a - b))(m, v)
jax.vmap(jnp.vectorize(jnp.dot, signature='(n),(n)->()'), (0, None))(t, v)
""".strip().splitlines()


def _plain(value: Any) -> Any:
    return [np.asarray(part) for part in value] if isinstance(value, (list, tuple)) else np.asarray(value)


def evaluate(library: Any, row: str) -> Any:
    """What a row gives, or the name of the builtin class of its error."""
    arrays = {name: library.numpy.asarray(value) for name, value in VALUES.items()}
    try:
        return _plain(eval(row, {"jnp": library.numpy, "jax": library, **arrays}))
    except Exception as error:
        return "raises " + next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def every(library: Any) -> dict[str, Any]:
    """What all rows give."""
    return {row: evaluate(library, row) for row in ROWS}
