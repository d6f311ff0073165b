"""Reader of StableHLO programs from any source: checks, text, and operations' names and types as plain data.

It is independent of the engine: programs of jax are read in a process in which the engine never starts.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, func, sdy, stablehlo  # noqa: F401  (importing registers their operations)

#: The prefix of operations in a portable artifact, which other versions of StableHLO can read.
_PORTABLE_PREFIX = "vhlo."
_MAIN = "main"
#: MLIR's file name for operations that were read from text without locations.
_TEXT_SOURCE_FILE = "-"


class StableHLOError(ValueError):
    """Error for input that is not a StableHLO program; the message is one line."""


class NamedOperation(NamedTuple):
    """Name that XLA gives to an operation, with those of calls in front, and its line (``""`` and 0 if unknown)."""

    name: str
    file: str
    line: int


class ProgramArgument(NamedTuple):
    """Argument of a program; ``name`` is ``""`` if it has none."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class StableHLOProgram(NamedTuple):
    """StableHLO program: the module as bytecode, its name, its arguments, and how many calls of Python are in it."""

    module: bytes
    name: str
    arguments: tuple[ProgramArgument, ...]
    callbacks: int


def new_context() -> Any:
    """Create an MLIR context with the dialects of XLA's input loaded: StableHLO, CHLO, Shardy, func and others."""
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    sdy.register_dialect(context)
    return context


def read_stablehlo(source: bytes | str) -> StableHLOProgram:
    """Read text, MLIR bytecode or a portable artifact; raises :class:`StableHLOError` for other input.

    >>> text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    >>> read_stablehlo(text)[1:]
    ('main', (ProgramArgument(name='', shape=(4,), dtype='float32'),), 0)
    >>> read_stablehlo("HloModule f")
    Traceback (most recent call last):
    xlascope.xla.mlir.stablehlo_reader.StableHLOError: this is no StableHLO: line 1, column 1: ... is unknown ...
    """
    module = _parse_module(source)
    main = _functions_by_name(module).get(_MAIN)
    if main is None or not main.regions[0].blocks:
        raise StableHLOError(f"this is no program in StableHLO: the module has no function {_MAIN!r} with a body")
    name = module.operation.attributes["sym_name"].value if "sym_name" in module.operation.attributes else _MAIN
    arguments = tuple(_read_argument(argument) for argument in main.regions[0].blocks[0].arguments)
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return StableHLOProgram(
        out.getvalue(), name, arguments, sum(map(_is_python_callback, _walk_operations(module.operation)))
    )


def stablehlo_text(module: bytes) -> str:
    """Return a module as text, with the names of equations and the user's lines as locations."""
    return str(_parse_module(module).operation.get_asm(enable_debug_info=True))


def named_operations(module: bytes) -> Iterator[NamedOperation]:
    """Yield the operations of a module under the names that XLA gives them when it inlines calls.

    ``module`` is bytecode. The name of a call comes before the names in the function that it calls, which are yielded
    once for each call. Operations without a name are left out.
    """
    parsed = _parse_module(module)  # keeps its operations alive
    functions = _functions_by_name(parsed)
    yield from _walk_named(functions[_MAIN], functions, "", ())


def _parse_module(source: bytes | str) -> Any:
    """Parse text, MLIR bytecode or a portable artifact in a new context; raises StableHLOError for other input."""
    try:
        module = ir.Module.parse(source, new_context())
        if any(operation.operation.name.startswith(_PORTABLE_PREFIX) for operation in module.body.operations):
            return stablehlo.deserialize_portable_artifact(new_context(), source)
        return module
    except ir.MLIRError as error:
        raise StableHLOError(f"this is no StableHLO: {_mlir_error_text(str(error))}") from None
    except (TypeError, ValueError, RuntimeError) as error:  # not bytes or text; invalid names
        raise StableHLOError(f"this is no StableHLO, which is bytes or text: {_single_line(str(error))}") from None


def _mlir_error_text(text: str) -> str:
    """Return MLIR's first error in one line, with line and column."""
    first = next((line for line in text.splitlines() if line.startswith("error:")), text)
    match = re.match(r'error: (?:"-"|loc\(unknown\)|unknown)(?::(\d+):(\d+))?: ?(.*)', first)
    if match is None:
        return _single_line(first.removeprefix("error: "))
    line, column, message = match.groups()
    return _single_line(f"line {line}, column {column}: {message}" if line and line != "0" else message)


def _single_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300] or "it is empty"


def _functions_by_name(module: Any) -> dict[str, Any]:
    operations = (op.operation for op in module.body.operations)
    return {op.attributes["sym_name"].value: op for op in operations if op.name == "func.func"}


def _walk_operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _walk_operations(view.operation)


def _is_python_callback(operation: Any) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    return "python" in operation.attributes["call_target_name"].value


def _read_argument(argument: Any) -> ProgramArgument:
    name, *_ = _name_and_line(argument.location)
    if not isinstance(argument.type, ir.ShapedType):  # a token
        return ProgramArgument(name, (), str(argument.type))
    return ProgramArgument(name, tuple(argument.type.shape), _numpy_dtype_name(str(argument.type.element_type)))


def _numpy_dtype_name(element: str) -> str:
    """Return NumPy's name of an element type.

    >>> _numpy_dtype_name("f32"), _numpy_dtype_name("ui8"), _numpy_dtype_name("i1"), _numpy_dtype_name("bf16")
    ('float32', 'uint8', 'bool', 'bfloat16')
    >>> _numpy_dtype_name("complex<f32>"), _numpy_dtype_name("f8E4M3FN")
    ('complex64', 'float8_e4m3fn')
    """
    if element == "i1":
        return "bool"
    if match := re.fullmatch(r"complex<f(\d+)>", element):
        return f"complex{2 * int(match[1])}"
    if match := re.fullmatch(r"f8(\w+)", element):
        return f"float8_{match[1].lower()}"
    kind, bits = re.fullmatch(r"([a-z]*)(.*)", element).groups()  # type: ignore[union-attr]  # it matches anything
    return {"f": "float", "bf": "bfloat", "ui": "uint", "i": "int"}.get(kind, kind) + bits


def _walk_named(
    function: Any, functions: dict[str, Any], prefix: str, call_stack: tuple[str, ...]
) -> Iterator[NamedOperation]:
    """Yield the named operations of a function and of the functions that it calls.

    ``functions`` are the module's by symbol, ``prefix`` is the name of the call that led here (``""`` for none), and
    ``call_stack`` has the symbols of the calls around, which are not entered again.
    """
    for operation in _walk_operations(function):
        name, file, line = _name_and_line(operation.location)
        if not name:
            continue
        full_name = f"{prefix}/{name}" if prefix else name
        yield NamedOperation(full_name, file, line)
        callee = operation.attributes["callee"].value if operation.name == "func.call" else ""
        if callee in functions and callee not in call_stack:
            yield from _walk_named(functions[callee], functions, full_name, (*call_stack, callee))


_NAME_PATTERN = re.compile(r'"((?:[^"\\]|\\.)*)"(:\d+)?')
_FILE_PATTERN = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+)')


def _name_and_line(location: Any) -> tuple[str, str, int]:
    """Return the name in an MLIR location, and its innermost file and line; ``""``, ``""`` and 0 if there are none."""
    text = str(location)
    name_match, file_match = _NAME_PATTERN.search(text), _FILE_PATTERN.search(text)
    name = name_match[1] if name_match is not None and name_match[2] is None else ""
    if file_match is None or file_match[1] == _TEXT_SOURCE_FILE:
        return name, "", 0
    return name, file_match[1], int(file_match[2])
