"""jit, as users call it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from ..control import loop_rerolling
from ..control.checkpoint.policies import Policy, should_save
from ..control.jit.arguments import JitOptions
from ..control.jit.jit_function import jit_function
from ..control.jit.shardings import resolve_shardings
from ..control.jit.stages import to_compiler_flags
from ..ir.avals import ShapedArray
from ..ir.operation import Operation
from ..trace.source import here
from ..trace.traceback_filtering import api_boundary
from ..xla.compilation.compile_request import CompileOptions
from ..xla.compilation.reroll_policy import RerollPolicy
from ..xla.devices import backend as backends
from ..xla.materialization.policy import MaterializationPolicy
from ..xla.system.hooks import HOOKS
from .argnames import ArgNames, ArgNums, to_argnames, to_argnums

Function = TypeVar("Function", bound=Callable[..., Any])

HOOKS.reroll = lambda program, how: loop_rerolling.reroll_program(program, how)


@overload
def jit(fun: Function, **options: Any) -> Function: ...
@overload
def jit(fun: None = None, **options: Any) -> Callable[[Function], Function]: ...
@api_boundary  # type: ignore[misc]
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: ArgNums = None,
    static_argnames: ArgNames = None,
    donate_argnums: ArgNums = None,
    donate_argnames: ArgNames = None,
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
    options = JitOptions(
        to_argnums(static_argnums),
        to_argnames(static_argnames),
        to_argnums(donate_argnums),
        to_argnames(donate_argnames),
        inline,
        target,
        in_shardings=resolve_shardings("in_shardings", in_shardings),
        out_shardings=resolve_shardings("out_shardings", out_shardings),
        compile=CompileOptions(
            flags=to_compiler_flags(compiler_options or {}),
            keep_unused=keep_unused,
            keep=check_keep_option(keep),
            reroll=check_reroll_option(reroll),
            tiered=bool(tiered),
        ),
    )
    return jit_function(fun, options)


@dataclass(frozen=True)
class _PolicyAdapter:
    """Adapter of a checkpoint policy: a function of an operation and operand types, whether to save results."""

    policy: Policy

    def __call__(self, operation: Operation, operands: Sequence[ShapedArray]) -> bool:
        return should_save(self.policy, operation, operands)


def check_keep_option(keep: Any) -> MaterializationPolicy | None:
    """Return the ``keep`` option for the compiler, a policy in an adapter; raise ValueError for an invalid one."""
    if callable(keep):
        return _PolicyAdapter(keep)
    if keep not in (None, "auto", "off"):
        raise ValueError(
            f"keep is 'auto', 'off', a policy such as checkpoint_policies.dots_saveable, or None, got {keep!r}{here()}"
        )
    return keep  # type: ignore[no-any-return]


def check_reroll_option(reroll: Any) -> RerollPolicy | None:
    """Return the ``reroll`` option as it is; raise ValueError for an invalid value."""
    if reroll not in (None, "auto", "always", "off"):
        raise ValueError(f"reroll is 'auto', 'always', 'off' or None, got {reroll!r}{here()}")
    return reroll  # type: ignore[no-any-return]


def _first_device(platform: str) -> Any:
    return backends.local_devices(backend=platform)[0]
