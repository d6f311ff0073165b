"""The composite operation: a function that a compiler may recognize by name, with a decomposition as fallback."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import tree
from ...cache_keys import cache_key
from ...errors import UnexpectedTracerError
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...lru_cache import LRUCache, get_or_create
from ...operations.integer_arguments import whole_number
from ...trace.bind import bind
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import TracerBase
from .call import CallOperation, JitCall, get_call_operation
from .function_names import copy_function_metadata, name_of
from .function_staging import get_body
from .values import operand_aval

_MAX_FUNCTIONS, _MAX_ATTRIBUTE_SETS_PER_FUNCTION = 256, 64
#: Names of composites that StableHLO accepts.
_NAME_PATTERN = re.compile(r"[a-zA-Z]\w*([.][\w$]+)+", re.ASCII)
_MAX_VERSION = 2**31 - 1


class Composite(CallOperation, name="composite", by_identity=True):
    """Operation that returns the results of a program, with a name, attributes and a version for the compiler.

    A compiler that knows the name (``label``) may compute it in its own way. Derivatives and ``vmap`` of it are
    ordinary calls without that name.
    """

    label: str
    attributes: dict[str, Any]
    version: int

    linearize_rule = JitCall.linearize_rule
    as_single_program = JitCall.as_single_program

    @property
    def params(self) -> dict[str, Any]:
        flat_attributes = {key: tree.flatten(value) for key, value in self.attributes.items()}
        return {
            "attributes": tuple(
                (key, tuple(leaves), structure) for key, (leaves, structure) in flat_attributes.items()
            ),
            "jaxpr": self.jaxpr,
            "name": self.label,
            "version": self.version,
        }

    def with_program(self, program: ClosedJaxpr) -> Operation:
        return get_call_operation(program)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_composite(  # type: ignore[no-any-return]
            self.jaxpr, operands, self.label, self.attributes, self.version
        )


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return a function that computes ``decomposition`` and is compiled as one operation with that name.

    A compiler that knows ``name`` and ``version`` may compute it in its own way; every other one uses the
    decomposition, as XLA does on CPUs. Positional arguments (trees of arrays) are the operands, keyword arguments the
    attributes: numbers, text, dtypes, NumPy arrays, and lists and dictionaries of these; None is left out. Under
    ``vmap`` and derivatives, which jax refuses, it is its decomposition.

    Raises TypeError if ``decomposition`` is not a function, ``name`` not a text, ``version`` not a whole number, or
    an attribute of another type; ValueError for a name without a dot; and UnexpectedTracerError if the decomposition
    closes over a traced value, which has to be an argument.

    >>> import xlascope as xs
    >>> from xlascope import lax
    >>> tangent = lax.composite(lambda x: lax.sin(x) / lax.cos(x), name="my.tangent")
    >>> print(tangent(0.0), xs.grad(tangent)(0.0))
    0.0 1.0
    """
    if not callable(decomposition):
        raise TypeError(f"composite takes a function, not {decomposition!r}{here()}")
    if not isinstance(name, str):
        raise TypeError(f"composite: name is text, got {name!r}{here()}")
    if not _NAME_PATTERN.fullmatch(name):
        raise ValueError(
            f"composite: name is names with dots between them ('my.tangent') of letters, digits and underscores, a "
            f"letter in front; got {name!r}{here()}"
        )
    number = whole_number(version, "version of composite")
    if not 0 <= number <= _MAX_VERSION:
        raise ValueError(f"composite: version is a number from 0 to {_MAX_VERSION}, got {number}{here()}")

    @copy_function_metadata(decomposition)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        attributes = {key: value for key, value in kwargs.items() if value is not None}
        for key, value in attributes.items():
            _check_attribute(name, key, value)
        function, attributes_key = _bind_attributes(decomposition, kwargs)
        leaves, structure = tree.flatten((args, {}))
        avals = [operand_aval(f"an argument of composite {name}", x) for x in leaves]
        body = get_body(function, structure, avals)
        if any(isinstance(c, TracerBase) for c in body.consts):
            raise UnexpectedTracerError(
                f"composite {name}: the decomposition ({name_of(decomposition)}) closes over a value that is "
                f"traced{here()}: give it as a positional argument"
            )
        operation = _get_operation(body.program_with_const_operands, name, attributes, number, attributes_key)
        return body.structure.unflatten(bind(operation, *body.consts, *leaves))

    return call


class _DecompositionWithAttributes:
    """Decomposition with bound attributes, called with the tuple of positional arguments and an empty dictionary."""

    def __init__(self, function: Callable[..., Any], attributes: dict[str, Any]) -> None:
        self.function = function
        self.attributes = attributes
        self.__name__ = name_of(function)

    def __call__(self, args: Any, _: Any) -> Any:
        return self.function(*args, **self.attributes)


_decompositions: weakref.WeakKeyDictionary[Callable[..., Any], LRUCache[Any, _DecompositionWithAttributes]] = (
    weakref.WeakKeyDictionary()
)


def _bind_attributes(
    function: Callable[..., Any], attributes: dict[str, Any]
) -> tuple[_DecompositionWithAttributes, Any]:
    """Return the decomposition with bound attributes, cached by their values, and the attributes' cache key.

    The key is None if the attributes or the function cannot be cached.
    """
    try:
        key = tuple([(name, cache_key(value)) for name, value in attributes.items()])
        cache = get_or_create(
            _decompositions, function, lambda: LRUCache(_MAX_ATTRIBUTE_SETS_PER_FUNCTION), _MAX_FUNCTIONS
        )
    except TypeError:  # an attribute without a hash, or a function that cannot be weakly referenced
        return _DecompositionWithAttributes(function, attributes), None
    bound = cache.get(key)
    if bound is None:
        bound = cache[key] = _DecompositionWithAttributes(function, attributes)
    return bound, key


def _get_operation(
    program: ClosedJaxpr, name: str, attributes: dict[str, Any], version: int, attributes_key: Any
) -> Composite:
    """Return the composite operation of a program, one object for the same name, version and ``attributes_key``.

    With ``attributes_key`` None it is a new object.
    """
    if attributes_key is None:
        return Composite(program, name, attributes, version)
    key = ("composite", name, version, attributes_key)
    composite_operation = program.derived.get(key)
    if composite_operation is None:
        composite_operation = program.derived[key] = Composite(program, name, attributes, version)
    return composite_operation


def _check_attribute(name: str, key: str, value: Any) -> None:
    for leaf in tree.leaves(value):
        fits = isinstance(leaf, (bool, int, float, str, np.ndarray, np.bool_, np.integer, np.floating, np.dtype))
        if not fits and not (isinstance(leaf, type) and issubclass(leaf, np.generic)):
            raise TypeError(
                f"composite {name}: attributes are numbers, text, dtypes and NumPy arrays, got {key} of type "
                f"{type(leaf).__name__}{here()}. Give what is computed as a positional argument"
            )
