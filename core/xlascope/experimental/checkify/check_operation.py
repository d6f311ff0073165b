"""The ``check`` function, and its operation, which ``checkify`` turns into results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import tree
from ...ir.avals import ShapedArray
from ...ir.effects import KEEP_ALIVE, Effects
from ...ir.markers import NOT_MAPPED
from ...ir.operation import Operation
from ...ir.user_frames import user_line, where_text
from ...numpy import broadcast_to, equal, expand_dims, not_equal, where
from ...operations.shapes import moveaxis
from ...records import SourceRange
from ...trace.bind import bind
from ...trace.operand_coercion import is_value
from ...trace.state import STATE
from ...trace.values import aval_of
from .errors import CheckSite, Error, JaxRuntimeError, ShardedCheckSite


class Check(Operation, name="check", by_identity=True):
    """Operation that checks a boolean; it has no results.

    The operands are the boolean and the values for the message, whose tree is ``structure``. The first ``examples``
    axes of all operands are batch axes. ``location`` is the user's line, ``debug`` marks a check that does nothing
    unless ``checkify`` handles it.
    """

    message: str
    structure: Any
    debug: bool
    location: SourceRange | None
    examples: int

    @property
    def effects(self) -> Effects:
        return frozenset([KEEP_ALIVE])

    @property
    def params(self) -> dict[str, Any]:
        return {"message": self.message, "debug": self.debug}

    def abstract_eval(self, operands: Sequence[ShapedArray]) -> list[ShapedArray]:
        return []

    def sharding_rule(self, parts: Any, operands: Any, results: Any) -> Any:
        return []

    def make_site(self, avals: Sequence[ShapedArray]) -> CheckSite:
        """Return the description of the check, for message values of types ``avals``."""
        return CheckSite(self.message, self.structure, tuple(avals), self.location)

    def to_stablehlo(self, builder: Any, operands: Sequence[Any]) -> list[Any]:
        if self.debug:
            return []
        raise ValueError(
            f"a check{where_text(self.location)} cannot raise its error from within a compiled program (jit, "
            "scan, vmap, "
            "…). Make its failure a result, checkify.checkify(f), and compile that: "
            "error, y = jit(checkify.checkify(f))(x); error.throw(). debug_check is left out instead."
        )

    def host_rule(self, pred: Any, *values: Any) -> list[Any]:
        """Raise JaxRuntimeError immediately, outside of any trace, if ``pred`` is false."""
        if not self.debug and not bool(pred):
            raise JaxRuntimeError(self.make_site([aval_of(x) for x in values]).format_message(values))
        return []

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return bind(self, *primals), []

    def batch_rule(self, operands: Sequence[Any], axes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        size = next(aval_of(x).shape[a] for x, a in zip(operands, axes, strict=True) if a is not NOT_MAPPED)
        front_operands = [
            broadcast_to(x, (size, *aval_of(x).shape)) if a is NOT_MAPPED else moveaxis(x, a, 0)
            for x, a in zip(operands, axes, strict=True)
        ]
        batched = Check(self.message, self.structure, self.debug, self.location, self.examples + 1)
        return bind(batched, *front_operands), []


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that ``pred``, a boolean scalar, is true.

    ``msg`` is the message of the failure, with ``{}`` or ``{name}`` for ``fmt_args`` and ``fmt_kwargs``, which are
    arrays or numbers, or trees of them. Outside of any transformation a failing check raises JaxRuntimeError at once.
    In a compiled program :func:`checkify` makes the failure a result; without it, compiling raises ValueError. With
    ``debug`` the check does nothing unless :func:`checkify` handles it. Raises TypeError for other types of ``pred``,
    ``msg`` or arguments.

    >>> from xlascope.experimental import checkify
    >>> checkify.check(2 > 1, "two is more than one")
    """
    if not isinstance(msg, str):
        raise TypeError(f"check takes its message as a text, got {msg!r}{where_text(user_line())}")
    values, structure = tree.flatten((fmt_args, fmt_kwargs))
    for x in (pred, *values):
        if not is_value(x):
            expected = "a truth value" if x is pred else "arrays and numbers to tell of"
            raise TypeError(f"check takes {expected}, got {x!r} of type {type(x).__name__}{where_text(user_line())}")
    aval = aval_of(pred)
    if aval.shape or aval.dtype != bool:
        raise TypeError(
            f"check takes one truth value, a boolean scalar, got {aval.str_short()}{where_text(user_line())}: "
            "jnp.all(x) is whether all are true"
        )
    msg.format(*fmt_args, **fmt_kwargs) if not values else None
    bind(Check(msg, structure, bool(debug), user_line(), 0), pred, *values)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Check like :func:`check`, but do nothing unless :func:`checkify` handles the check."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise the error of a checkified function if it has one; under a trace, check for it like :func:`check`.

    Raises TypeError unless ``error`` is an :class:`Error`, and ValueError for the error of a batch.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error, which checkify(f) gives, got {error!r}{where_text(user_line())}")
    (number, *values), sites = error.tree_flatten()
    if aval_of(number).shape:
        raise ValueError("check_error takes the error of one example, got one of a batch")
    if STATE.trace is None:
        error.throw()
    else:
        _bind_checks(number, values, sites, 0)


def _bind_checks(numbers: Any, values: Sequence[Any], sites: Sequence[CheckSite], examples: int) -> None:
    """Bind the checks ``sites``, of which that of ``numbers`` failed; the first ``examples`` axes are batch axes."""
    for position, site in enumerate(sites, 1):
        site_values, values = values[: len(site.avals)], values[len(site.avals) :]
        if isinstance(site, ShardedCheckSite):
            inner_numbers, *inner_values = site_values
            is_here = expand_dims(equal(numbers, position), examples)
            _bind_checks(where(is_here, inner_numbers, 0), inner_values, site.inner_sites, examples + 1)
        else:
            check = Check(site.message, site.structure, False, site.location, examples)
            bind(check, not_equal(numbers, position), *site_values)
