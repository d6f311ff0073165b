"""Compact JSON encoding of a jaxpr: a hundred thousand equations take a few megabytes rather than sixteen.

Repeated texts, types and lines are stored once in tables. An equation is a list without its trailing empty
items: ``[operation, inputs, outputs, types, role, line, scope, parameters, flops, transposes, name,
bodies]``. Its path is its position. ``unpack.js`` is the decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from xlascope.records import Equation, Jaxpr, SourceRange, Variable

JSON = dict[str, Any]

_ROLES = {"forward": 0, "tangent": 1, "backward": 2}


class Table:
    """A table of distinct values in order of first use; index 0 is the empty value."""

    def __init__(self, nothing: Any) -> None:
        self.values: list[Any] = [nothing]
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, make: Callable[[], Any]) -> int:
        """Return the index of the value with this key, creating the value on first use."""
        index = self._numbers.get(key)
        if index is None:
            index = self._numbers[key] = len(self.values)
            self.values.append(make())
        return index

    def text(self, text: str) -> int:
        """Return the index of a text; 0 for the empty text."""
        return self.number(text, lambda: text) if text else 0


class Packer:
    """The encoder of one program; ``file`` maps a file name to its index."""

    def __init__(self, file: Callable[[str], int]) -> None:
        self._file = file
        self._texts = Table("")
        self._types = Table(["", 0])
        self._lines = Table(None)

    def pack(self, jaxpr: Jaxpr) -> JSON:
        """Encode a jaxpr, with the tables of the whole program."""
        level = self._level(jaxpr)
        return level | {"texts": self._texts.values, "types": self._types.values, "lines": self._lines.values}

    def _level(self, jaxpr: Jaxpr) -> JSON:
        computed = {name for equation in jaxpr.equations for name in equation.outputs}
        return {
            "name": jaxpr.name,
            "constants": list(jaxpr.constants),
            "inputs": list(jaxpr.inputs),
            "outputs": list(jaxpr.outputs),
            "given": [[name, self._type(v)] for name, v in jaxpr.variables.items() if name not in computed],
            "labels": {name: variable.label for name, variable in jaxpr.variables.items() if variable.label},
            "packed": [self._equation(equation, jaxpr.variables) for equation in jaxpr.equations],
        }

    def _type(self, variable: Variable | None) -> int:
        if variable is None:
            return 0
        key = (variable.shape, variable.dtype, variable.lies)
        text = f"{variable.type_text} {variable.lies}".rstrip()
        return self._types.number(key, lambda: [text, variable.bytes])

    def _equation(self, equation: Equation, variables: dict[str, Variable]) -> list[Any]:
        packed = [
            self._texts.text(equation.operation),
            equation.inputs,
            equation.outputs,
            [self._type(variables.get(name)) for name in equation.outputs],
            _ROLES[equation.role],
            self._line(equation.source),
            self._texts.text(equation.scope),
            self._texts.text(equation.parameters),
            equation.flops,
            equation.transposes or 0,
            self._texts.text(equation.name if equation.name != equation.operation else ""),
            [self._level(body) for body in equation.bodies] or 0,
        ]
        while not packed[-1] and len(packed) > 4:
            packed.pop()
        return packed

    def _line(self, source: SourceRange | None) -> int:
        if source is None:
            return 0
        key = (source.file, source.line, source.end_line, source.function)
        return self._lines.number(key, lambda: [self._file(source.file), *key[1:]])
