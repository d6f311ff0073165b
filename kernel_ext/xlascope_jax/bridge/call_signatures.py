"""Signatures of calls of jax's functions, by which the program that a call runs is found again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jax import tree_util
from jax._src import core
from jax._src import tree_util as internal_tree_util
from jax._src.lib import jax_jit

from xlascope.inspect.running.program_reader import ArgumentPath, ArgumentStep, static_value, steps_of, type_of


class CallSignature(NamedTuple):
    """Signature of a call: jaxlib's of its structure and static arguments, and the types of the others."""

    structure: Any
    types: tuple[Any, ...]


class TracedArguments(NamedTuple):
    """Arguments of a call that was traced: its signature, and the types of the arguments by path."""

    signature: CallSignature
    types: Mapping[ArgumentPath, Any]


def signature_of(info: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallSignature:
    """Return the signature of a call of a function with jax's description ``info`` of its options."""
    names, values = tuple(kwargs), tuple(kwargs.values())
    options = info.static_argnums, info.static_argnames, internal_tree_util.tracing_registry
    structure, operands = jax_jit.parse_arguments(tuple(args), values, names, *options)
    return CallSignature(structure, tuple(type_of(core.shaped_abstractify(x)) for x in operands))


def describe_arguments(info: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TracedArguments:
    """Return the signature of a call that is traced, with the types of its arguments."""
    return TracedArguments(signature_of(info, args, kwargs), dict(_iter_types(info, args, kwargs)))


def _iter_types(info: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[ArgumentPath, Any]]:
    static = {number % len(args) for number in info.static_argnums if -len(args) <= number < len(args)}
    positional = [
        ((ArgumentStep(0), ArgumentStep(number)), value, number in static) for number, value in enumerate(args)
    ]
    named = [
        ((ArgumentStep(1), ArgumentStep(name)), value, name in info.static_argnames) for name, value in kwargs.items()
    ]
    for path, value, is_static in (*positional, *named):
        if is_static:
            yield path, static_value(value)
            continue
        for keys, leaf in tree_util.tree_leaves_with_path(value):
            steps = steps_of(keys)
            if steps is not None:
                yield (*path, *steps), type_of(leaf)
