"""Optimizers as three functions: ``init(params)``, ``update(step, gradients, state)``, ``get_params(state)``.

Parameters are trees of arrays; the state is a tree, too, so all three can be compiled and differentiated.

>>> import xlascope as xs, xlascope.numpy as jnp
>>> init, update, get_params = momentum(0.1, mass=0.9)
>>> state = init({"x": jnp.array(3.0)})
>>> for step in range(100):
...     state = update(step, xs.grad(lambda p: (p["x"] - 1.0) ** 2)(get_params(state)), state)
>>> print(f"{get_params(state)['x']:.1f}")
1.0
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import numpy as jnp
from .. import tree_util
from ..names import explain_missing as _explain_missing
from .schedules import (
    constant,
    exponential_decay,
    inverse_time_decay,
    make_schedule,
    piecewise_constant,
    polynomial_decay,
)

__all__ = [
    "JoinPoint", "Optimizer", "OptimizerState", "adagrad", "adam", "adamax", "clip_grads", "constant",
    "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov", "optimizer",
    "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd", "sm3",
    "unpack_optimizer_state",
]  # fmt: skip


class OptimizerState(NamedTuple):
    """State of an optimizer, as a pytree.

    ``packed_state`` has the arrays of each parameter's state, ``tree_def`` is the structure of the parameters, and
    ``subtree_defs`` are the structures of each parameter's state.
    """

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, children: OptimizerState(children[0], *structures),
)


class Optimizer(NamedTuple):
    """The three functions of an optimizer.

    ``init_fn(params)`` returns a state, ``update_fn(step, gradients, state)`` the next state, and
    ``params_fn(state)`` the parameters.
    """

    init_fn: Callable[[Any], OptimizerState]
    update_fn: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], Any]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Decorate a maker of an optimizer of one array, so that it makes an :class:`Optimizer` of trees of arrays.

    ``opt_maker`` returns ``init(x)``, which returns an array's state (a tree), ``update(step, gradient, state)`` and
    ``get_params(state)``.
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def init_tree(params: Any) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(params)
            return _pack([init(leaf) for leaf in leaves], structure)

        def update_tree(step: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(gradients)
            if structure != state.tree_def:
                raise TypeError(
                    "the optimizer was given gradients of another structure than the parameters have: "
                    f"{structure}, expected {state.tree_def}"
                )
            new = [update(step, leaf, leaf_state) for leaf, leaf_state in zip(leaves, _states(state), strict=True)]
            new_state = _pack(new, structure)
            for before, after in zip(state.subtree_defs, new_state.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(f"the optimizer's update gives a state of another structure: {after}, was {before}")
            return new_state

        def params_of(state: OptimizerState) -> Any:
            return tree_util.tree_unflatten(state.tree_def, [get_params(leaf_state) for leaf_state in _states(state)])

        return Optimizer(init_tree, update_tree, params_of)

    return make


def _pack(states: list[Any], structure: Any) -> OptimizerState:
    flat = [tree_util.tree_flatten(state) for state in states]
    return OptimizerState(tuple(leaves for leaves, _ in flat), structure, tuple(state_tree for _, state_tree in flat))


def _states(state: OptimizerState) -> list[Any]:
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [tree_util.tree_unflatten(structure, leaves) for structure, leaves in pairs]


# Steps --------------------------------------------------------------------------------------------------------------


@optimizer
def sgd(step_size: Any) -> Any:
    """Return gradient descent as an :class:`Optimizer`.

    ``step_size`` is a number or a function of the step's number, as for all optimizers.
    """
    size = make_schedule(step_size)

    def update(step: Any, g: Any, x: Any) -> Any:
        return x - size(step) * g

    return lambda x: x, update, lambda x: x


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Return gradient descent with momentum as an :class:`Optimizer`.

    The velocity is ``mass`` times the previous one plus the gradient.
    """
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(step) * velocity, velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """Return gradient descent with Nesterov momentum as an :class:`Optimizer`."""
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(step) * (mass * velocity + g), velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Return the Adagrad optimizer with momentum (Duchi, Hazan and Singer, JMLR 12, 2011) as an :class:`Optimizer`."""
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, squares, average = state
        squares = squares + jnp.square(g)
        average = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * average
        return x - size(step) * average, squares, average

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Return the RMSProp optimizer as an :class:`Optimizer`.

    It divides gradients by the root of a moving average of their squares, which decays by ``gamma``.
    """
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, squares = state
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        return x - size(step) * g / jnp.sqrt(squares + eps), squares

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Any:
    """Return the RMSProp optimizer with momentum as an :class:`Optimizer`."""
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, squares, velocity = state
        squares = squares * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + size(step) * g / jnp.sqrt(squares + eps)
        return x - velocity, squares, velocity

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Return the Adam optimizer (Kingma and Ba, ICLR 2015) as an :class:`Optimizer`.

    ``b1`` and ``b2`` are the decay rates of the moving averages of gradients and of their squares.
    """
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, mean, squares = state
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * jnp.square(g) + b2 * squares
        unbiased = mean / (1 - jnp.asarray(b1, mean.dtype) ** (step + 1))
        unbiased_squares = squares / (1 - jnp.asarray(b2, mean.dtype) ** (step + 1))
        return x - size(step) * unbiased / (jnp.sqrt(unbiased_squares) + eps), mean, squares

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Return the AdaMax optimizer (Kingma and Ba, ICLR 2015) as an :class:`Optimizer`.

    It is Adam with a decaying maximum of absolute gradients instead of their root mean square.
    """
    size = make_schedule(step_size)

    def update(step: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        factor = size(step) / (1 - jnp.asarray(b1, mean.dtype) ** (step + 1))
        return x - factor * mean / (largest + eps), mean, largest

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """Return the SM3 optimizer, which stores one vector of squared gradients for each axis of a parameter.

    It is that of R. Anil, V. Gupta, T. Koren, Y. Singer, "Memory-efficient adaptive optimization", NeurIPS 2019.
    """
    size = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), [jnp.zeros(n, jnp.asarray(x).dtype) for n in jnp.shape(x) or (1,)]

    def update(step: Any, g: Any, state: Any) -> Any:
        x, average, largest = state
        rank = max(1, jnp.ndim(g))
        spread = [v.reshape([-1 if axis == n else 1 for axis in range(rank)]) for n, v in enumerate(largest)]
        squares = functools.reduce(jnp.minimum, spread) + jnp.square(g)
        average = (1.0 - momentum) * (g * _inverse_root(squares).reshape(jnp.shape(g))) + momentum * average
        other_axes = [tuple(axis for axis in range(rank) if axis != n) for n in range(rank)]
        return x - size(step) * average, average, [squares.max(axes) for axes in other_axes]

    return init, update, _first


def _first(state: Any) -> Any:
    return state[0]


def _inverse_root(squares: Any) -> Any:
    return jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)


# Gradients ----------------------------------------------------------------------------------------------------------


def l2_norm(tree: Any) -> Any:
    """Return the square root of the sum of all squares in a tree of arrays.

    >>> print(l2_norm({"a": 3.0, "b": [4.0]}))
    5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_util.tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return gradients scaled down such that their :func:`l2_norm` is at most ``max_norm``."""
    norm = l2_norm(grad_tree)
    return tree_util.tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# To be written to files ---------------------------------------------------------------------------------------------


class JoinPoint:
    """Leaf of a tree of parameters that holds the state, a tree itself, of one parameter."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return a state as a tree of the parameters' structure, with a :class:`JoinPoint` for each parameter."""
    return tree_util.tree_unflatten(opt_state.tree_def, [JoinPoint(state) for state in _states(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state for a tree from :func:`unpack_optimizer_state`; inverse of that function.

    Raises TypeError if one of the leaves is not a :class:`JoinPoint`.
    """
    points, structure = tree_util.tree_flatten(marked_pytree)
    if not all(isinstance(point, JoinPoint) for point in points):
        raise TypeError("pack_optimizer_state takes what unpack_optimizer_state gives: each leaf is a JoinPoint")
    return _pack([point.subtree for point in points], structure)


_explain_missing(__name__)
