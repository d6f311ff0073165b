"""jit, as users call it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from ..control import rerolling
from ..control.checkpoint.policies import Policy, saves
from ..control.jit.arguments import Options
from ..control.jit.functions import jit_function
from ..control.jit.placing import told
from ..control.jit.stages import overrides_of
from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..trace.source import here
from ..trace.traceback_filtering import api_boundary
from ..xla.compilation.compile_request import CompileOptions
from ..xla.compilation.reroll import Reroll
from ..xla.devices import backend as backends
from ..xla.keeping.policy import Keep
from ..xla.system.hooks import HOOKS
from .naming import Names, Numbers, numbers_of, strings_of

Function = TypeVar("Function", bound=Callable[..., Any])

HOOKS.rerolled = lambda program, how: rerolling.rerolled(program, how)


@overload
def jit(fun: Function, **options: Any) -> Function: ...
@overload
def jit(fun: None = None, **options: Any) -> Callable[[Function], Function]: ...
@api_boundary  # type: ignore[misc]
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
    keep_unused: bool = False,
    inline: bool = False,
    device: Any = None,
    backend: str | None = None,
    compiler_options: dict[str, Any] | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    keep: str | Policy | None = None,
    reroll: str | None = None,
    tiered: bool = False,
) -> Any:
    """Compile ``fun`` with XLA, once for each kind of arguments it is called with.

    Arguments named by ``static_argnums`` or ``static_argnames`` are hashable Python values, and each value has
    its own program; all others are arrays, scalars, or trees of them. ``donate_*`` lets XLA reuse arguments'
    memory. ``device`` or ``backend`` selects where to run; ``compiler_options`` are XLA's flags by name, for this
    function alone. ``in_shardings`` and ``out_shardings`` are the shardings of arguments and results: trees of
    NamedShardings (PartitionSpecs if a mesh is current, None to leave it to XLA) that are prefixes of theirs.

    ``keep`` selects values that a program for a CPU keeps in memory and that XLA would otherwise recompute in
    each kernel that uses them: with ``"auto"`` those that are profitable by a model of its fusion, with ``"off"``
    none, with a policy (for example one of ``checkpoint_policies``) the results that it selects, with None those
    of the setting ``keep``. Results differ in their last bits at most.

    ``reroll`` selects whether repeated regions (an unrolled Python loop, equal layers, calls of one function) are
    compiled once, as a loop: ``"auto"`` if a cost model expects that a call does not become slower, ``"always"``
    whenever it saves compile time, ``"off"`` never, None by the setting.

    With ``tiered=True`` a program for one CPU is compiled quickly first, and that version answers calls while XLA
    compiles the optimized one on another thread. A program that is already on disk, calls Python or runs on
    several devices is compiled once, as usual. Both versions compute the same values, rounded differently.

    ``f.trace``, ``f.lower`` and ``f.eval_shape`` return the stages of a call. Works as a decorator, with and
    without arguments. Raises TypeError if an argument or a result is not an array.

    >>> import xlascope as xs, xlascope.numpy as jnp
    >>> f = xs.jit(lambda x: jnp.sum(x * 2.0))
    >>> print(f(jnp.arange(3.0)))
    6.0
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
            device=device,
            backend=backend,
            compiler_options=compiler_options,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            keep=keep,
            reroll=reroll,
            tiered=tiered,
        )
    target = device if backend is None else _first_device(backend)
    options = Options(
        numbers_of(static_argnums),
        strings_of(static_argnames),
        numbers_of(donate_argnums),
        strings_of(donate_argnames),
        inline,
        target,
        in_shardings=told("in_shardings", in_shardings),
        out_shardings=told("out_shardings", out_shardings),
        compile=CompileOptions(
            flags=overrides_of(compiler_options or {}),
            keep_unused=keep_unused,
            keep=told_to_keep(keep),
            reroll=told_to_reroll(reroll),
            tiered=bool(tiered),
        ),
    )
    return jit_function(fun, options)


@dataclass(frozen=True)
class _ByPolicy:
    """Adapter from a checkpoint policy to the form that the compiler calls."""

    policy: Policy

    def __call__(self, operation: Operation, operands: Sequence[ShapedArray]) -> bool:
        return saves(self.policy, operation, operands)


def told_to_keep(keep: Any) -> Keep | None:
    """Return the ``keep`` option; raise ValueError for an invalid value."""
    if callable(keep):
        return _ByPolicy(keep)
    if keep not in (None, "auto", "off"):
        raise ValueError(
            f"keep is 'auto', 'off', a policy such as checkpoint_policies.dots_saveable, or None, got {keep!r}{here()}"
        )
    return keep  # type: ignore[no-any-return]


def told_to_reroll(reroll: Any) -> Reroll | None:
    """Return the ``reroll`` option; raise ValueError for an invalid value."""
    if reroll not in (None, "auto", "always", "off"):
        raise ValueError(f"reroll is 'auto', 'always', 'off' or None, got {reroll!r}{here()}")
    return reroll  # type: ignore[no-any-return]


def _first_device(platform: str) -> Any:
    return backends.local_devices(backend=platform)[0]
