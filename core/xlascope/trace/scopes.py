"""Named scopes, and compile-time evaluation inside of a function that is being traced."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..ir.atoms import NO_LINE, Origin
from ..runtime.boot import in_trace
from .constant_folding_trace import ConstantFoldingTrace
from .source import user_line, where_text
from .state import STATE

Function = TypeVar("Function", bound=Callable[..., Any])


class named_scope(contextlib.ContextDecorator):  # noqa: N801  (JAX's name)
    """Context manager and decorator that puts operations into a named scope.

    The scope is part of their names in the compiled program and in profiles, and of their records. Scopes may be
    nested. Raises TypeError for a name that is not a string.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.named_scope("layer")
    ... def layer(x):
    ...     with xs.named_scope("activation"):
    ...         return jnp.tanh(x)
    >>> xs.make_jaxpr(layer)(1.0).eqns[0].scope
    'layer/activation'
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope takes a string as name, got {name!r}{where_text(user_line())}")
        self.name = name
        self._saved_origins: list[Origin | None] = []

    def _recreate_cm(self) -> named_scope:
        """Return a new scope for one call of a decorated function, which may be on another thread."""
        return named_scope(self.name)

    def __enter__(self) -> None:
        origin = STATE.origin
        self._saved_origins.append(origin)
        if not self.name:
            return
        if origin is None:
            STATE.origin = Origin("forward", None, None, NO_LINE, self.name)
        else:
            STATE.origin = origin._replace(scope=f"{origin.scope}/{self.name}" if origin.scope else self.name)

    def __exit__(self, *_: object) -> None:
        STATE.origin = self._saved_origins.pop()


def named_call(fun: Function, *, name: str | None = None) -> Function:
    """Wrap ``fun`` so that its operations are in a scope of that name, by default the function's own.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> xs.make_jaxpr(xs.named_call(lambda x: x + 1, name="next"))(1).eqns[0].scope
    'next'
    """
    scope = name if name is not None else getattr(fun, "__name__", type(fun).__name__)

    @functools.wraps(fun)
    def call_in_scope(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return call_in_scope  # type: ignore[return-value]


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Run operations inside now, whatever is being traced: their results are constants of the program.

    An operation with a traced operand is traced as outside.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> @xs.jit
    ... def f(x):
    ...     with xs.ensure_compile_time_eval():
    ...         steps = jnp.arange(3).sum()
    ...         assert steps == 3
    ...     return x * steps
    >>> print(f(2))
    6
    """
    trace, origin, was_in_trace = STATE.trace, STATE.origin, in_trace.value
    try:
        if trace is not None and trace.__class__ is not ConstantFoldingTrace:
            STATE.trace = ConstantFoldingTrace(trace)
        in_trace.set_local(False)
        yield
    finally:
        STATE.trace, STATE.origin = trace, origin
        in_trace.set_local(was_in_trace)
