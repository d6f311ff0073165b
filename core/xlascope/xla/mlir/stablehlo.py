"""StableHLO, whoever wrote it: read and checked, told as text, and what its names and types say, as plain data.

Nothing here needs the engine: programs of others are read in a process in which it never starts.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, func, sdy, stablehlo  # noqa: F401  (importing registers their operations)

#: How operations are named in an artifact that other versions of StableHLO can read.
_PORTABLE = "vhlo."
_MAIN = "main"
#: The file that MLIR says an operation is from when it was read from text that does not say.
_TEXT = "-"


class StableHLOError(ValueError):
    """What was given is no program in StableHLO; the message is one line."""


class Named(NamedTuple):
    """An operation by the name that XLA will give it (calls in front), and its line (``""`` and 0 if unknown)."""

    name: str
    file: str
    line: int


class Argument(NamedTuple):
    """An argument of a program; ``name`` is ``""`` where nobody gave it one."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class StableHLO(NamedTuple):
    """A program: the module as bytecode, its name, its arguments, and how many times it calls Python."""

    module: bytes
    name: str
    arguments: tuple[Argument, ...]
    callbacks: int


def new_context() -> Any:
    """An MLIR context with the dialects loaded."""
    made = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    stablehlo.register_dialect(made)
    chlo.register_dialect(made)
    sdy.register_dialect(made)
    return made


def read_stablehlo(given: bytes | str) -> StableHLO:
    """Read text, MLIR bytecode or a portable artifact; raises :class:`StableHLOError` for what is none.

    >>> text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    >>> read_stablehlo(text)[1:]
    ('main', (Argument(name='', shape=(4,), dtype='float32'),), 0)
    >>> read_stablehlo("HloModule f")
    Traceback (most recent call last):
    xlascope.xla.mlir.stablehlo.StableHLOError: this is no StableHLO: line 1, column 1: ... is unknown ...
    """
    module = _parsed(given)
    main = _functions(module).get(_MAIN)
    if main is None or not main.regions[0].blocks:
        raise StableHLOError(f"this is no program in StableHLO: the module has no function {_MAIN!r} with a body")
    name = module.operation.attributes["sym_name"].value if "sym_name" in module.operation.attributes else _MAIN
    arguments = tuple(_argument(each) for each in main.regions[0].blocks[0].arguments)
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return StableHLO(out.getvalue(), name, arguments, sum(map(_calls_python, _all(module.operation))))


def stablehlo_text(module: bytes) -> str:
    """A module as text, with the names of equations and the user's lines as locations."""
    return str(_parsed(module).operation.get_asm(enable_debug_info=True))


def named_operations(module: bytes) -> Iterator[Named]:
    """The operations that run, by the names that XLA gives them: those of calls stand in front of those of callees."""
    parsed = _parsed(module)  # its operations live as long as it does
    functions = _functions(parsed)
    yield from _named(functions[_MAIN], functions, "", ())


def _parsed(given: bytes | str) -> Any:
    try:
        module = ir.Module.parse(given, new_context())
        if any(each.operation.name.startswith(_PORTABLE) for each in module.body.operations):
            return stablehlo.deserialize_portable_artifact(new_context(), given)
        return module
    except ir.MLIRError as error:
        raise StableHLOError(f"this is no StableHLO: {_complaint(str(error))}") from None
    except (TypeError, ValueError, RuntimeError) as error:  # no bytes or text; names that are none
        raise StableHLOError(f"this is no StableHLO, which is bytes or text: {_line(str(error))}") from None


def _complaint(text: str) -> str:
    """MLIR's first error, in one line, with the place as people count."""
    first = next((line for line in text.splitlines() if line.startswith("error:")), text)
    found = re.match(r'error: (?:"-"|loc\(unknown\)|unknown)(?::(\d+):(\d+))?: ?(.*)', first)
    if found is None:
        return _line(first.removeprefix("error: "))
    line, column, words = found.groups()
    return _line(f"line {line}, column {column}: {words}" if line and line != "0" else words)


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300] or "it is empty"


def _functions(module: Any) -> dict[str, Any]:
    operations = (each.operation for each in module.body.operations)
    return {each.attributes["sym_name"].value: each for each in operations if each.name == "func.func"}


def _all(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for each in block.operations:
                yield each.operation
                yield from _all(each.operation)


def _calls_python(operation: Any) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    return "python" in operation.attributes["call_target_name"].value


def _argument(given: Any) -> Argument:
    name, *_ = _place(given.location)
    if not isinstance(given.type, ir.ShapedType):  # a token
        return Argument(name, (), str(given.type))
    return Argument(name, tuple(given.type.shape), _dtype(str(given.type.element_type)))


def _dtype(element: str) -> str:
    """An element type by NumPy's name.

    >>> _dtype("f32"), _dtype("ui8"), _dtype("i1"), _dtype("bf16"), _dtype("complex<f32>"), _dtype("f8E4M3FN")
    ('float32', 'uint8', 'bool', 'bfloat16', 'complex64', 'float8_e4m3fn')
    """
    if element == "i1":
        return "bool"
    if found := re.fullmatch(r"complex<f(\d+)>", element):
        return f"complex{2 * int(found[1])}"
    if found := re.fullmatch(r"f8(\w+)", element):
        return f"float8_{found[1].lower()}"
    kind, bits = re.fullmatch(r"([a-z]*)(.*)", element).groups()  # type: ignore[union-attr]  # it matches anything
    return {"f": "float", "bf": "bfloat", "ui": "uint", "i": "int"}.get(kind, kind) + bits


def _named(function: Any, functions: dict[str, Any], prefix: str, calling: tuple[str, ...]) -> Iterator[Named]:
    for each in _all(function):
        name, file, line = _place(each.location)
        if not name:
            continue
        whole = f"{prefix}/{name}" if prefix else name
        yield Named(whole, file, line)
        callee = each.attributes["callee"].value if each.name == "func.call" else ""
        if callee in functions and callee not in calling:
            yield from _named(functions[callee], functions, whole, (*calling, callee))


_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"(:\d+)?')
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+)')


def _place(location: Any) -> tuple[str, str, int]:
    """The name in a location, and the innermost line."""
    text = str(location)
    named, placed = _NAME.search(text), _FILE.search(text)
    name = named[1] if named is not None and named[2] is None else ""
    if placed is None or placed[1] == _TEXT:
        return name, "", 0
    return name, placed[1], int(placed[2])
