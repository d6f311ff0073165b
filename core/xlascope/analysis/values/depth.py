"""Sizes of activations and gradients layer by layer, from the probed values of a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...records import Equation, EquationPath, Jaxpr, ProbedValue

#: The largest number of layers that are listed.
MAX_LAYERS = 400
_PRODUCTS = ("dot_general", "conv_general_dilated")


class Layer(NamedTuple):
    """Product of a forward pass with the root mean square of its result and of the gradients through it.

    ``name`` is the argument that it multiplies with, or its line. ``activation`` is of its result, ``gradient`` of the
    gradient by that argument, or else of the other operand; None where it was not measured.
    """

    name: str
    path: EquationPath
    activation: float | None
    gradient: float | None


def list_layers(jaxpr: Jaxpr, values: Iterable[ProbedValue]) -> list[Layer]:
    """Return the layers of a program in order: the products of its forward pass that have statistics."""
    by_path = {value.path: value for value in values if value.position == "result" and value.index == 0}
    gradients: dict[EquationPath, list[tuple[tuple[int, ...], float]]] = {}
    for _, equation in _walk(jaxpr):
        size = _size_of(by_path.get(equation.path))
        is_product = equation.operation in _PRODUCTS and equation.role != "forward"
        if is_product and equation.transposes is not None and size is not None:
            gradients.setdefault(equation.transposes, []).append((by_path[equation.path].shape, size))
    layers = []
    for level, equation in _walk(jaxpr):
        if equation.operation not in _PRODUCTS or equation.role != "forward" or equation.path not in by_path:
            continue
        name, shape = _name_of(level, equation, by_path[equation.path])
        of_layer = gradients.get(equation.path, [])
        gradient = next((size for candidate, size in of_layer if candidate == shape), None)
        if gradient is None and of_layer:
            gradient = of_layer[-1][1]
        layers.append(Layer(name, equation.path, _size_of(by_path[equation.path]), gradient))
    return [layer for layer in layers if layer.activation is not None or layer.gradient is not None][:MAX_LAYERS]


def _walk(jaxpr: Jaxpr) -> Iterator[tuple[Jaxpr, Equation]]:
    for equation in jaxpr.equations:
        yield jaxpr, equation
        for body in equation.bodies:
            yield from _walk(body)


def _size_of(value: ProbedValue | None) -> float | None:
    return None if value is None or value.statistics is None else value.statistics.root_mean_square


def _name_of(level: Jaxpr, equation: Equation, value: ProbedValue) -> tuple[str, tuple[int, ...]]:
    """Return the name of a layer and the shape of its weights: of its last operand that is an argument."""
    for name in reversed(equation.inputs):
        variable = level.variables.get(name)
        if variable is not None and name in level.inputs and variable.label:
            return variable.label, variable.shape
    return f"line {value.source.line}" if value.source is not None else str(equation.path), ()
