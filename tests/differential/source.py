"""A call as a program that runs with either library."""

from __future__ import annotations

import math
import re
from typing import Any

from .building import REFLECTED
from .holders import HOLDERS
from .language import Described, is_array


def line(call: dict[str, Described]) -> str:
    """The call as one expression, and how it is carried out."""
    how = f"  # under {call['how']}" if call["how"] != "eager" else ""
    return f"{_expression(call, _texts(call['args']))}{how}{'  # x64' if call['x64'] else ''}"


def _texts(values: list[Described]) -> list[str]:
    return [text(each) for each in values]


def _expression(call: dict[str, Described], args: list[str]) -> str:
    named = [f"{name}={text(value)}" for name, value in call["kwargs"].items()]
    function = call["function"]
    if not function.startswith("array."):
        return f"{_short(function)}({', '.join([*args, *named])})"
    name = function.removeprefix("array.")
    if name.startswith("at.") and len(args) > 1:
        return f"{args[0]}.at[{args[1]}]{name[2:]}({', '.join([*args[2:], *named])})"
    if name in REFLECTED and len(args) > 1:
        return f"reflected({args[1]}, {args[0]}, {name!r})"
    return f"{args[0]}.{name}({', '.join([*args[1:], *named])})"


def _short(path: str) -> str:
    return re.sub(r"^numpy\b", "jnp", path)


def text(value: Described) -> str:
    """A description as Python."""
    if isinstance(value, list):
        return f"[{', '.join(_texts(value))}]"
    if not isinstance(value, dict):
        return _number(value)
    ((tag, content),) = value.items()
    return _FORMS[tag](content)


def _number(value: Any) -> str:
    return repr(value) if not isinstance(value, float) or math.isfinite(value) else f'float("{value}")'


def _complex(ends: list[float]) -> str:
    return f"complex({_number(ends[0])}, {_number(ends[1])})"


def _array(content: dict[str, Any]) -> str:
    dtype, shape, holder = content["dtype"], content["shape"], content["holder"]
    entries = [_complex(each) if isinstance(each, list) else _number(each) for each in content["data"]]
    data = entries[0] if shape == [] and entries else f"[{', '.join(entries)}]"
    reshaped = f".reshape({tuple(shape)})" if len(shape) > 1 or 0 in shape else ""
    made = f"np.array({data}, {_dtype(dtype)}){reshaped}"
    wrapped = {
        "device": f"jnp.array({made})",
        "jax_array": f"holders.HasJaxArray(jnp.array({made}))",
        "numpy": made,
        "wide": f"library.enable_x64(True)(jnp.array)({made})",
    }
    return wrapped.get(holder) or f"{_holder(holder)}({made})"


def _dtype(name: str) -> str:
    known = re.fullmatch(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|U\d", name)
    return f'"{name}"' if known else f"ml_dtypes.{name}"


def _holder(name: str) -> str:
    function = HOLDERS[name]
    return {"fortran": "np.asfortranarray", "memoryview": "memoryview"}.get(name, f"holders.{function.__name__}")


def _make(content: dict[str, Any]) -> str:
    named = [f"{name}={text(each)}" for name, each in content.get("kwargs", {}).items()]
    return f"{_short(content['attribute'])}({', '.join([*_texts(content.get('args', [])), *named])})"


def _key(content: dict[str, Any]) -> str:
    return f"random.{'key' if content['typed'] else 'PRNGKey'}({content['seed']})"


_FORMS: dict[str, Any] = {
    "array": _array,
    "tuple": lambda items: f"({', '.join(_texts(items))}{',' if len(items) == 1 else ''})",
    "dict": lambda items: f"{{{', '.join(f'{text(name)}: {text(value)}' for name, value in items)}}}",
    "slice": lambda ends: f"slice({', '.join(_texts(ends))})",
    "complex": _complex,
    "ellipsis": lambda _: "...",
    "object": lambda _: "object()",
    "set": lambda items: f"{{{', '.join(_texts(items))}}}",
    "range": lambda ends: f"range({', '.join(_texts(ends))})",
    "bytes": lambda content: repr(content.encode()),
    "dtype": lambda name: f"jnp.dtype({_dtype(name)})",
    "type": lambda name: name,
    "numpy_type": lambda name: f"np.{name}",
    "attribute": _short,
    "function": lambda name: f"programs.{name}(library)",
    "key": _key,
    "make": _make,
    "weak": lambda content: f"jnp.full({tuple(content['shape'])}, {_number(content['value'])})",
    "treedef": lambda content: f"tree_util.tree_structure({text(content)})",
}
_BEGINNING = """\
import importlib, operator, sys

import ml_dtypes
import numpy as np

from tests.differential import holders, programs, sparse_arrays
from tests.differential.building import REFLECTED


def reflected(x, y, name):
    return REFLECTED[name](x, y)


library = importlib.import_module(sys.argv[1])
jnp, lax, nn, random, tree, tree_util, ops, dtypes, scipy, image, *_ = (
    importlib.import_module(f"{sys.argv[1]}.{name}")
    for name in ("numpy", "lax", "nn", "random", "tree", "tree_util", "ops", "dtypes", "scipy", "image")
    + ("scipy.optimize", "scipy.spatial.transform", "experimental.sparse")
)
experimental = library.experimental
"""
_END = (
    "print(type(result), result, getattr(result, 'dtype', ''), getattr(getattr(result, 'aval', ''), 'weak_type', ''))"
)


def _is_operand(value: Described) -> bool:
    """Whether a program takes it, under transformations too: an array, or a sparse one."""
    made = value["make"]["attribute"] if isinstance(value, dict) and "make" in value else ""
    return is_array(value) or made.startswith("experimental.sparse.")


def program(call: dict[str, Described]) -> str:
    """A program for the repository's root: ``python - xlascope < program``, ``python - jax < program``."""
    arrays = {f"x{place}": each for place, each in enumerate(call["args"]) if _is_operand(each)}
    args = [f"x{place}" if _is_operand(each) else text(each) for place, each in enumerate(call["args"])]
    function = f"lambda {', '.join(arrays)}: {_expression(call, args)}"
    around = {
        "eager": f"({function})",
        "jit": f"library.jit({function})",
        "grad": f"(lambda *operands: sparse_arrays.gradient(library, {function}, operands))",
        "vmap": f'library.vmap({function}, axis_name="i", axis_size={None if arrays else 2})',
    }
    lines = [
        _BEGINNING,
        *(['library.config.update("jax_enable_x64", True)'] if call["x64"] else []),
        *(f"{name} = {text(each)}" for name, each in arrays.items()),
        f"result = {around[call['how']]}({', '.join(arrays)})",
        _END,
    ]
    return "\n".join(lines) + "\n"
