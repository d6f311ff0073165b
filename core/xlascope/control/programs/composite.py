"""The composite operation: a function that a compiler may recognize by name, with a decomposition as fallback."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import tree
from ...errors import UnexpectedTracerError
from ...ir.jaxpr import ClosedJaxpr
from ...ir.operation import Operation
from ...keys import key_of
from ...operations.whole_numbers import whole_number
from ...recent import RecentlyUsed, kept_with
from ...trace.bind import bind
from ...trace.source import here
from ...trace.traceback_filtering import api_boundary
from ...trace.tracer import Tracer
from .bodies import body_of
from .call import Call, Calling, call_of
from .names import called_as, name_of
from .values import operand_aval

_MOST_FUNCTIONS, _MOST_ATTRIBUTES = 256, 64
#: Names of composites that StableHLO accepts.
_NAME = re.compile(r"[a-zA-Z]\w*([.][\w$]+)+", re.ASCII)
_LARGEST_VERSION = 2**31 - 1


class Composite(Calling, name="composite", by_identity=True):
    """Operation that returns the results of a program, with a name, attributes and a version for the compiler.

    A compiler that knows the name may compute it in its own way. Derivatives and ``vmap`` of it are ordinary
    calls without that name.
    """

    label: str
    attributes: dict[str, Any]
    version: int

    linearize_rule = Call.linearize_rule
    whole = Call.whole

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

    def of(self, program: ClosedJaxpr) -> Operation:
        return call_of(program)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        return builder.call_composite(  # type: ignore[no-any-return]
            self.jaxpr, operands, self.label, self.attributes, self.version
        )


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return a function that computes ``decomposition`` and is compiled as one operation with that name.

    A compiler that knows ``name`` and ``version`` may have its own way of computing it; every other one uses the
    decomposition, as XLA does on CPUs. Positional arguments (trees of arrays) are its operands, arguments by
    keyword its attributes: numbers, text, dtypes, NumPy arrays, and lists and dictionaries of these; None is left
    out. Under ``vmap`` and derivatives, which jax refuses, it is its decomposition.

    Raises TypeError for arguments that are not a function, text, whole number or attribute, ValueError for a name
    without a dot, and UnexpectedTracerError if the decomposition closes over a traced value, which has to be an
    argument.

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
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"composite: name is names with dots between them ('my.tangent') of letters, digits and underscores, a "
            f"letter in front; got {name!r}{here()}"
        )
    number = whole_number(version, "version of composite")
    if not 0 <= number <= _LARGEST_VERSION:
        raise ValueError(f"composite: version is a number from 0 to {_LARGEST_VERSION}, got {number}{here()}")

    @called_as(decomposition)
    @api_boundary
    def call(*args: Any, **kwargs: Any) -> Any:
        attributes = {key: value for key, value in kwargs.items() if value is not None}
        for key, value in attributes.items():
            _check_attribute(name, key, value)
        function, attributes_key = _with_attributes(decomposition, kwargs)
        leaves, structure = tree.flatten((args, {}))
        avals = [operand_aval(f"an argument of composite {name}", x) for x in leaves]
        body = body_of(function, structure, avals)
        if any(isinstance(c, Tracer) for c in body.consts):
            raise UnexpectedTracerError(
                f"composite {name}: the decomposition ({name_of(decomposition)}) closes over a value that is "
                f"traced{here()}: give it as a positional argument"
            )
        operation = _operation(body.opened, name, attributes, number, attributes_key)
        return body.structure.unflatten(bind(operation, *body.consts, *leaves))

    return call


class _Fixed:
    """Decomposition with bound attributes."""

    def __init__(self, function: Callable[..., Any], attributes: dict[str, Any]) -> None:
        self.function = function
        self.attributes = attributes
        self.__name__ = name_of(function)

    def __call__(self, args: Any, _: Any) -> Any:
        return self.function(*args, **self.attributes)


_fixed: weakref.WeakKeyDictionary[Callable[..., Any], RecentlyUsed[Any, _Fixed]] = weakref.WeakKeyDictionary()


def _with_attributes(function: Callable[..., Any], attributes: dict[str, Any]) -> tuple[_Fixed, Any]:
    """Return the decomposition with bound attributes, cached by their values, and the attributes' key.

    The key is None if the attributes or the function cannot be cached.
    """
    try:
        key = tuple([(name, key_of(value)) for name, value in attributes.items()])
        cache = kept_with(_fixed, function, lambda: RecentlyUsed(_MOST_ATTRIBUTES), _MOST_FUNCTIONS)
    except TypeError:  # an attribute without a hash, or a function that cannot be weakly referenced
        return _Fixed(function, attributes), None
    bound = cache.get(key)
    if bound is None:
        bound = cache[key] = _Fixed(function, attributes)
    return bound, key


def _operation(
    program: ClosedJaxpr, name: str, attributes: dict[str, Any], version: int, attributes_key: Any
) -> Composite:
    """Return the composite operation, one object for the same program and attributes."""
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
