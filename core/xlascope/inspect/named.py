"""The equations of a program of which only StableHLO is known: what the names of its operations say of them.

Names say which equation an operation belongs to and what it does, and often the line; they do not say operands.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..records import Equation, EquationPath, Jaxpr, SourceRange, Traced, Variable
from ..records.op_names import equation_paths
from ..records.paths import PROGRAM, Step
from ..xla.mlir.stablehlo import Argument, Named, StableHLO, named_operations

#: Why there is a trace that nobody made.
REASON = "read from the names in StableHLO"
_EQUATION = re.compile(r"e\d[-,by\d]*")
_PROGRAM = re.compile(r"jit\((.*)\)")


@dataclass
class _Node:
    """An equation while its operations are gathered; ``inside`` are the equations of its bodies, by body and index."""

    operation: str = ""
    file: str = ""
    line: int = 0
    inside: dict[Step, _Node] = field(default_factory=dict)


def traced_by_names(read: StableHLO, function: str, number: int) -> Traced:
    """The record of a trace as far as names tell: without operands, and without equations where names are others'."""
    named = list(named_operations(read.module))
    name = function or _function(named, read.name)
    return Traced(
        program=number,
        function=name,
        time=time.time(),
        seconds=0.0,
        jaxpr=_jaxpr(name, _gathered(named), read.arguments),
        text="",
        reason=REASON,
    )


def _function(named: Sequence[Named], module: str) -> str:
    """The name of the function: that of the outermost call in the names of its operations, or the module's."""
    found = _PROGRAM.fullmatch(named[0].name.partition("/")[0]) if named else None
    return found[1] if found else module.removeprefix("jit_").partition(".")[0]


def _gathered(named: Iterable[Named]) -> _Node:
    """The equations that operations are named by, as a tree."""
    whole = _Node()
    for each in named:
        for path in equation_paths(each.name):
            node, operations = whole, _operations(each.name)
            for step, operation in zip(path.steps, operations[-len(path.steps) :], strict=False):
                node = node.inside.setdefault(step, _Node())
                node.operation = node.operation or operation
            if not node.file:
                node.file, node.line = each.file, each.line
    return whole


def _operations(name: str) -> list[str]:
    """What stands behind each equation in a name: its operation, ``jit`` for a call.

    >>> _operations("jit(f)/e12/jit(loss)/e4/dot_general")
    ['jit', 'dot_general']
    """
    segments = name.split("/")
    following = (segments[i + 1 : i + 2] for i, each in enumerate(segments) if _EQUATION.fullmatch(each))
    return [("".join(each)).partition("(")[0] for each in following]


def _jaxpr(
    name: str, node: _Node, arguments: Sequence[Argument], body: int = 0, outer: EquationPath = PROGRAM
) -> Jaxpr:
    labels = [each.name or f"argument {index}" for index, each in enumerate(arguments)]
    inputs = [f"%{index}" for index in range(len(arguments))]
    variables = {
        given: Variable(given, each.shape, each.dtype, False, label)
        for given, each, label in zip(inputs, arguments, labels, strict=True)
    }
    own = sorted(index for number, index in node.inside if number == body)
    equations = tuple(_equation(node.inside[Step(body, index)], outer.child(index, body)) for index in own)
    return Jaxpr(name, (), tuple(inputs), (), variables, equations)


def _equation(node: _Node, path: EquationPath) -> Equation:
    bodies = range(max((number for number, _ in node.inside), default=-1) + 1)
    source = SourceRange(node.file, node.line, 0, node.line, 0, "") if node.file else None
    return Equation(
        path=path,
        operation=node.operation,
        parameters="",
        inputs=(),
        outputs=(),
        source=source,
        bodies=tuple(_jaxpr("", node, (), number, path) for number in bodies),
    )
