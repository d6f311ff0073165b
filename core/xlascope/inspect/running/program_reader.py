"""Which program of a function a call runs, by the types of few of its arguments: where several are called by turns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .engines import ExecutionEngine, WatchedProgram

_log = logging.getLogger(__name__)

#: Most programs of a function whose calls are told apart.
MAX_PROGRAMS = 16
#: Most combinations of types that a reader stores; static arguments may have any number of values.
MAX_STORED_TYPES = 256
_MISSING = "missing"


class ArgumentStep(NamedTuple):
    """Step from a container to one of its elements: an item, or an attribute."""

    key: Any
    is_attribute: bool = False


#: Way from ``(args, kwargs)`` to an argument or a leaf of one.
ArgumentPath = tuple[ArgumentStep, ...]


class StaticValue(NamedTuple):
    """Value of a static argument, whose programs differ by value."""

    kind: type
    value: Any


class FunctionProgram:
    """Program of a function as a key of counts; equal to no other object. ``function`` is the function's key."""

    __slots__ = ("function", "program")

    def __init__(self, function: Any, program: WatchedProgram) -> None:
        self.function, self.program = function, program


class ProgramReader:
    """Reader of the program that a call of one function runs, quick enough for every call.

    It reads the types of those arguments in which the function's programs differ. Which program has these types, the
    engine tells when they are read for the first time.
    """

    def __init__(self, engine: ExecutionEngine, function: Any) -> None:
        self._engine, self._function = engine, function
        self._numbers: frozenset[int] = frozenset()
        self._keys: dict[int, FunctionProgram] = {}
        self._known: dict[Hashable, FunctionProgram | None] = {}
        self._reads: tuple[Callable[[Any], Hashable], ...] = ()
        self._is_stale = True

    def expire(self) -> None:
        """Note that the function may have another program from now on."""
        self._is_stale = True

    def disable(self) -> None:
        """Read no more, until the function has another program: two programs have the same types."""
        self._reads, self._is_stale = (), False

    def read(self, arguments: Any) -> FunctionProgram | None:
        """Return the program that a call with the arguments ``(args, kwargs)`` runs, None if that is not known.

        It raises nothing: it is called within the user's calls.
        """
        try:
            return self._read(arguments)
        except Exception:  # of an argument that is an object of the user's
            _log.debug("the programs of a function are not told apart", exc_info=True)
            self.disable()
            return None

    def _read(self, arguments: Any) -> FunctionProgram | None:
        if self._is_stale:
            self._learn_programs()
        if not self._reads:
            return None
        types = tuple([read(arguments) for read in self._reads])
        try:
            return self._known[types]
        except KeyError:
            return self._find(types, arguments)

    def _find(self, types: Hashable, arguments: Any) -> FunctionProgram | None:
        number = self._engine.find_program(self._function, arguments)
        if len(self._known) >= MAX_STORED_TYPES:
            self._known.clear()
        key = self._known[types] = None if number is None else self._keys.get(number)
        return key

    def _learn_programs(self) -> None:
        self._is_stale = False
        programs = self._engine.programs(self._function)
        numbers = frozenset(program.number for program in programs)
        if numbers == self._numbers:
            return
        self._numbers = numbers
        self._known.clear()
        for program in programs:
            self._keys.setdefault(program.number, FunctionProgram(self._function, program))
        is_telling = 1 < len(programs) <= MAX_PROGRAMS
        types = self._engine.argument_types(self._function) if is_telling else {}
        chosen = choose_paths(types) if types.keys() == numbers else ()
        self._reads = tuple(_make_reader(path, is_static=is_static) for path, is_static in chosen)


def choose_paths(types: Mapping[int, Mapping[ArgumentPath, Hashable]]) -> Sequence[tuple[ArgumentPath, bool]]:
    """Return arguments by whose types programs can be told apart, few, and whether each is static; () if none can.

    ``types`` has the types of all arguments by program.
    """
    paths = dict.fromkeys(path for by_path in types.values() for path in by_path)
    columns = {path: [by_path.get(path, _MISSING) for by_path in types.values()] for path in paths}
    varying = {path: column for path, column in columns.items() if len(set(column)) > 1}
    chosen: list[ArgumentPath] = []
    groups = [()] * len(types)
    while len(set(groups)) < len(types):
        split = {path: _join(groups, column) for path, column in varying.items()}
        best = max(split, key=lambda path: (len(set(split[path])), -len(path)), default=None)
        if best is None or len(set(split[best])) == len(set(groups)):
            return ()
        chosen.append(best)
        groups = split[best]
    return [(path, any(isinstance(value, StaticValue) for value in columns[path])) for path in chosen]


def _join(groups: Iterable[tuple[Any, ...]], column: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [(*group, value) for group, value in zip(groups, column, strict=True)]


def steps_of(keys: Iterable[Any]) -> ArgumentPath | None:
    """Return a path of a pytree's keys as steps; None where containers of an unknown kind are on it."""
    steps = []
    for key in keys:
        match type(key).__name__:
            case "SequenceKey":
                steps.append(ArgumentStep(key.idx))
            case "DictKey":
                steps.append(ArgumentStep(key.key))
            case "GetAttrKey":
                steps.append(ArgumentStep(key.name, is_attribute=True))
            case _:
                return None
    return tuple(steps)


def type_of(x: Any) -> Any:
    """Return the shape and dtype of an array, and whether its type is weak; the type of any other object."""
    try:
        return x.shape, x.dtype, getattr(x, "weak_type", False)
    except AttributeError:
        return type(x)


def static_value(x: Any) -> StaticValue:
    """Return the value of a static argument, equal to those of the same type alone."""
    return StaticValue(type(x), x)


def _make_reader(path: ArgumentPath, *, is_static: bool) -> Callable[[Any], Hashable]:
    describe = static_value if is_static else type_of

    def read(arguments: Any) -> Hashable:
        x = arguments
        try:
            for key, is_attribute in path:
                x = getattr(x, key) if is_attribute else x[key]
        except (LookupError, TypeError, AttributeError):
            return _MISSING
        return describe(x)

    return read
