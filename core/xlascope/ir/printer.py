"""Pretty printer for jaxprs, in JAX's notation and with its line breaks.

What fits on a line stays on one: a program, an equation's parameters, a tuple of programs. Otherwise it is
broken, its parts are indented, and those that fit stay on one line. Lists of variables are filled: a line
ends with the first variable that reaches the width. A program that is held several times, or is long, is
written once, in front, and named.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..records.lettering import letters
from .atoms import Literal, Var
from .avals import ShapedArray
from .operation import Operation

_WIDTH: Final = 80
#: The minimum width of an equation, to reject programs that cannot fit on a line.
_SHORTEST_EQUATION: Final = 10
#: The maximum number of equations of a program that is printed inline.
_MOST_INSIDE: Final = 10


class Names:
    """Names of variables, assigned in order of first use."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._types: dict[ShapedArray, str] = {}
        self._kept: list[Any] = []
        self._next = 0
        self._reserved: set[str] = set()

    def of(self, x: Any) -> str:
        """Return the name of a variable, or the text of a literal."""
        if x.__class__ is Literal:
            return f"{literal_text(x.val)}:{self.type(x.aval)}"
        name = self._names.get(id(x))
        if name is None:
            name = self._names[id(x)] = self._new()
            self._kept.append(x)  # keep it alive, so that its id stays unique
        return name

    def typed(self, v: Var) -> str:
        """Return the name of a variable with its type."""
        return f"{self.of(v)}:{self.type(v.aval)}"

    def type(self, aval: ShapedArray) -> str:
        """Return the text of a type."""
        text = self._types.get(aval)
        if text is None:
            text = self._types[aval] = aval.str_short()
        return text

    def reserve(self, wanted: str) -> str:
        """Reserve a name for something other than a variable: ``wanted``, with a number if it is taken."""
        name, number = wanted, 0
        while name in self._reserved:
            number += 1
            name = f"{wanted}{number}"
        self._reserved.add(name)
        return name

    def _new(self) -> str:
        while True:
            name = letters(self._next)
            self._next += 1
            if name not in self._reserved:
                return name


def literal_text(value: Any) -> str:
    """Format a scalar literal."""
    return str(value)  # of a NumPy scalar: the shortest digits that identify it in its type


def jaxpr_text(program: Any, names: Names | None = None) -> str:
    """Format a Jaxpr or ClosedJaxpr in JAX's notation: ``{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }``."""
    names = names or Names()
    shared = _shared_programs(program)
    layout = _Layout(names, {id(_open(p)): names.reserve(wanted) for p, wanted in shared}, _open(program))
    for p, _ in shared:
        layout.definition(_open(p))
    layout.program(_open(program), 0)
    return layout.text()


def equation_text(equation: Any, names: Names | None = None) -> str:
    """Format an equation in JAX's notation."""
    layout = _Layout(names or Names(), {})
    layout.equation(equation.operation, equation.invars, equation.outvars, 0)
    return layout.text()


def _open(program: Any) -> Any:
    """Return the jaxpr of a closed jaxpr, or the jaxpr itself."""
    return getattr(program, "jaxpr", program)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def _programs_of(value: Any) -> Sequence[Any]:
    """Return the programs in a parameter: itself, the members of a tuple of programs, or none."""
    if _is_program(value):
        return (value,)
    return value if isinstance(value, tuple) and value and all(map(_is_program, value)) else ()


def _held(jaxpr: Any) -> Iterator[tuple[Any, str]]:
    """Yield the programs that the equations of a program hold, each with its name for definition outside."""
    for operation, *_ in jaxpr.raw:
        if operation.bodies() or operation.primitive.operation is None:
            for key, value in printed_parameters(operation).items():
                for program in _programs_of(value):
                    is_jit = key == "jaxpr" and operation.name == "jit"
                    yield program, (str(operation.params["name"]).strip("<>") or "jaxpr") if is_jit else "jaxpr"


def _shared_programs(program: Any) -> list[tuple[Any, str]]:
    """Return the programs to define before a program, and their preferred names, breadth first.

    They are those that appear more than once, with all that they hold, and the long ones. Each is visited at most
    twice.
    """
    counts: dict[int, int] = {}
    programs: dict[int, tuple[Any, str]] = {}
    queue = deque([_open(program)])
    while queue:
        for inner, name in _held(queue.popleft()):
            jaxpr = _open(inner)
            programs.setdefault(id(jaxpr), (inner, name))
            counts[id(jaxpr)] = counts.get(id(jaxpr), 0) + 1
            if counts[id(jaxpr)] <= 2:
                queue.append(jaxpr)
    return [(p, name) for key, (p, name) in programs.items() if counts[key] > 1 or len(_open(p).raw) > _MOST_INSIDE]


def _unused(jaxpr: Any) -> frozenset[int]:
    """Return the ids of the results of a program's equations that nothing uses."""
    used = {id(x) for x in jaxpr.outvars}
    used.update([id(x) for _, inputs, *_ in jaxpr.raw for x in inputs])
    return frozenset([id(v) for _, _, outputs, *_ in jaxpr.raw for v in outputs if id(v) not in used])


class _Layout:
    """Formatter of one jaxpr: finished lines, and the line being filled."""

    def __init__(self, names: Names, shared: dict[int, str], outermost: Any = None) -> None:
        self.names = names
        self.shared = shared
        self.lines: list[str] = []
        self.line = ""
        self.unused = _unused(outermost) if outermost is not None else frozenset()

    def text(self) -> str:
        return "\n".join([*self.lines, self.line.rstrip()])

    def newline(self, indent: int) -> None:
        self.lines.append(self.line.rstrip())
        self.line = " " * indent

    @property
    def room(self) -> int:
        return _WIDTH - len(self.line)

    def fill(self, items: Sequence[str], indent: int) -> None:
        for index, item in enumerate(items):
            if index and self.room < 1:
                self.newline(indent)
            elif index:
                self.line += " "
            self.line += item

    # Programs -------------------------------------------------------------------------------------------------------

    def definition(self, jaxpr: Any) -> None:
        """Write ``let f = { … } in``, before the program that uses it."""
        name = self.shared.pop(id(jaxpr))
        self.line += f"let {name} = "
        self.program(jaxpr, 0)
        self.line += " in"
        self.newline(0)
        self.shared[id(jaxpr)] = name

    def program(self, jaxpr: Any, indent: int) -> None:
        flat = self.flat_program(jaxpr, self.room)
        if flat is not None:
            self.line += flat
            return
        self.line += "{ lambda "
        self.fill([self.names.typed(v) for v in jaxpr.constvars], indent + 4)
        self.line += "; "
        self.fill([self.names.typed(v) for v in jaxpr.invars], indent + 4)
        self.line += ". let"
        if not jaxpr.raw:
            self.newline(indent + 4)
        for operation, inputs, outputs, *_ in jaxpr.raw:
            self.newline(indent + 4)
            self.equation(operation, inputs, outputs, indent + 4)
        self.newline(indent + 2)
        self.line += "in ("
        results = [self.atom(x) + "," for x in jaxpr.outvars]
        self.fill(results if len(results) == 1 else [*results[:-1], *(x[:-1] for x in results[-1:])], indent + 4)
        self.line += ") }"

    def flat_program(self, jaxpr: Any, width: int) -> str | None:
        """Return a program on one line; None when it is wider than ``width``."""
        name = self.shared.get(id(jaxpr))
        if name is not None:
            return name
        if len(jaxpr.raw) * _SHORTEST_EQUATION > width:
            return None
        consts = " ".join([self.names.typed(v) for v in jaxpr.constvars])
        text = f"{{ lambda {consts}; {' '.join([self.names.typed(v) for v in jaxpr.invars])}. let "
        for index, (operation, inputs, outputs, *_) in enumerate(jaxpr.raw):
            text += "; " if index else ""
            equation = self.flat_equation(operation, inputs, outputs, width - len(text))
            if equation is None:
                return None
            text += equation
        results = ", ".join([self.atom(x) for x in jaxpr.outvars]) + ("," if len(jaxpr.outvars) == 1 else "")
        text += f" in ({results}) }}"
        return text if len(text) <= width else None

    def left(self, outputs: Sequence[Var]) -> list[str]:
        """Return results with their types; ``_`` for those of the outermost program that nothing uses."""
        return [f"_:{self.names.type(v.aval)}" if id(v) in self.unused else self.names.typed(v) for v in outputs]

    def atom(self, x: Any, as_written: bool = True) -> str:
        """Return the text of a variable or literal.

        A weak literal is printed as the user wrote it, unless the other operand is a strongly typed array: then it
        has the digits of its value in the array's type.
        """
        if x.__class__ is not Literal or (as_written and x.aval.weak_type) or not hasattr(x.val, "item"):
            return self.names.of(x)
        return f"{x.val.item()}:{self.names.type(x.aval)}"

    def right(self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var]) -> list[str]:
        """Return the texts of the operands."""
        as_written = bool(operation.bodies()) or all(v.aval.weak_type for v in outputs)
        return [self.atom(x, as_written) for x in inputs]

    # Equations ------------------------------------------------------------------------------------------------------

    def equation(self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], indent: int) -> None:
        results = self.left(outputs)
        self.fill(results, indent + 2)
        self.line += f" = {operation.name}" if results else operation.name
        parameters = printed_parameters(operation) if operation.parametrized else {}
        flat = self.flat_parameters(parameters, self.room)
        if flat is not None:
            self.line += flat
        else:
            self.parameters(parameters, indent)
        if inputs:
            self.line += " "
            self.fill(self.right(operation, inputs, outputs), indent + 2)

    def flat_equation(
        self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], cols: int
    ) -> str | None:
        results = self.left(outputs)
        text = f"{' '.join(results)} = {operation.name}" if results else operation.name
        inside = self.flat_parameters(printed_parameters(operation) if operation.parametrized else {}, cols - len(text))
        if inside is None:
            return None
        text += f"{inside} {' '.join(self.right(operation, inputs, outputs))}"
        return text if len(text) <= cols else None

    # Parameters -----------------------------------------------------------------------------------------------------

    def parameters(self, parameters: dict[str, Any], indent: int) -> None:
        self.line += "["
        for key, value in parameters.items():
            self.newline(indent + 2)
            self.line += f"{key}="
            if _is_program(value):
                self.program(_open(value), indent + 2)
            elif _programs_of(value):
                self.programs(value, indent + 2)
            else:
                self.line += parameter_text(value)
        self.newline(indent)
        self.line += "]"

    def programs(self, programs: Sequence[Any], indent: int) -> None:
        flat = self.flat_programs(programs, self.room)
        if flat is not None:
            self.line += flat
            return
        self.line += "("
        for program in programs:
            self.newline(indent + 2)
            self.program(_open(program), indent + 2)
        self.newline(indent)
        self.line += ")"

    def flat_parameters(self, parameters: dict[str, Any], width: int) -> str | None:
        """Return the parameters on one line, in brackets; None when they are wider than ``width``."""
        if not parameters:
            return ""
        texts: list[str] = []
        length = 1
        for key, value in parameters.items():
            remaining = width - length - len(key) - 1
            text: str | None
            if _is_program(value):
                text = self.flat_program(_open(value), remaining)
            elif _programs_of(value):
                text = self.flat_programs(value, remaining)
            else:
                text = parameter_text(value)
            if text is None:
                return None
            texts.append(f"{key}={text}")
            length += len(texts[-1]) + 1
            if length > width:
                return None
        return f"[{' '.join(texts)}]"

    def flat_programs(self, programs: Sequence[Any], width: int) -> str | None:
        texts: list[str] = []
        length = 1
        for program in programs:
            text = self.flat_program(_open(program), width - length)
            if text is None:
                return None
            texts.append(text)
            length += len(text) + 1
        return f"({' '.join(texts)})" if length <= width else None


#: Parameters that JAX's operations have and ours do not, printed so that the text is the same.
_ALSO: Final[dict[str, dict[str, Any]]] = {
    "iota": {"sharding": None},
    "reduce_sum": {"out_sharding": None},
    "reshape": {"dimensions": None, "sharding": None},
    "rng_bit_generator": {"out_sharding": None},
}
#: Operations that omit parameters that are None, and parameters that any operation omits when None.
_QUIET: Final = frozenset(["dot_general"])
_QUIET_PARAMETERS: Final = frozenset(["accuracy"])


def printed_parameters(operation: Operation) -> dict[str, Any]:
    """Return the parameters in JAX's order: the name of a call first, then the others alphabetically."""
    name = operation.name
    params = {**operation.params, **_ALSO.get(name, {})}
    params = {k: v for k, v in params.items() if v is not None or not (name in _QUIET or k in _QUIET_PARAMETERS)}
    if name == "dot_general":
        params["dimension_numbers"] = tuple(tuple(map(list, pair)) for pair in params["dimension_numbers"])
    if name == "broadcast_in_dim":  # the shape is in the result's type
        params = {"broadcast_dimensions": dimensions} if (dimensions := params["broadcast_dimensions"]) else {}
    first = ["name"] if "name" in params and any(map(_programs_of, params.values())) else []
    return {key: params[key] for key in [*first, *sorted(params.keys() - set(first))]}


def shown_parameters(operation: Operation) -> dict[str, Any]:
    """Return the parameters that are not None."""
    return {key: value for key, value in operation.params.items() if value is not None}


def parameter_text(value: Any) -> str:
    """Format a static parameter: dtypes and functions by name."""
    if hasattr(value, "itemsize") and hasattr(value, "name"):
        return str(value.name)
    if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
        return str(value.__name__)
    return str(value)
