"""Arguments of a jitted call: flat operands, static arguments, and donated memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import tree
from ...cache_keys import ExactValue, compared_members
from ...errors import see
from ...ir.avals import ShapedArray
from ...trace.provenance import describe_static_option
from ...trace.source import compose_message, here
from ...trace.tracer import TracerBase
from ...trace.values import aval_of, invalid_operand_error
from ...xla.compilation.compile_request import CompileOptions
from ..programs.function_names import (
    code_of,
    count_arguments,
    definition_text,
    name_of,
    operand_names,
    parameter_names,
)
from .retrace_reasons import is_of_library


class JitOptions(NamedTuple):
    """Options of one jitted function, as :func:`~xlascope.jit` takes them."""

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

    def with_compile_options(self, **changes: Any) -> JitOptions:
        """Return the options with changed :class:`~xlascope.xla.compilation.compile_request.CompileOptions`."""
        return self._replace(compile=self.compile._replace(**changes))


class CallArguments(NamedTuple):
    """Arguments of one call of a jitted function.

    ``operands`` are the leaves of the dynamic arguments. ``structure`` is the structure of ``(args, kwargs)``, with
    None in the place of static positional arguments. ``positional`` and ``named`` are the static arguments with their
    position or name.
    """

    operands: list[Any]
    structure: Any
    positional: tuple[tuple[int, ExactValue], ...]
    named: tuple[tuple[str, ExactValue], ...]


def split_arguments(
    function: Callable[..., Any], options: JitOptions, args: Sequence[Any], kwargs: dict[str, Any]
) -> CallArguments:
    """Return a call's arguments split into static values and operands, the leaves of all others.

    ``function`` is the jitted function, named in errors; ``options`` say which arguments are static. Raises ValueError
    for a static argument that has no hash or is a traced value.
    """
    if not options.static_argnums and not options.static_argnames:
        operands, structure = tree.flatten((tuple(args), kwargs))
        return CallArguments(operands, structure, (), ())
    static = static_numbers(options, len(args))
    names = set(options.static_argnames)
    positional = tuple([(i, _to_static_key(function, i, args[i])) for i in static])
    keyword = tuple([(k, _to_static_key(function, k, kwargs[k])) for k in sorted(names & kwargs.keys())])
    dynamic = tuple(None if i in static else x for i, x in enumerate(args))
    dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in names}
    operands, structure = tree.flatten((dynamic, dynamic_kwargs))
    return CallArguments(operands, structure, positional, keyword)


def merge_arguments(arguments: CallArguments, operands: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments of a call whose dynamic leaves are ``operands``.

    Static arguments are those of ``arguments``; it is the inverse of :func:`split_arguments`.
    """
    dynamic, dynamic_kwargs = arguments.structure.unflatten(operands)
    args = list(dynamic)
    for i, static in arguments.positional:
        args[i] = static.value
    return args, {**dynamic_kwargs, **{name: static.value for name, static in arguments.named}}


def static_numbers(options: JitOptions, count: int) -> list[int]:
    """Return the sorted indices of the static arguments among ``count`` positional ones."""
    return sorted({i % count for i in options.static_argnums if -count <= i < count})


def _to_static_key(function: Callable[..., Any], number_or_name: int | str, value: Any) -> ExactValue:
    """Return a static value as part of a cache key; raise ValueError if it has no hash or holds a traced value.

    ``number_or_name`` is the argument's position or name, for the message.
    """
    try:
        static_key = ExactValue(value)
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
    if isinstance(value, TracerBase):
        return True
    inside = compared_members(value)
    return inside is not None and any(map(_holds_tracer, inside))


def avals_of(function: Callable[..., Any], arguments: CallArguments) -> tuple[ShapedArray, ...]:
    """Return the types of a call's operands; raise TypeError, naming the argument, for one that is not an array."""
    try:
        return tuple([aval_of(x) for x in arguments.operands])
    except TypeError:
        names = operand_names(function, arguments.structure)
        for name, x in zip(names, arguments.operands, strict=True):
            try:
                aval_of(x)
            except TypeError:
                is_users = not is_of_library(function)
                static = _static_text(function, arguments, name) if is_users else ""
                definition = definition_text(function) if is_users else ""
                role = f"argument {name} of {name_of(function).lstrip('_')}"
                raise invalid_operand_error(x, role, static, definition=definition) from None
        raise


def _static_text(function: Callable[..., Any], arguments: CallArguments, name: str) -> str:
    """Return how to make an argument static, such as ``n static: jit(f, static_argnums=1)``.

    Returns an empty text if ``name`` is only a part of an argument, such as ``x[0]``.
    """
    if not name.isidentifier():
        return ""
    positional = parameter_names(function, count_arguments(arguments.structure))
    option = f"static_argnums={positional.index(name)}" if name in positional else f"static_argnames={name!r}"
    return describe_static_option(name, option, name_of(function), code_of(function))


def donation_mask(options: JitOptions, arguments: CallArguments) -> tuple[bool, ...]:
    """Return the mask of operands whose memory may be reused for results; () if the options donate none."""
    numbers, names = options.donate_argnums, options.donate_argnames
    if not numbers and not names:
        return ()
    dynamic, dynamic_kwargs = arguments.structure.unflatten([False] * len(arguments.operands))
    count = len(dynamic)
    donated_numbers = {i % count for i in numbers if -count <= i < count}
    positional = tuple(tree.map(lambda _, i=i: i in donated_numbers, x) for i, x in enumerate(dynamic))
    keyword = {k: tree.map(lambda _, k=k: k in names, v) for k, v in dynamic_kwargs.items()}
    return tuple(tree.leaves((positional, keyword)))


def complete_options(function: Callable[..., Any], options: JitOptions) -> JitOptions:
    """Return the options with static and donated arguments given both by position and by name.

    Users may give either. Raises ValueError for a position or a name that the function does not have.
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
            problem = (
                f"jit of {name_of(function)}: {role}_argnums names argument {wrong[0]}, but the function has "
                f"{len(names)} positional argument{'' if len(names) == 1 else 's'}."
            )
            raise ValueError(compose_message(problem, f"They count from 0: {_format_numbered(names)}."))
        unknown = [n for n in by_name if not anything and n not in names and n not in only_named]
        if unknown:
            problem = (
                f"jit of {name_of(function)}: {role}_argnames names {unknown[0]!r}, but the arguments are "
                f"{', '.join([*names, *sorted(only_named)]) or 'none'}."
            )
            raise ValueError(compose_message(problem, "Name one of these, as the function does."))
    static = _complete_numbers_and_names(names, *options[:2])
    donating = _complete_numbers_and_names(names, *options[2:4])
    return options._replace(
        static_argnums=static[0], static_argnames=static[1], donate_argnums=donating[0], donate_argnames=donating[1]
    )


def _complete_numbers_and_names(
    names: Sequence[str], numbers: tuple[int, ...], by_name: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the arguments given by position (``numbers``) or by name (``by_name``), all in both forms.

    ``names`` are the function's positional parameters.
    """
    count = len(names)
    positions = {i % count if count and -count <= i < count else i for i in numbers}
    positions |= {names.index(n) for n in by_name if n in names}
    return tuple(sorted(positions)), tuple(sorted({*by_name, *(names[i] for i in positions if i < count)}))


def _format_numbered(names: Sequence[str]) -> str:
    """Return names with their numbers, for a message.

    >>> _format_numbered(["x", "n"])
    '0 is x, 1 is n'
    """
    return ", ".join(f"{number} is {name}" for number, name in enumerate(names)) or "there are none"
