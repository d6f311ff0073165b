"""The program of a process that holds one library: ``python -m tests.differential.worker xlascope``.

Requests come as lines of JSON on the standard input, each answer leaves as a line as soon as it is known: so a call
that kills the process is the one that has no answer.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import re
import resource
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from . import answers, faults, library, sparse_arrays
from .building import OPERATORS, REFLECTED, Builder
from .language import is_array

#: An argument that asks for more than this is refused memory, not the machine.
MOST_MEMORY = 8 << 30
#: Two members of an axis, where a call runs under ``vmap`` with one.
AXIS = "i"


class Performer:
    """Performs calls of one library."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.holders = (type(module.numpy.zeros(1)), module.Array)

    def perform(self, call: dict[str, Any]) -> dict[str, Any]:
        """The answer to one call."""
        builder, stage = Builder(self.module), "arguments"
        try:
            with self.module.enable_x64(call["x64"]), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function, args, kwargs = self._prepared(call, builder)
                stage = "call"
                result = self._carried_out(call, function, args, kwargs)
                return self._answer(result, builder)
        except (Exception, SystemExit) as error:
            return answers.error_of(error, stage)

    def _answer(self, result: Any, builder: Builder) -> dict[str, Any]:
        result = sparse_arrays.shown(result)
        answer = answers.answer_of(result, self.module, self.holders)
        for made in builder.made:
            if made.flags.writeable and made.size:
                made.view(np.uint8 if made.flags.c_contiguous and made.ndim else made.dtype)[...] = 1
        if builder.made and answers.answer_of(result, self.module, self.holders) != answer:
            answer["alias"] = True
        return answer

    def _prepared(self, call: dict[str, Any], builder: Builder) -> tuple[Any, list[Any], dict[str, Any]]:
        function = self.function(call["function"], builder)
        args = builder.build(call["args"])
        return function, args, {name: builder.build(value) for name, value in call["kwargs"].items()}

    def function(self, name: str, builder: Builder) -> Any:
        """What is called, by its name."""
        if not name.startswith("array."):
            return builder.attribute(name)
        name = name.removeprefix("array.")
        if name.startswith("at."):
            return lambda x, index, *args, **kwargs: getattr(x.at[index], name[3:])(*args, **kwargs)
        if name in OPERATORS:
            return OPERATORS[name]
        if name in REFLECTED:
            return lambda x, y: REFLECTED[name](y, x)
        return lambda x, *args, **kwargs: _used(getattr(x, name), args, kwargs)

    def _carried_out(self, call: dict[str, Any], function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self._ready(call, function, args, kwargs)()

    def _ready(self, call: dict[str, Any], function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What carries the call out, each time that it is called."""
        if call["how"] == "eager":
            return lambda: function(*args, **kwargs)
        traced = [
            place
            for place, each in enumerate(call["args"])
            if (is_array(each) or sparse_arrays.is_sparse(args[place])) and self._can_be_traced(args[place])
        ]
        operands = [args[place] for place in traced]

        def program(*values: Any) -> Any:
            given = list(args)
            for place, value in zip(traced, values, strict=True):
                given[place] = value
            return function(*given, **kwargs)

        if call["how"] == "grad":
            return lambda: sparse_arrays.gradient(self.module, program, operands)
        if call["how"] == "jit":
            transformed = self.module.jit(program)
        else:
            transformed = self.module.vmap(program, axis_name=AXIS, axis_size=None if operands else 2)
        return lambda: transformed(*operands)

    def _can_be_traced(self, value: Any) -> bool:
        known = isinstance(value, (*self.holders, np.ndarray)) or sparse_arrays.is_sparse(value)
        return known and not isinstance(value, np.ma.MaskedArray)

    def equations(self, call: dict[str, Any]) -> dict[str, Any]:
        """How many operations a call is made of, those that only move or convert aside."""
        builder = Builder(self.module)
        try:
            with self.module.enable_x64(call["x64"]), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function, args, kwargs = self._prepared(call, builder)
                return {"count": self._count(function, args, kwargs)}
        except Exception as error:
            return answers.error_of(error, "counting")

    def traces(self, call: dict[str, Any]) -> dict[str, Any]:
        """What a call is traced to, by itself and transformed, again and again: plans are made the second time and
        taken from then on.
        """
        builder = Builder(self.module)
        try:
            with self.module.enable_x64(call["x64"]), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function, args, kwargs = self._prepared(call, builder)
                answer = {name: self._traced(each, function, args, kwargs) for name, each in TRANSFORMED.items()}
                return {
                    **answer,
                    "by name": self._traced(TRANSFORMED["itself"], function, *_named(function, args, kwargs)),
                }
        except (Exception, SystemExit) as error:
            return answers.error_of(error, "arguments")

    def repeated(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return what the third of three equal calls traces, lowers and compiles, by the names of its records.

        What is jitted is one function, called three times.
        """
        builder = Builder(self.module)
        try:
            with self.module.enable_x64(call["x64"]), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function, args, kwargs = self._prepared(call, builder)
                carried_out = self._ready(call, function, args, kwargs)
                carried_out()
                carried_out()
                seen: list[Any] = []
                with importlib.import_module(f"{self.module.__name__}.records").watch(seen.append):
                    carried_out()
                return {"made": [each.__class__.__name__ for each in seen if each.__class__.__name__ in MADE]}
        except (Exception, SystemExit) as error:
            return answers.error_of(error, "call")

    def _traced(self, transformed: Any, function: Any, args: list[Any], kwargs: dict[str, Any]) -> list[str]:
        """The texts of some traces in a row; of one that fails the error."""
        places = [f"{place}" for place in range(len(args))]
        given = dict(zip(places, args, strict=True)) | kwargs
        traced = {place: value for place, value in given.items() if self._can_be_traced(value)}
        texts = []
        for _ in range(TRACES):

            def program(arrays: dict[Any, Any]) -> Any:
                now = given | arrays
                return function(*[now.pop(place) for place in places], **now)

            try:
                texts.append(str(transformed(self.module, program, traced)))
            except Exception as error:
                texts.append(re.sub(r"0x[0-9a-f]+", "0x…", f"{type(error).__name__}: {error}"))
        return texts

    def _count(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> int:
        traced = [place for place, each in enumerate(args) if self._can_be_traced(each)]

        def program(*values: Any) -> Any:
            given = list(args)
            for place, value in zip(traced, values, strict=True):
                given[place] = value
            return function(*given, **kwargs)

        jaxpr = self.module.make_jaxpr(program)(*[args[place] for place in traced])
        return sum(name not in MOVES for name in _operations(jaxpr.jaxpr))


#: The records of what a call makes before it runs.
MADE = {"Traced", "Lowered", "Compiled"}
#: How often a call is traced.
TRACES = 4
#: How it is traced.
TRANSFORMED = {
    "itself": lambda xs, program, arrays: xs.make_jaxpr(program)(arrays),
    "vmap": lambda xs, program, arrays: xs.make_jaxpr(xs.vmap(program))(
        xs.tree.map(lambda x: xs.numpy.stack([x, x]), arrays)
    ),
    "vjp": lambda xs, program, arrays: xs.make_jaxpr(lambda given: xs.vjp(program, given)[1](program(given)))(arrays),
    "vmap of jvp": lambda xs, program, arrays: xs.make_jaxpr(
        xs.vmap(lambda given: xs.jvp(program, (given,), (given,)))
    )(xs.tree.map(lambda x: xs.numpy.stack([x, x]), arrays)),
}

#: Operations that compute nothing.
MOVES = {
    *("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "copy", "copy_p", "constant"),
    *("convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose"),
}


def _named(function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The last of several arguments by place, by its name."""
    with contextlib.suppress(TypeError, ValueError):
        parameters = list(inspect.signature(function).parameters.values())
        last = len(args) - 1
        if 0 < last < len(parameters) and parameters[last].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            return args[:-1], {parameters[last].name: args[-1], **kwargs}
    return args, kwargs


def _operations(jaxpr: Any) -> list[str]:
    names = []
    for equation in jaxpr.eqns:
        names.append(equation.primitive.name)
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", None)
            if inner is not None and hasattr(inner, "eqns"):
                names += _operations(inner)
    return names


def _used(found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method's result; of a property the value itself."""
    if args or kwargs or (callable(found) and not hasattr(found, "dtype") and not isinstance(found, np.dtype)):
        return found(*args, **kwargs)
    return found


def _own_channel() -> Any:
    """The standard output for answers alone: what anybody else prints goes to the standard error."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return channel


def main(name: str, *planted: str) -> None:
    """Answer requests until there are no more."""
    channel = _own_channel()
    if name != "jax":
        sys.modules["jax"] = None  # type: ignore[assignment]  # jaxlib would import it to hold a bfloat16
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    module = importlib.import_module(name)
    if name in ("jax", "xlascope"):
        library.load(module)
    performer = Performer(module)
    for fault in planted:
        faults.plant(fault, module)
    for line in sys.stdin:
        request = json.loads(line)
        for call in request["calls"]:
            channel.write(json.dumps(_reply(request["what"], call, performer)) + "\n")


def _reply(what: str, call: dict[str, Any], performer: Performer) -> dict[str, Any]:
    if what == "list":
        return library.listed(performer.module)
    if what == "traces":
        return performer.traces(call)
    if what == "repeated":
        return performer.repeated(call)
    if what == "equations":
        return performer.equations(call)
    return performer.perform(call)


if __name__ == "__main__":
    main(*sys.argv[1:])
