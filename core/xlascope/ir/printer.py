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

_LINE_WIDTH: Final = 80
#: The minimum width of an equation, to reject programs that cannot fit on a line.
_MIN_EQUATION_CHARS: Final = 10
#: The maximum number of equations of a program that is printed inline.
_MAX_INLINE_EQUATIONS: Final = 10


class VariableNames:
    """Names of variables (``a``, ``b``, …), assigned in order of first use."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._types: dict[ShapedArray, str] = {}
        self._named: list[Any] = []
        self._next = 0
        self._reserved: set[str] = set()

    def of(self, x: Any) -> str:
        """Return the name of a variable, or the text of a literal."""
        if x.__class__ is Literal:
            return f"{format_literal(x.val)}:{self.type(x.aval)}"
        name = self._names.get(id(x))
        if name is None:
            name = self._names[id(x)] = self._new()
            self._named.append(x)  # keep it alive, so that its id stays unique
        return name

    def format_with_type(self, v: Var) -> str:
        """Return the name of a variable with its type."""
        return f"{self.of(v)}:{self.type(v.aval)}"

    def type(self, aval: ShapedArray) -> str:
        """Return the text of a type."""
        text = self._types.get(aval)
        if text is None:
            text = self._types[aval] = aval.str_short()
        return text

    def reserve(self, base: str) -> str:
        """Return and reserve a name for something other than a variable: ``base``, with a number if it is taken."""
        name, number = base, 0
        while name in self._reserved:
            number += 1
            name = f"{base}{number}"
        self._reserved.add(name)
        return name

    def _new(self) -> str:
        while True:
            name = letters(self._next)
            self._next += 1
            if name not in self._reserved:
                return name


def format_literal(value: Any) -> str:
    """Return the text of a scalar literal, without its type."""
    return str(value)  # of a NumPy scalar: the shortest digits that identify it in its type


def format_jaxpr(program: Any, names: VariableNames | None = None) -> str:
    """Format a Jaxpr or ClosedJaxpr in JAX's notation: ``{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }``."""
    names = names or VariableNames()
    shared = _shared_programs(program)
    layout = _JaxprFormatter(
        names, {id(_inner_jaxpr(p)): names.reserve(base) for p, base in shared}, _inner_jaxpr(program)
    )
    for p, _ in shared:
        layout.write_definition(_inner_jaxpr(p))
    layout.write_program(_inner_jaxpr(program), 0)
    return layout.text()


def format_equation(equation: Any, names: VariableNames | None = None) -> str:
    """Format an equation in JAX's notation; without ``names``, its variables are named ``a``, ``b``, …."""
    layout = _JaxprFormatter(names or VariableNames(), {})
    layout.write_equation(equation.operation, equation.invars, equation.outvars, 0)
    return layout.text()


def _inner_jaxpr(program: Any) -> Any:
    """Return the jaxpr of a closed jaxpr, or the jaxpr itself."""
    return getattr(program, "jaxpr", program)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def _programs_of(value: Any) -> Sequence[Any]:
    """Return the programs in the value of a parameter: the value itself, the elements of a tuple of programs, or ()."""
    if _is_program(value):
        return (value,)
    return value if isinstance(value, tuple) and value and all(map(_is_program, value)) else ()


def _iter_subprograms(jaxpr: Any) -> Iterator[tuple[Any, str]]:
    """Yield the programs that the equations of a program hold, each with the name for a definition outside."""
    for operation, *_ in jaxpr.raw:
        if operation.bodies() or operation.primitive.operation is None:
            for key, value in parameters_to_print(operation).items():
                for program in _programs_of(value):
                    is_jit = key == "jaxpr" and operation.name == "jit"
                    yield program, (str(operation.params["name"]).strip("<>") or "jaxpr") if is_jit else "jaxpr"


def _shared_programs(program: Any) -> list[tuple[Any, str]]:
    """Return the programs to be written before a program, with their preferred names, breadth first.

    They are those that appear more than once, directly or in other programs, and the long ones. Each is
    visited at most twice.
    """
    counts: dict[int, int] = {}
    programs: dict[int, tuple[Any, str]] = {}
    queue = deque([_inner_jaxpr(program)])
    while queue:
        for inner, name in _iter_subprograms(queue.popleft()):
            jaxpr = _inner_jaxpr(inner)
            programs.setdefault(id(jaxpr), (inner, name))
            counts[id(jaxpr)] = counts.get(id(jaxpr), 0) + 1
            if counts[id(jaxpr)] <= 2:
                queue.append(jaxpr)
    return [
        (p, name)
        for key, (p, name) in programs.items()
        if counts[key] > 1 or len(_inner_jaxpr(p).raw) > _MAX_INLINE_EQUATIONS
    ]


def _unused_results(jaxpr: Any) -> frozenset[int]:
    """Return the ids of the results of equations of a program that no equation uses and the program does not return."""
    used = {id(x) for x in jaxpr.outvars}
    used.update([id(x) for _, inputs, *_ in jaxpr.raw for x in inputs])
    return frozenset([id(v) for _, _, outputs, *_ in jaxpr.raw for v in outputs if id(v) not in used])


class _JaxprFormatter:
    """Formatter of one jaxpr: ``lines`` are the finished lines, ``line`` is the one being filled.

    ``names`` are the names of variables; ``shared`` has the names of programs that are defined in front, by
    the id of the jaxpr. Unused results of the program ``outermost`` are written as ``_``.
    """

    def __init__(self, names: VariableNames, shared: dict[int, str], outermost: Any = None) -> None:
        self.names = names
        self.shared = shared
        self.lines: list[str] = []
        self.line = ""
        self.unused = _unused_results(outermost) if outermost is not None else frozenset()

    def text(self) -> str:
        return "\n".join([*self.lines, self.line.rstrip()])

    def newline(self, indent: int) -> None:
        self.lines.append(self.line.rstrip())
        self.line = " " * indent

    @property
    def remaining_width(self) -> int:
        return _LINE_WIDTH - len(self.line)

    def fill(self, items: Sequence[str], indent: int) -> None:
        """Append texts separated by spaces; where the line is full, begin a new one with that indentation."""
        for index, item in enumerate(items):
            if index and self.remaining_width < 1:
                self.newline(indent)
            elif index:
                self.line += " "
            self.line += item

    # Programs -------------------------------------------------------------------------------------------------------

    def write_definition(self, jaxpr: Any) -> None:
        """Write ``let f = { … } in`` for a shared program, before the program that uses it."""
        name = self.shared.pop(id(jaxpr))
        self.line += f"let {name} = "
        self.write_program(jaxpr, 0)
        self.line += " in"
        self.newline(0)
        self.shared[id(jaxpr)] = name

    def write_program(self, jaxpr: Any, indent: int) -> None:
        """Write a program: on the current line if it fits, else with one line per equation, indented further."""
        flat = self.try_flat_program(jaxpr, self.remaining_width)
        if flat is not None:
            self.line += flat
            return
        self.line += "{ lambda "
        self.fill([self.names.format_with_type(v) for v in jaxpr.constvars], indent + 4)
        self.line += "; "
        self.fill([self.names.format_with_type(v) for v in jaxpr.invars], indent + 4)
        self.line += ". let"
        if not jaxpr.raw:
            self.newline(indent + 4)
        for operation, inputs, outputs, *_ in jaxpr.raw:
            self.newline(indent + 4)
            self.write_equation(operation, inputs, outputs, indent + 4)
        self.newline(indent + 2)
        self.line += "in ("
        results = [self.format_atom(x) + "," for x in jaxpr.outvars]
        self.fill(results if len(results) == 1 else [*results[:-1], *(x[:-1] for x in results[-1:])], indent + 4)
        self.line += ") }"

    def try_flat_program(self, jaxpr: Any, width: int) -> str | None:
        """Return a program on one line; None when it is wider than ``width``."""
        name = self.shared.get(id(jaxpr))
        if name is not None:
            return name
        if len(jaxpr.raw) * _MIN_EQUATION_CHARS > width:
            return None
        consts = " ".join([self.names.format_with_type(v) for v in jaxpr.constvars])
        text = f"{{ lambda {consts}; {' '.join([self.names.format_with_type(v) for v in jaxpr.invars])}. let "
        for index, (operation, inputs, outputs, *_) in enumerate(jaxpr.raw):
            text += "; " if index else ""
            equation = self.try_flat_equation(operation, inputs, outputs, width - len(text))
            if equation is None:
                return None
            text += equation
        results = ", ".join([self.format_atom(x) for x in jaxpr.outvars]) + ("," if len(jaxpr.outvars) == 1 else "")
        text += f" in ({results}) }}"
        return text if len(text) <= width else None

    def format_results(self, outputs: Sequence[Var]) -> list[str]:
        """Return the names and types of results; ``_`` is the name of unused results of the outermost program."""
        return [
            f"_:{self.names.type(v.aval)}" if id(v) in self.unused else self.names.format_with_type(v) for v in outputs
        ]

    def format_atom(self, x: Any, as_written: bool = True) -> str:
        """Return the text of a variable or literal.

        A weakly typed literal is printed as the user wrote it, unless ``as_written`` is false: then it has
        the digits of its value in its type.
        """
        if x.__class__ is not Literal or (as_written and x.aval.weak_type) or not hasattr(x.val, "item"):
            return self.names.of(x)
        return f"{x.val.item()}:{self.names.type(x.aval)}"

    def format_operands(self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var]) -> list[str]:
        """Return the texts of an equation's operands."""
        as_written = bool(operation.bodies()) or all(v.aval.weak_type for v in outputs)
        return [self.format_atom(x, as_written) for x in inputs]

    # Equations ------------------------------------------------------------------------------------------------------

    def write_equation(self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], indent: int) -> None:
        """Write an equation, with further lines indented from column ``indent``."""
        results = self.format_results(outputs)
        self.fill(results, indent + 2)
        self.line += f" = {operation.name}" if results else operation.name
        parameters = parameters_to_print(operation) if operation.parametrized else {}
        flat = self.try_flat_parameters(parameters, self.remaining_width)
        if flat is not None:
            self.line += flat
        else:
            self.write_parameters(parameters, indent)
        if inputs:
            self.line += " "
            self.fill(self.format_operands(operation, inputs, outputs), indent + 2)

    def try_flat_equation(
        self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], cols: int
    ) -> str | None:
        """Return an equation on one line; None when it is wider than ``cols``."""
        results = self.format_results(outputs)
        text = f"{' '.join(results)} = {operation.name}" if results else operation.name
        inside = self.try_flat_parameters(
            parameters_to_print(operation) if operation.parametrized else {}, cols - len(text)
        )
        if inside is None:
            return None
        text += f"{inside} {' '.join(self.format_operands(operation, inputs, outputs))}"
        return text if len(text) <= cols else None

    # Parameters -----------------------------------------------------------------------------------------------------

    def write_parameters(self, parameters: dict[str, Any], indent: int) -> None:
        """Write parameters in brackets, each on a line of its own, indented from column ``indent``."""
        self.line += "["
        for key, value in parameters.items():
            self.newline(indent + 2)
            self.line += f"{key}="
            if _is_program(value):
                self.write_program(_inner_jaxpr(value), indent + 2)
            elif _programs_of(value):
                self.write_programs(value, indent + 2)
            else:
                self.line += format_parameter(value)
        self.newline(indent)
        self.line += "]"

    def write_programs(self, programs: Sequence[Any], indent: int) -> None:
        """Write a tuple of programs: on the current line if it fits, else each on lines of its own."""
        flat = self.try_flat_programs(programs, self.remaining_width)
        if flat is not None:
            self.line += flat
            return
        self.line += "("
        for program in programs:
            self.newline(indent + 2)
            self.write_program(_inner_jaxpr(program), indent + 2)
        self.newline(indent)
        self.line += ")"

    def try_flat_parameters(self, parameters: dict[str, Any], width: int) -> str | None:
        """Return the parameters on one line, in brackets; None when they are wider than ``width``."""
        if not parameters:
            return ""
        texts: list[str] = []
        length = 1
        for key, value in parameters.items():
            remaining = width - length - len(key) - 1
            text: str | None
            if _is_program(value):
                text = self.try_flat_program(_inner_jaxpr(value), remaining)
            elif _programs_of(value):
                text = self.try_flat_programs(value, remaining)
            else:
                text = format_parameter(value)
            if text is None:
                return None
            texts.append(f"{key}={text}")
            length += len(texts[-1]) + 1
            if length > width:
                return None
        return f"[{' '.join(texts)}]"

    def try_flat_programs(self, programs: Sequence[Any], width: int) -> str | None:
        """Return a tuple of programs on one line; None when it is wider than ``width``."""
        texts: list[str] = []
        length = 1
        for program in programs:
            text = self.try_flat_program(_inner_jaxpr(program), width - length)
            if text is None:
                return None
            texts.append(text)
            length += len(text) + 1
        return f"({' '.join(texts)})" if length <= width else None


#: Parameters that JAX's operations have and ours do not, printed so that the text is the same.
_EXTRA_PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    "iota": {"sharding": None},
    "reduce_sum": {"out_sharding": None},
    "reshape": {"dimensions": None, "sharding": None},
    "rng_bit_generator": {"out_sharding": None},
}
#: Operations that omit parameters that are None, and parameters that any operation omits when None.
_OPERATIONS_HIDING_NONE: Final = frozenset(["dot_general"])
_PARAMETERS_HIDING_NONE: Final = frozenset(["accuracy"])


def parameters_to_print(operation: Operation) -> dict[str, Any]:
    """Return an operation's parameters as JAX prints them: the name of a call first, then the others alphabetically.

    Parameters that JAX omits are left out, and those that only JAX has are added.
    """
    name = operation.name
    params = {**operation.params, **_EXTRA_PARAMETERS.get(name, {})}
    params = {
        k: v
        for k, v in params.items()
        if v is not None or not (name in _OPERATIONS_HIDING_NONE or k in _PARAMETERS_HIDING_NONE)
    }
    if name == "dot_general":
        params["dimension_numbers"] = tuple(tuple(map(list, pair)) for pair in params["dimension_numbers"])
    if name == "broadcast_in_dim":  # the shape is in the result's type
        params = {"broadcast_dimensions": dimensions} if (dimensions := params["broadcast_dimensions"]) else {}
    first = ["name"] if "name" in params and any(map(_programs_of, params.values())) else []
    return {key: params[key] for key in [*first, *sorted(params.keys() - set(first))]}


def drop_none_parameters(operation: Operation) -> dict[str, Any]:
    """Return the parameters that are not None."""
    return {key: value for key, value in operation.params.items() if value is not None}


def format_parameter(value: Any) -> str:
    """Return the text of a static parameter: of a dtype or a function its name."""
    if hasattr(value, "itemsize") and hasattr(value, "name"):
        return str(value.name)
    if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
        return str(value.__name__)
    return str(value)
