"""Truncated Newton-CG in plain Python over NumPy arrays, the problems' data, and their gradients, written by hand.

Products with the Hessian are exact, too: the imaginary part of the gradient at x + i h v, over h, since the gradients
are analytic (W. Squire and G. Trapp, Using complex variables to estimate derivatives of real functions, 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Data = dict[str, Any]
#: When the minimization ends, by the gradient's length; the most steps of Newton, of the inner loop, and halvings.
TOLERANCE, NEWTON, CONJUGATE, BACKTRACKS = 1e-6, 60, 60, 40
_SMALL = 1e-30


class Function(NamedTuple):
    """A function and its gradient, which takes complex numbers too."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]


# The problems -------------------------------------------------------------------------------------------------------


def _quadratic_data(size: int = 60) -> Data:
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.standard_normal((size, size)))[0]
    matrix = basis * np.geomspace(1, 100, size) @ basis.T
    return {"matrix": matrix, "vector": random.standard_normal(size), "start": random.standard_normal(size)}


def _logistic_data(examples: int = 4000, features: int = 200) -> Data:
    random = np.random.default_rng(1)
    inputs = random.standard_normal((examples, features))
    labels = np.sign(inputs @ random.standard_normal(features) + 4 * random.standard_normal(examples))
    return {"examples": inputs * labels[:, None], "start": np.zeros(features)}


def _model_data(states: int = 4, symbols: int = 6, length: int = 200) -> Data:
    random = np.random.default_rng(2)
    seen = (np.cumsum(random.integers(0, 3, length)) // 4 % symbols).astype(np.int32)
    start = 0.5 * random.standard_normal(states + states * states + states * symbols)
    return {"states": states, "symbols": symbols, "seen": seen, "start": start}


PROBLEMS: dict[str, Callable[[], Data]] = {
    "convex_quadratic": _quadratic_data,
    "hidden_markov_model": _model_data,
    "logistic_regression": _logistic_data,
}

# Their functions ----------------------------------------------------------------------------------------------------


def convex_quadratic(data: Data) -> Function:
    """Half of x A x less b x."""
    matrix, vector = data["matrix"], data["vector"]
    return Function(lambda x: 0.5 * x @ (matrix @ x) - vector @ x, lambda x: matrix @ x - vector)


def logistic_regression(data: Data) -> Function:
    """The mean of log(1 + e^-m) over the margins m, and a ridge."""
    inputs = data["examples"]

    def slope(x: Any) -> Any:
        return -inputs.T @ (1 / (1 + np.exp(inputs @ x))) / len(inputs) + 1e-3 * x

    return Function(lambda x: np.mean(np.logaddexp(0, -(inputs @ x))) + 0.5e-3 * x @ x, slope)


def logsumexp(x: Any, axis: int) -> Any:
    """The logarithm of the sum of exponentials along an axis, of complex numbers too."""
    most = np.max(x.real, axis=axis, keepdims=True)
    return np.squeeze(most, axis) + np.log(np.sum(np.exp(x - most), axis=axis))


def hidden_markov_model(data: Data) -> Function:
    """Less the logarithm of the probability of what was seen, by the forward algorithm, and a ridge."""
    states, symbols, seen = data["states"], data["symbols"], data["seen"]
    ends = (states, states + states * states)

    def split(x: Any) -> tuple[Any, ...]:
        parts = x[None, : ends[0]], x[ends[0] : ends[1]].reshape(states, states), x[ends[1] :].reshape(states, symbols)
        return tuple(part - logsumexp(part, 1)[:, None] for part in parts)

    def forward(x: Any) -> tuple[Any, ...]:
        (first,), moves, shown = split(x)
        kept = [first + shown[:, seen[0]]]
        for symbol in seen[1:]:
            kept.append(logsumexp(kept[-1][:, None] + moves, 0) + shown[:, symbol])
        return first, moves, shown, kept

    def value(x: Any) -> Any:
        return 0.5e-1 * x @ x - logsumexp(forward(x)[-1][-1], 0)

    def slope(x: Any) -> Any:
        first, moves, shown, kept = forward(x)
        by_moves, by_shown = np.zeros_like(moves), np.zeros_like(shown)
        back = -np.exp(kept[-1] - logsumexp(kept[-1], 0))
        for place in range(len(seen) - 1, 0, -1):
            by_shown[:, seen[place]] += back
            after = kept[place] - shown[:, seen[place]]
            parts = np.exp(kept[place - 1][:, None] + moves - after) * back
            by_moves += parts
            back = parts.sum(1)
        by_shown[:, seen[0]] += back
        made = [(first[None], back[None]), (moves, by_moves), (shown, by_shown)]
        return np.concatenate([np.ravel(t - np.exp(y) * t.sum(1)[:, None]) for y, t in made]) + 1e-1 * x

    return Function(value, slope)


FUNCTIONS: dict[str, Callable[[Data], Function]] = {
    each.__name__: each for each in (convex_quadratic, hidden_markov_model, logistic_regression)
}

# The minimization ---------------------------------------------------------------------------------------------------


def minimize(function: Function, x: Any) -> tuple[Any, float, int]:
    """From a start to the place, the value there, and the steps."""
    value, gradient, count = function.value(x), function.slope(x), 0
    while gradient @ gradient > TOLERANCE**2 and count < NEWTON:
        p = _conjugate(function, x, gradient)
        x = x + _searched(function, x, value, gradient, p) * p
        value, gradient, count = function.value(x), function.slope(x), count + 1
    return x, float(value), count


def _conjugate(function: Function, x: Any, gradient: Any) -> Any:
    """About -H⁻¹ g: ends early by the gradient's size, and where the function curves downward."""
    size = np.sqrt(gradient @ gradient)
    wanted = (size * min(0.5, np.sqrt(size))) ** 2
    p, r, d, left = np.zeros_like(x), -gradient, -gradient, gradient @ gradient
    for count in range(CONJUGATE):
        if left <= wanted:
            break
        moved = function.slope(x + 1j * _SMALL * d).imag / _SMALL
        curve = d @ moved
        if curve <= 0:
            return d if count == 0 else p
        part = left / curve
        p, r = p + part * d, r - part * moved
        after = r @ r
        d, left = r + after / left * d, after
    return p


def _searched(function: Function, x: Any, value: float, gradient: Any, p: Any) -> float:
    t, fall = 1.0, 1e-4 * gradient @ p
    for _ in range(BACKTRACKS):
        if function.value(x + t * p) <= value + t * fall:
            break
        t /= 2
    return t
