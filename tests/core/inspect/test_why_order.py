"""Reasons for not fusing: those about the user's operations come first, those about the results' tuple last."""

import numpy as np

import xlascope as xs
import xlascope.numpy as jnp
from xlascope import inspect


def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


def step(w, x):
    value, gradient = xs.value_and_grad(loss)(w, x)
    return w - 0.1 * gradient, value


def test_reasons_about_the_users_operations_come_first():
    text = inspect.why(inspect.call(step, np.ones((4, 3), np.float32), np.ones((5, 4), np.float32))).text
    reasons = [part.splitlines() for part in text.split("\n\n")[1:]]
    about_results = [["→ tuple" in line for line in reason if "  →  " in line] for reason in reasons]
    assert any(all(rows) for rows in about_results) or any(rows[-1] for rows in about_results)
    for rows in about_results:
        assert rows == sorted(rows)
    firsts = [rows[0] for rows in about_results]
    assert firsts == sorted(firsts) and firsts[0] is False
