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


class InterningTable:
    """Table of distinct values in order of first use; index 0 is the empty value.

    ``values`` are sent to the browser, which looks values up by index.
    """

    def __init__(self, nothing: Any) -> None:
        self.values: list[Any] = [nothing]
        self._numbers: dict[Hashable, int] = {}

    def index_of(self, key: Hashable, make: Callable[[], Any]) -> int:
        """Return the index of the value with this key; on first use, ``make()`` creates the value."""
        index = self._numbers.get(key)
        if index is None:
            index = self._numbers[key] = len(self.values)
            self.values.append(make())
        return index

    def text_index(self, text: str) -> int:
        """Return the index of a text; 0 for the empty text."""
        return self.index_of(text, lambda: text) if text else 0


class JaxprEncoder:
    """Encoder of one program's jaxpr; ``file`` returns the index of a file name in the list of files that is sent."""

    def __init__(self, file: Callable[[str], int]) -> None:
        self._file_index = file
        self._texts = InterningTable("")
        self._types = InterningTable(["", 0])
        self._lines = InterningTable(None)

    def encode(self, jaxpr: Jaxpr) -> JSON:
        """Return a jaxpr as JSON, with the tables of texts, types and lines that its bodies share."""
        level = self._encode_level(jaxpr)
        return level | {"texts": self._texts.values, "types": self._types.values, "lines": self._lines.values}

    def _encode_level(self, jaxpr: Jaxpr) -> JSON:
        computed = {name for equation in jaxpr.equations for name in equation.outputs}
        return {
            "name": jaxpr.name,
            "constants": list(jaxpr.constants),
            "inputs": list(jaxpr.inputs),
            "outputs": list(jaxpr.outputs),
            "given": [[name, self._type_index(v)] for name, v in jaxpr.variables.items() if name not in computed],
            "labels": {name: variable.label for name, variable in jaxpr.variables.items() if variable.label},
            "packed": [self._encode_equation(equation, jaxpr.variables) for equation in jaxpr.equations],
        }

    def _type_index(self, variable: Variable | None) -> int:
        if variable is None:
            return 0
        key = (variable.shape, variable.dtype, variable.lies)
        text = f"{variable.type_text} {variable.lies}".rstrip()
        return self._types.index_of(key, lambda: [text, variable.bytes])

    def _encode_equation(self, equation: Equation, variables: dict[str, Variable]) -> list[Any]:
        """Return an equation as a list of table indices and values, without its trailing empty items.

        ``variables`` are those of the jaxpr that contains it.
        """
        packed = [
            self._texts.text_index(equation.operation),
            equation.inputs,
            equation.outputs,
            [self._type_index(variables.get(name)) for name in equation.outputs],
            _ROLES[equation.role],
            self._line_index(equation.source),
            self._texts.text_index(equation.scope),
            self._texts.text_index(equation.parameters),
            equation.flops,
            equation.transposes or 0,
            self._texts.text_index(equation.name if equation.name != equation.operation else ""),
            [self._encode_level(body) for body in equation.bodies] or 0,
        ]
        while not packed[-1] and len(packed) > 4:
            packed.pop()
        return packed

    def _line_index(self, source: SourceRange | None) -> int:
        if source is None:
            return 0
        key = (source.file, source.line, source.end_line, source.function)
        return self._lines.index_of(key, lambda: [self._file_index(source.file), *key[1:]])
