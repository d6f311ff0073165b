"""Equations of a program that is known only as StableHLO, from the names of its operations.

Names contain the equation and the operation, and often the line; they do not contain operands.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..records import Equation, EquationPath, Jaxpr, SourceRange, Traced, Variable
from ..records.op_names import equation_paths
from ..records.paths import PROGRAM, Step
from ..xla.mlir.stablehlo_reader import NamedOperation, ProgramArgument, StableHLOProgram, named_operations

#: The reason of a trace that is read from names.
REASON = "read from the names in StableHLO"
_EQUATION = re.compile(r"e\d[-,by\d]*")
_PROGRAM = re.compile(r"jit\((.*)\)")


@dataclass
class _Node:
    """Equation under construction; ``children`` are the equations of its bodies, by body and index."""

    operation: str = ""
    file: str = ""
    line: int = 0
    children: dict[Step, _Node] = field(default_factory=dict)


def trace_from_names(read: StableHLOProgram, function: str, number: int) -> Traced:
    """Return the record of a trace as far as names allow: equations without operands.

    ``read`` is the parsed StableHLO; ``function`` replaces the function's name (``""``: from the StableHLO), and
    ``number`` becomes the program's number. The record has no equations if the names are not xlascope's.
    """
    entries = list(named_operations(read.module))
    name = function or _function_name(entries, read.name)
    return Traced(
        program=number,
        function=name,
        time=time.time(),
        seconds=0.0,
        jaxpr=_build_jaxpr(name, _build_tree(entries), read.arguments),
        text="",
        reason=REASON,
    )


def _function_name(entries: Sequence[NamedOperation], module: str) -> str:
    """Return the name of the function that was lowered, from the first of its operations or its module.

    ``entries`` are the operations with names, of which the outermost call is the function; ``module`` is the name of
    the module, used if there is no such name.
    """
    match = _PROGRAM.fullmatch(entries[0].name.partition("/")[0]) if entries else None
    return match[1] if match else module.removeprefix("jit_").partition(".")[0]


def _build_tree(entries: Iterable[NamedOperation]) -> _Node:
    """Return the equations in the names of operations as a tree."""
    root = _Node()
    for operation_name in entries:
        for path in equation_paths(operation_name.name):
            node, operations = root, _operation_names(operation_name.name)
            for step, operation in zip(path.steps, operations[-len(path.steps) :], strict=False):
                node = node.children.setdefault(step, _Node())
                node.operation = node.operation or operation
            if not node.file:
                node.file, node.line = operation_name.file, operation_name.line
    return root


def _operation_names(name: str) -> list[str]:
    """Return the operation of each equation in a name, ``jit`` for a call.

    >>> _operation_names("jit(f)/e12/jit(loss)/e4/dot_general")
    ['jit', 'dot_general']
    """
    segments = name.split("/")
    following = (segments[i + 1 : i + 2] for i, item in enumerate(segments) if _EQUATION.fullmatch(item))
    return [("".join(item)).partition("(")[0] for item in following]


def _build_jaxpr(
    name: str, node: _Node, arguments: Sequence[ProgramArgument], body: int = 0, outer: EquationPath = PROGRAM
) -> Jaxpr:
    """Return one body of a node as a jaxpr with the given name.

    ``arguments`` become its inputs; ``body`` is the index of the body, and ``outer`` the path of the equation that
    holds it.
    """
    labels = [argument.name or f"argument {index}" for index, argument in enumerate(arguments)]
    inputs = [f"%{index}" for index in range(len(arguments))]
    variables = {
        variable_name: Variable(variable_name, argument.shape, argument.dtype, False, label)
        for variable_name, argument, label in zip(inputs, arguments, labels, strict=True)
    }
    indices = sorted(index for number, index in node.children if number == body)
    equations = tuple(_build_equation(node.children[Step(body, index)], outer.child(index, body)) for index in indices)
    return Jaxpr(name, (), tuple(inputs), (), variables, equations)


def _build_equation(node: _Node, path: EquationPath) -> Equation:
    bodies = range(max((number for number, _ in node.children), default=-1) + 1)
    source = SourceRange(node.file, node.line, 0, node.line, 0, "") if node.file else None
    return Equation(
        path=path,
        operation=node.operation,
        parameters="",
        inputs=(),
        outputs=(),
        source=source,
        bodies=tuple(_build_jaxpr("", node, (), number, path) for number in bodies),
    )
