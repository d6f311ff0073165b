"""Arguments of a jitted call: flat operands, static arguments, and donated memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...errors import see
from ...ir.avals import ShapedArray
from ...keys import Exact, parts
from ...trace.source import compose_message, here
from ...trace.tracer import Tracer
from ...trace.values import aval_of, not_an_array
from ...xla.compilation.compile_request import CompileOptions
from ..programs.names import name_of, number_of_arguments, operand_names, parameter_names
from .retrace import is_of_library


class Options(NamedTuple):
    """Options of a jitted function."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    inline: bool = False
    device: Any = None
    #: Whether static values come from this package's functions, which normalize them, so that ``==`` suffices.
    normalized: bool = False
    #: Requested shardings of arguments and results (``shardings.ResolvedShardings``); None leaves them open.
    in_shardings: Any = None
    out_shardings: Any = None
    #: Options of compilation.
    compile: CompileOptions = CompileOptions()

    def compiled(self, **changes: Any) -> Options:
        """Return the options with changed :class:`~xlascope.xla.compilation.compile_request.CompileOptions`."""
        return self._replace(compile=self.compile._replace(**changes))


class Arguments(NamedTuple):
    """A call's arguments: the flat operands, their structure, and the static arguments (by position, and by name)."""

    operands: list[Any]
    structure: Any
    positional: tuple[tuple[int, Exact], ...]
    named: tuple[tuple[str, Exact], ...]


def split(function: Callable[..., Any], options: Options, args: Sequence[Any], kwargs: dict[str, Any]) -> Arguments:
    """Flatten a call's dynamic arguments and separate the static ones.

    Raises ValueError for a static argument without a hash, or a traced value.
    """
    if not options.static_argnums and not options.static_argnames:
        operands, structure = tree.flatten((tuple(args), kwargs))
        return Arguments(operands, structure, (), ())
    static = static_numbers(options, len(args))
    names = set(options.static_argnames)
    positional = tuple([(i, _exact(function, i, args[i])) for i in static])
    named = tuple([(k, _exact(function, k, kwargs[k])) for k in sorted(names & kwargs.keys())])
    dynamic = tuple(None if i in static else x for i, x in enumerate(args))
    dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in names}
    operands, structure = tree.flatten((dynamic, dynamic_kwargs))
    return Arguments(operands, structure, positional, named)


def join(arguments: Arguments, operands: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call, with other operands."""
    dynamic, dynamic_kwargs = arguments.structure.unflatten(operands)
    args = list(dynamic)
    for i, static in arguments.positional:
        args[i] = static.value
    return args, {**dynamic_kwargs, **{name: static.value for name, static in arguments.named}}


def static_numbers(options: Options, count: int) -> list[int]:
    """Return which of ``count`` positional arguments are static."""
    return sorted({i % count for i in options.static_argnums if -count <= i < count})


def _exact(function: Callable[..., Any], number_or_name: int | str, value: Any) -> Exact:
    """Return a static value as part of a key; raise ValueError for one without a hash, or a traced value."""
    try:
        static_key = Exact(value)
    except TypeError:
        problem = f"a {type(value).__name__}, which has no hash"
        fix = (
            "static arguments are remembered by value. Pass a tuple instead of a list, a frozen dataclass instead of "
            "a dict, or make the argument an ordinary one (arrays are never static)."
        )
    else:
        if not _holds_tracer(value):
            return static_key
        problem = f"a traced value, {value!r}, which has no number yet"
        fix = (
            "static arguments are known when a function is traced, and values of an enclosing jit, grad or vmap are "
            "not. Make it an ordinary argument (leave it out of static_argnums), or static in the enclosing jit, too."
        )
    name = (
        number_or_name
        if isinstance(number_or_name, str)
        else parameter_names(function, number_or_name + 1)[number_or_name]
    )
    raise ValueError(
        f"the static argument {name} of {name_of(function)} is {problem}{here()}: {fix}" + see("static-arguments")
    )


def _holds_tracer(value: Any) -> bool:
    if isinstance(value, Tracer):
        return True
    inside = parts(value)
    return inside is not None and any(map(_holds_tracer, inside))


def avals_of(function: Callable[..., Any], arguments: Arguments) -> tuple[ShapedArray, ...]:
    """Return the types of the operands; raise TypeError naming an argument that is not an array."""
    try:
        return tuple([aval_of(x) for x in arguments.operands])
    except TypeError:
        names = operand_names(function, arguments.structure)
        for name, x in zip(names, arguments.operands, strict=True):
            try:
                aval_of(x)
            except TypeError:
                static = "" if is_of_library(function) else _static_text(function, arguments, name)
                raise not_an_array(x, f"argument {name} of {name_of(function).lstrip('_')}", static) from None
        raise


def _static_text(function: Callable[..., Any], arguments: Arguments, name: str) -> str:
    """Return how an argument is made static: ``n static: jit(f, static_argnums=1)``; nothing for a part of one."""
    if not name.isidentifier():
        return ""
    positional = parameter_names(function, number_of_arguments(arguments.structure))
    which = f"static_argnums={positional.index(name)}" if name in positional else f"static_argnames={name!r}"
    called = name_of(function)
    return f"{name} static: jit({called if called.isidentifier() else 'f'}, {which})"


def donated(options: Options, arguments: Arguments) -> tuple[bool, ...]:
    """Return the mask of operands whose memory may be reused; () for none."""
    numbers, names = options.donate_argnums, options.donate_argnames
    if not numbers and not names:
        return ()
    dynamic, dynamic_kwargs = arguments.structure.unflatten([False] * len(arguments.operands))
    count = len(dynamic)
    donated_numbers = {i % count for i in numbers if -count <= i < count}
    marked = tuple(tree.map(lambda _, i=i: i in donated_numbers, x) for i, x in enumerate(dynamic))
    named = {k: tree.map(lambda _, k=k: k in names, v) for k, v in dynamic_kwargs.items()}
    return tuple(tree.leaves((marked, named)))


def complete_options(function: Callable[..., Any], options: Options) -> Options:
    """Complete static and donated arguments, given by number or by name, to both forms.

    Raises ValueError for a number or a name that the function does not have.
    """
    if not any(options[:4]):
        return options
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return options
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only_named = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    variable = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for role, numbers, by_name in (("static", *options[:2]), ("donate", *options[2:4])):
        wrong = [i for i in numbers if not variable and not -len(names) <= i < len(names)]
        if wrong:
            said = (
                f"jit of {name_of(function)}: {role}_argnums names argument {wrong[0]}, but the function has "
                f"{len(names)} positional argument{'' if len(names) == 1 else 's'}."
            )
            raise ValueError(compose_message(said, f"They count from 0: {_numbered(names)}."))
        unknown = [n for n in by_name if not anything and n not in names and n not in only_named]
        if unknown:
            said = (
                f"jit of {name_of(function)}: {role}_argnames names {unknown[0]!r}, but the arguments are "
                f"{', '.join([*names, *sorted(only_named)]) or 'none'}."
            )
            raise ValueError(compose_message(said, "Name one of these, as the function does."))
    static = _both_ways(names, *options[:2])
    donating = _both_ways(names, *options[2:4])
    return options._replace(
        static_argnums=static[0], static_argnames=static[1], donate_argnums=donating[0], donate_argnames=donating[1]
    )


def _both_ways(
    names: Sequence[str], numbers: tuple[int, ...], by_name: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    count = len(names)
    positions = {i % count if count and -count <= i < count else i for i in numbers}
    positions |= {names.index(n) for n in by_name if n in names}
    return tuple(sorted(positions)), tuple(sorted({*by_name, *(names[i] for i in positions if i < count)}))


def _numbered(names: Sequence[str]) -> str:
    """Return names with their numbers, for a message.

    >>> _format_numbered(["x", "n"])
    '0 is x, 1 is n'
    """
    return ", ".join(f"{number} is {name}" for number, name in enumerate(names)) or "there are none"
