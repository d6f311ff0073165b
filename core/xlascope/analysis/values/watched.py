"""Choice of the values of a training step that are worth watching: its loss, its gradients, and its relus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ...records import Equation, EquationPath, Jaxpr, SourceRange, Variable
from .health import is_relu

#: The largest numbers of gradients and of relus that are watched: of more, evenly chosen ones.
MAX_GRADIENTS, MAX_RELUS = 48, 16
_PRODUCTS = ("dot_general", "conv_general_dilated")


class WatchedValue(NamedTuple):
    """Result of an equation that is watched; ``output`` is its number among the equation's results."""

    kind: Literal["loss", "gradient", "zeros"]
    name: str
    path: EquationPath
    output: int
    source: SourceRange | None


class WatchedStep(NamedTuple):
    """Values of a step to watch: the index of the program's output that is its loss (None: none is), and the others."""

    loss: int | None
    values: tuple[WatchedValue, ...]
    left_out: int


def is_training_step(jaxpr: Jaxpr) -> bool:
    """Return whether a program computes gradients."""
    return any(equation.role == "backward" for equation in jaxpr.walk())


def choose_watched(jaxpr: Jaxpr) -> WatchedStep:
    """Return the values of a program to watch."""
    outputs = [jaxpr.variables.get(name) for name in jaxpr.outputs]
    loss = next((index for index, variable in enumerate(outputs) if _is_float(variable) and not variable.shape), None)  # type: ignore[union-attr]
    gradients = list(_find_gradients(jaxpr)) or list(_find_product_gradients(jaxpr))
    relus = [
        WatchedValue("zeros", _line_of(equation), equation.path, 0, equation.source)
        for equation in jaxpr.walk()
        if is_relu(equation)
    ]
    gradients, relus = _number_names(gradients), _number_names(relus)
    chosen = (*_thin(gradients, MAX_GRADIENTS), *_thin(relus, MAX_RELUS))
    inside = [] if loss is not None else list(_find_inner_loss(jaxpr))
    return WatchedStep(loss, (*inside, *chosen), len(gradients) + len(relus) - len(chosen))


def _number_names(values: Sequence[WatchedValue]) -> list[WatchedValue]:
    """Return the values with numbers behind names that several of them have."""
    total, so_far = Counter(value.name for value in values), Counter[str]()
    numbered = []
    for value in values:
        so_far[value.name] += 1
        suffix = f" #{so_far[value.name]}" if total[value.name] > 1 else ""
        numbered.append(value._replace(name=f"{value.name}{suffix}"))
    return numbered


def _thin(values: Sequence[WatchedValue], most: int) -> Sequence[WatchedValue]:
    stride = -(-len(values) // most)
    return values[:: max(stride, 1)]


def _is_float(variable: Variable | None) -> bool:
    return variable is not None and ("float" in variable.dtype)


def _find_inner_loss(jaxpr: Jaxpr) -> Iterator[WatchedValue]:
    """Yield the last scalar that the forward pass computes before the backward pass begins, if there is one."""
    last = None
    for equation in jaxpr.equations:
        if equation.role == "backward":
            break
        variable = jaxpr.variables.get(equation.outputs[0]) if equation.outputs else None
        if equation.role == "forward" and _is_float(variable) and variable is not None and not variable.shape:
            last = equation
    if last is not None:
        yield WatchedValue("loss", f"loss, {_line_of(last)}", last.path, 0, last.source)


def _find_gradients(jaxpr: Jaxpr) -> Iterator[WatchedValue]:
    """Yield the gradients by arguments: results of the backward pass that it does not use itself."""
    used_by_backward = {name for equation in jaxpr.equations if equation.role != "forward" for name in equation.inputs}
    arguments = {name: jaxpr.variables[name] for name in jaxpr.inputs if name in jaxpr.variables}
    unnamed = [name for name, variable in arguments.items() if _is_float(variable) and variable.shape]
    consumers: dict[str, list[Equation]] = {}
    for equation in jaxpr.equations:
        for name in equation.inputs:
            consumers.setdefault(name, []).append(equation)
    for equation in jaxpr.equations:
        if equation.role != "backward":
            continue
        for index, name in enumerate(equation.outputs):
            variable = jaxpr.variables.get(name)
            if variable is None or name in used_by_backward or not _is_float(variable) or not variable.shape:
                continue
            argument = _argument_of(name, variable, consumers, arguments, unnamed)
            label = arguments[argument].label if argument is not None else ""
            yield WatchedValue("gradient", label or _line_of(equation), equation.path, index, equation.source)


def _argument_of(
    name: str,
    variable: Variable,
    consumers: dict[str, list[Equation]],
    arguments: dict[str, Variable],
    unnamed: list[str],
) -> str | None:
    """Return the argument that a gradient updates: the first of its shape beside it on the way to the results.

    Without one it is the first argument of its shape in ``unnamed`` that has no gradient yet; it is removed from there.
    """
    pending, reached = [name], {name}
    while pending and len(reached) < 40:
        for equation in consumers.get(pending.pop(0), ()):
            for other in equation.inputs:
                if other in unnamed and arguments[other].shape == variable.shape:
                    unnamed.remove(other)
                    return other
            pending += [output for output in equation.outputs if output not in reached]
            reached.update(equation.outputs)
    match = next((other for other in unnamed if arguments[other].shape == variable.shape), None)
    if match is not None:
        unnamed.remove(match)
    return match


def _find_product_gradients(jaxpr: Jaxpr) -> Iterator[WatchedValue]:
    """Yield the products of the backward pass, of a program whose gradients are computed inside of another one."""
    for equation in jaxpr.walk():
        if equation.role == "backward" and equation.operation in _PRODUCTS:
            yield WatchedValue("gradient", _line_of(equation), equation.path, 0, equation.source)


def _line_of(equation: Equation) -> str:
    return f"line {equation.source.line}" if equation.source is not None else str(equation.path)
