"""Jaxprs as text, in JAX's notation and with its line breaks.

What fits on a line stays on one: a program, an equation's parameters, a tuple of programs. Otherwise it is broken, its
parts are indented, and those that fit stay whole. Lists of variables are filled: a line ends with the first
variable that reaches the width. A program that is held several times, or is long, is written once, in front, and named.
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
#: The fewest characters that an equation takes: a program of more does not fit on a line.
_SHORTEST_EQUATION: Final = 10
#: The most equations of a program that is written where it is held.
_MOST_INSIDE: Final = 10


class Names:
    """Names for variables, in the order in which they are met."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._types: dict[ShapedArray, str] = {}
        self._kept: list[Any] = []
        self._next = 0
        self._reserved: set[str] = set()

    def of(self, x: Any) -> str:
        """The name of a variable, or the text of a literal."""
        if x.__class__ is Literal:
            return f"{literal_text(x.val)}:{self.type(x.aval)}"
        name = self._names.get(id(x))
        if name is None:
            name = self._names[id(x)] = self._new()
            self._kept.append(x)  # an id must not be given out again while it names something
        return name

    def typed(self, v: Var) -> str:
        """A variable with its type."""
        return f"{self.of(v)}:{self.type(v.aval)}"

    def type(self, aval: ShapedArray) -> str:
        """A type as it is written."""
        found = self._types.get(aval)
        if found is None:
            found = self._types[aval] = aval.str_short()
        return found

    def reserve(self, wanted: str) -> str:
        """A name for something that is no variable: ``wanted``, with a number when that is taken."""
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
    """A scalar as a person would write it."""
    return str(value)  # of a NumPy scalar: as many digits as tell it apart in its own type


def jaxpr_text(program: Any, names: Names | None = None) -> str:
    """A program (Jaxpr or ClosedJaxpr) in JAX's notation: ``{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }``."""
    names = names or Names()
    shared = _shared_programs(program)
    layout = _Layout(names, {id(_open(p)): names.reserve(wanted) for p, wanted in shared}, _open(program))
    for p, _ in shared:
        layout.definition(_open(p))
    layout.program(_open(program), 0)
    return layout.text()


def equation_text(equation: Any, names: Names | None = None) -> str:
    """An equation in JAX's notation."""
    layout = _Layout(names or Names(), {})
    layout.equation(equation.operation, equation.invars, equation.outvars, 0)
    return layout.text()


def _open(program: Any) -> Any:
    """The jaxpr of a closed jaxpr; a jaxpr itself."""
    return getattr(program, "jaxpr", program)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def _programs_of(value: Any) -> Sequence[Any]:
    """The programs that a parameter is: one, several in a tuple, or none."""
    if _is_program(value):
        return (value,)
    return value if isinstance(value, tuple) and value and all(map(_is_program, value)) else ()


def _held(jaxpr: Any) -> Iterator[tuple[Any, str]]:
    """The programs that the equations of a program hold, with the name that each would have outside of it."""
    for operation, *_ in jaxpr.raw:
        if operation.bodies() or operation.primitive.operation is None:
            for key, value in printed_parameters(operation).items():
                for program in _programs_of(value):
                    own = key == "jaxpr" and operation.name == "jit"
                    yield program, (str(operation.params["name"]).strip("<>") or "jaxpr") if own else "jaxpr"


def _shared_programs(program: Any) -> list[tuple[Any, str]]:
    """The programs to write in front of a program, and the names wanted for them; level by level.

    They are those that appear more than once, with all that they hold, and the long ones. Nothing is looked at more
    than twice.
    """
    met: dict[int, int] = {}
    found: dict[int, tuple[Any, str]] = {}
    waiting = deque([_open(program)])
    while waiting:
        for inner, name in _held(waiting.popleft()):
            jaxpr = _open(inner)
            found.setdefault(id(jaxpr), (inner, name))
            met[id(jaxpr)] = met.get(id(jaxpr), 0) + 1
            if met[id(jaxpr)] <= 2:
                waiting.append(jaxpr)
    return [(p, name) for key, (p, name) in found.items() if met[key] > 1 or len(_open(p).raw) > _MOST_INSIDE]


def _unused(jaxpr: Any) -> frozenset[int]:
    """The results of a program's equations that nothing uses, by id."""
    used = {id(x) for x in jaxpr.outvars}
    used.update([id(x) for _, inputs, *_ in jaxpr.raw for x in inputs])
    return frozenset([id(v) for _, _, outputs, *_ in jaxpr.raw for v in outputs if id(v) not in used])


class _Layout:
    """Text being written: lines that are finished, and the one being filled."""

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
        """``let f = { … } in``, in front of the program that uses it."""
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

    def flat_program(self, jaxpr: Any, room: int) -> str | None:
        """A program on one line; None when it takes more than ``room``."""
        name = self.shared.get(id(jaxpr))
        if name is not None:
            return name
        if len(jaxpr.raw) * _SHORTEST_EQUATION > room:
            return None
        consts = " ".join([self.names.typed(v) for v in jaxpr.constvars])
        text = f"{{ lambda {consts}; {' '.join([self.names.typed(v) for v in jaxpr.invars])}. let "
        for index, (operation, inputs, outputs, *_) in enumerate(jaxpr.raw):
            text += "; " if index else ""
            equation = self.flat_equation(operation, inputs, outputs, room - len(text))
            if equation is None:
                return None
            text += equation
        results = ", ".join([self.atom(x) for x in jaxpr.outvars]) + ("," if len(jaxpr.outvars) == 1 else "")
        text += f" in ({results}) }}"
        return text if len(text) <= room else None

    def left(self, outputs: Sequence[Var]) -> list[str]:
        """Results with their types; ``_`` for those of the outermost program that nothing uses."""
        return [f"_:{self.names.type(v.aval)}" if id(v) in self.unused else self.names.typed(v) for v in outputs]

    def atom(self, x: Any, as_written: bool = True) -> str:
        """A variable or literal. A weak literal is what the user wrote, unless it met an array that is not weak: then
        it has the digits of its value in the array's type.
        """
        if x.__class__ is not Literal or (as_written and x.aval.weak_type) or not hasattr(x.val, "item"):
            return self.names.of(x)
        return f"{x.val.item()}:{self.names.type(x.aval)}"

    def right(self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var]) -> list[str]:
        """The operands."""
        as_written = bool(operation.bodies()) or all(v.aval.weak_type for v in outputs)
        return [self.atom(x, as_written) for x in inputs]

    # Equations ------------------------------------------------------------------------------------------------------

    def equation(self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], indent: int) -> None:
        left = self.left(outputs)
        self.fill(left, indent + 2)
        self.line += f" = {operation.name}" if left else operation.name
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
        self, operation: Operation, inputs: Sequence[Any], outputs: Sequence[Var], room: int
    ) -> str | None:
        left = self.left(outputs)
        text = f"{' '.join(left)} = {operation.name}" if left else operation.name
        inside = self.flat_parameters(printed_parameters(operation) if operation.parametrized else {}, room - len(text))
        if inside is None:
            return None
        text += f"{inside} {' '.join(self.right(operation, inputs, outputs))}"
        return text if len(text) <= room else None

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

    def flat_parameters(self, parameters: dict[str, Any], room: int) -> str | None:
        """The parameters on one line, in brackets; None when they take more than ``room``."""
        if not parameters:
            return ""
        texts: list[str] = []
        length = 1
        for key, value in parameters.items():
            left = room - length - len(key) - 1
            text: str | None
            if _is_program(value):
                text = self.flat_program(_open(value), left)
            elif _programs_of(value):
                text = self.flat_programs(value, left)
            else:
                text = parameter_text(value)
            if text is None:
                return None
            texts.append(f"{key}={text}")
            length += len(texts[-1]) + 1
            if length > room:
                return None
        return f"[{' '.join(texts)}]"

    def flat_programs(self, programs: Sequence[Any], room: int) -> str | None:
        texts: list[str] = []
        length = 1
        for program in programs:
            text = self.flat_program(_open(program), room - length)
            if text is None:
                return None
            texts.append(text)
            length += len(text) + 1
        return f"({' '.join(texts)})" if length <= room else None


#: Parameters that JAX's operations have and ours do not: printed, so that programs print alike.
_ALSO: Final[dict[str, dict[str, Any]]] = {
    "iota": {"sharding": None},
    "reduce_sum": {"out_sharding": None},
    "reshape": {"dimensions": None, "sharding": None},
    "rng_bit_generator": {"out_sharding": None},
}
#: Operations whose parameters are left out when they are None, and such parameters of any operation.
_QUIET: Final = frozenset(["dot_general"])
_QUIET_PARAMETERS: Final = frozenset(["accuracy"])


def printed_parameters(operation: Operation) -> dict[str, Any]:
    """The parameters as JAX prints them: those of calls begin with the name, the others go by the alphabet."""
    name = operation.name
    params = {**operation.params, **_ALSO.get(name, {})}
    params = {k: v for k, v in params.items() if v is not None or not (name in _QUIET or k in _QUIET_PARAMETERS)}
    if name == "dot_general":
        params["dimension_numbers"] = tuple(tuple(map(list, pair)) for pair in params["dimension_numbers"])
    if name == "broadcast_in_dim":  # the result's type says the shape
        params = {"broadcast_dimensions": kept} if (kept := params["broadcast_dimensions"]) else {}
    first = ["name"] if "name" in params and any(map(_programs_of, params.values())) else []
    return {key: params[key] for key in [*first, *sorted(params.keys() - set(first))]}


def shown_parameters(operation: Operation) -> dict[str, Any]:
    """The parameters that say something: those with a value of None are left out."""
    return {key: value for key, value in operation.params.items() if value is not None}


def parameter_text(value: Any) -> str:
    """A static parameter as text: dtypes and functions by name."""
    if hasattr(value, "itemsize") and hasattr(value, "name"):
        return str(value.name)
    if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
        return str(value.__name__)
    return str(value)
