"""Operations whose rules are registered one by one, as in JAX: ``Primitive("name")`` and its rules.

All of them share the class :class:`RegisteredOperation`. Its rules call those registered for the primitive and convert
operands to JAX's conventions: a zero tangent is a :class:`Zero`, a linear operand an :class:`UndefinedPrimal`, and an
operand that is not mapped has axis None. A missing rule is an error that says how to register one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, NoReturn

from ..cache_keys import cache_key
from ..ir.avals import ShapedArray, make_aval
from ..ir.markers import NOT_MAPPED, ZERO
from ..ir.operation import Operation, Primitive
from ..trace.values import aval_of
from .operand_checks import is_linear


class Zero:
    """Zero tangent or cotangent, with its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class UndefinedPrimal:
    """Placeholder, in a transpose rule, for an operand whose cotangent is requested."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


class Rules(MutableMapping[Primitive, Callable[..., Any]]):
    """Mapping from primitives to their rules of one kind: ``rules[p] = rule`` registers one.

    ``kind`` is ``jvp``, ``transpose`` or ``batch``. The rules are stored in the primitives, which the mapping does not
    keep alive.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._primitives: weakref.WeakSet[Primitive] = weakref.WeakSet()

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        primitive.register(self.kind, rule)
        self._primitives.add(primitive)

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        rule: Callable[..., Any] = primitive.rules[self.kind]
        return rule

    def __delitem__(self, primitive: Primitive) -> None:
        del primitive.rules[self.kind]
        self._primitives.discard(primitive)

    def __iter__(self) -> Iterator[Primitive]:
        return iter(list(self._primitives))

    def __len__(self) -> int:
        return len(self._primitives)


primitive_jvps = Rules("jvp")
primitive_transposes = Rules("transpose")
primitive_batchers = Rules("batch")

_REGISTRATION_HINTS = {
    "abstract_eval": "{p}.def_abstract_eval(rule)",
    "jvp": "interpreters.ad.primitive_jvps[{p}] = rule, or interpreters.ad.defjvp({p}, …)",
    "transpose": "interpreters.ad.primitive_transposes[{p}] = rule, or interpreters.ad.deflinear2({p}, rule)",
    "batch": "interpreters.batching.primitive_batchers[{p}] = rule, or interpreters.batching.defvectorized({p})",
    "lowering": "interpreters.mlir.register_lowering({p}, interpreters.mlir.lower_fun(function, "
    "multiple_results={several}))",
}
_RULE_NAMES = {"abstract_eval": "abstract evaluation rule", "batch": "batching rule"}


class RegisteredOperation(Operation):
    """Operation defined outside of xlascope: a primitive with registered rules, and parameters.

    ``handle`` is the primitive, ``param_items`` are its parameters as sorted pairs (name, value).
    """

    handle: Primitive
    param_items: tuple[tuple[str, Any], ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RegisteredOperation)
            and self.handle is other.handle
            and cache_key(self.param_items) == cache_key(other.param_items)
        )

    def __hash__(self) -> int:
        return hash((self.handle, self.param_items))

    def content(self) -> None:
        return None  # its rules may be replaced

    @property
    def name(self) -> str:  # type: ignore[override]
        """Return the name of the primitive."""
        return self.handle.name

    @property
    def primitive(self) -> Primitive:  # type: ignore[override]
        """Return the primitive."""
        return self.handle

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.param_items)

    @property
    def holder(self) -> Any:
        """Return the primitive, whose lifetime bounds that of the compiled programs."""
        return self.handle

    def find_rule(self, kind: str) -> Callable[..., Any]:
        """Return the registered rule of a kind, such as ``jvp``, ``batch`` or ``transpose``.

        Raises NotImplementedError, which says how to register one, if there is none.
        """
        rule: Callable[..., Any] | None = self.handle.rules.get(kind)
        return rule if rule is not None else self._raise_missing_rule(kind)

    def find_lowering(self, platform: str) -> Callable[..., Any]:
        """Return the lowering rule for a platform, or else the one for all platforms.

        Raises NotImplementedError if neither is registered.
        """
        rule: Callable[..., Any] | None = self.handle.rules.get(f"lowering for {platform}")
        rule = rule or self.handle.rules.get("lowering")
        return rule if rule is not None else self._raise_missing_rule("lowering", f" for platform {platform}")

    def _raise_missing_rule(self, kind: str, what_for: str = "") -> NoReturn:
        how = _REGISTRATION_HINTS[kind].format(p=self.name, several=self.handle.multiple_results)
        raise NotImplementedError(
            f"{self.name} has no {_RULE_NAMES.get(kind, f'{kind} rule')}{what_for}. Register one: {how}"
        )

    def as_list(self, results: Any) -> list[Any]:
        """Return a rule's results as a list, also for a primitive with a single result."""
        return list(results) if self.handle.multiple_results else [results]

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        results = self.as_list(self.find_rule("abstract_eval")(*operands, **self.params))
        return [make_aval(tuple(x.shape), x.dtype, getattr(x, "weak_type", False)) for x in results]

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        context = LoweringRuleContext(self.handle, builder)
        with builder.location, builder.insertion:
            return _flatten_values(self.find_lowering(builder.platform)(context, *operands, **self.params))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        rule = self.find_rule("jvp")
        jax_tangents = [Zero(aval_of(x)) if t is ZERO else t for x, t in zip(primals, tangents, strict=True)]
        results, out_tangents = rule(tuple(primals), tuple(jax_tangents), **self.params)
        return self.as_list(results), [_from_jax_zero(t) for t in self.as_list(out_tangents)]

    def transpose_rule(self, cotangents: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        rule = self.find_rule("transpose")
        types = self.abstract_eval([x.aval if is_linear(x) else aval_of(x) for x in operands])
        arrived = [Zero(aval) if ct is ZERO else ct for ct, aval in zip(cotangents, types, strict=True)]
        rule_operands = [UndefinedPrimal(x.aval) if is_linear(x) else x for x in operands]
        input_cts = rule(arrived if self.handle.multiple_results else arrived[0], *rule_operands, **self.params)
        if input_cts is None:
            return [ZERO if is_linear(x) else None for x in operands]
        if len(input_cts) != len(operands):
            raise TypeError(
                f"the transpose rule of {self.name} gave {len(input_cts)} cotangents for {len(operands)} operands: "
                "it gives one for each, None for those that are not linear"
            )
        return [_from_jax_zero(ct) for ct in input_cts]

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        rule = self.find_rule("batch")
        dims = tuple(None if axis is NOT_MAPPED else axis for axis in axes)
        results, out_dims = rule(tuple(operands), dims, **self.params)
        return self.as_list(results), [NOT_MAPPED if d is None else d for d in self.as_list(out_dims)]


def _from_jax_zero(x: Any) -> Any:
    return ZERO if x.__class__ is Zero else x


def _flatten_values(values: Any) -> list[Any]:
    """Return the values that a lowering rule returns as a flat list: one value, or several in nested lists."""
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in _flatten_values(value)]
    return [values]


class LoweringRuleContext:
    """Context that a lowering rule gets first: primitive, builder, and types of operands and results."""

    __slots__ = ("avals_in", "avals_out", "builder", "primitive")

    def __init__(self, primitive: Primitive, builder: Any) -> None:
        self.primitive = primitive
        self.builder = builder
        self.avals_in = list(builder.in_avals)
        self.avals_out = list(builder.out_avals)

    @property
    def platforms(self) -> tuple[str, ...]:
        """Return the platforms that the program is compiled for."""
        return (self.builder.platform,)

    @property
    def module_context(self) -> LoweringRuleContext:
        """Return this context, which also has the ``platforms`` that JAX keeps in a separate object."""
        return self


def build_registered_operation(primitive: Primitive, params: dict[str, Any]) -> RegisteredOperation:
    """Build the operation of a primitive that has no class, with the parameters ``params``.

    An ``impl`` rule is stored in ``primitive.derived`` for eager calls. Raises TypeError for unhashable parameters.
    """
    operation = RegisteredOperation(primitive, tuple(sorted(params.items())))
    try:
        hash(operation)
    except TypeError:
        wrong = next(key for key, value in params.items() if not _hashable(value))
        raise TypeError(
            f"the parameter {wrong} of {primitive} is a {type(params[wrong]).__name__}: parameters are part of the "
            "program and have to be hashable. Give a tuple for a list, and arrays as operands"
        ) from None
    if "impl" in primitive.rules and operation not in primitive.derived:
        primitive.derived[operation] = _build_impl(operation)
    return operation


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _build_impl(operation: RegisteredOperation) -> Callable[..., Any]:
    """Return the function that runs the ``impl`` rule outside of any trace.

    It returns a single result by itself, several results as a list.
    """

    def run_impl(*operands: Any) -> Any:
        results = operation.as_list(operation.find_rule("impl")(*operands, **operation.params))
        return results[0] if len(results) == 1 else results

    return run_impl


Primitive.without_class = staticmethod(build_registered_operation)
