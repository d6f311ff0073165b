"""Rows that are computed together in one program: their values, batches and gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....api import device_put, grad, jit, vmap
from ....tree_util import tree_leaves
from .row import Case

#: The number of examples in a batch.
BATCH_SIZE = 3

Numbers = list[np.ndarray[Any, Any]]
#: The results of a case, or what it raised.
Outcome = Numbers | Exception
Function = Callable[..., Any]


class CombinedProgram:
    """Program that computes the functions of several test cases at once, compiled once per device.

    ``function_of`` returns the function that is computed for a case, ``draw`` returns its operands.
    """

    def __init__(self, cases: Sequence[Case], function_of: Callable[[Case], Function], draw: Callable[[Case], Numbers]):
        self.cases = cases
        self._functions = [function_of(case) for case in cases]
        self._draw = draw
        self._program = jit(self._compute)

    def _compute(self, operands: list[Numbers]) -> list[list[Any]]:
        return [
            tree_leaves(function(*arguments)) for function, arguments in zip(self._functions, operands, strict=True)
        ]

    def run(self, device: Any, draw: Callable[[Case], Numbers] | None = None) -> Sequence[Outcome]:
        """Return for each case its results on a device, or the exception that it raises.

        ``draw`` replaces the way operands are drawn. If the program fails, each case is run separately.
        """
        if not self.cases:
            return []
        operands = [(draw or self._draw)(case) for case in self.cases]
        try:
            results = self._program(device_put(operands, device))
            return [[np.asarray(leaf) for leaf in item] for item in results]
        except Exception:
            return [_run_alone(f, item, device) for f, item in zip(self._functions, operands, strict=True)]


class Group:
    """Test cases that are computed together, with one program each for their values, batches and gradients.

    The programs of batches and gradients contain only the cases for which these are tested.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases

    @functools.cached_property
    def value_program(self) -> CombinedProgram:
        return CombinedProgram(self.cases, lambda case: case.function, Case.make)

    @functools.cached_property
    def batch_program(self) -> CombinedProgram:
        batched = [case for case in self.cases if case.batch]
        return CombinedProgram(batched, lambda case: vmap(case.function), _stack_examples)

    @functools.cached_property
    def gradient_program(self) -> CombinedProgram:
        derived = [case for case in self.cases if case.derive and _inexact_operands(case)]
        return CombinedProgram(derived, _make_gradient, Case.make)

    def run_examples(self, device: Any) -> list[Outcome]:
        """Return for each case with batching the stacked results of its examples, computed one by one."""
        outcomes_of_examples = [
            self.value_program.run(device, lambda case, n=n: case.make(n))  # type: ignore[misc]
            for n in range(BATCH_SIZE)
        ]
        outcomes = dict(zip((case.name for case in self.cases), zip(*outcomes_of_examples, strict=True), strict=True))
        return [_stack_outcomes(outcomes[case.name]) for case in self.batch_program.cases]


def _run_alone(function: Function, operands: Numbers, device: Any) -> Outcome:
    try:
        return [np.asarray(leaf) for leaf in tree_leaves(jit(function)(*device_put(operands, device)))]
    except Exception as error:
        return error


def _stack_outcomes(examples: Sequence[Outcome]) -> Outcome:
    results = []
    for example in examples:
        if isinstance(example, Exception):
            return example
        results.append(example)
    return [np.stack(leaf) for leaf in zip(*results, strict=True)]


def _stack_examples(case: Case) -> Numbers:
    return [
        np.stack(operand_examples)
        for operand_examples in zip(*(case.make(example) for example in range(BATCH_SIZE)), strict=True)
    ]


def _inexact_operands(case: Case) -> tuple[int, ...]:
    """Return the positions of the operands that have a gradient: floating-point and complex ones."""
    return tuple(number for number, x in enumerate(case.make()) if x.dtype.kind in "fc")


def _make_gradient(case: Case) -> Function:
    """Return the gradient of a case's function: of a weighted sum of all its inexact results."""

    def total(*operands: Any) -> Any:
        leaves = [leaf for leaf in tree_leaves(case.function(*operands)) if leaf.dtype.kind in "fc"]
        return sum((leaf * _weights(leaf.shape)).real.sum() for leaf in leaves)

    return grad(total, argnums=_inexact_operands(case))


def _weights(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.cos(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)
