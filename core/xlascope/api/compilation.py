"""jit as users call it."""

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

    Arguments named by ``static_argnums`` or ``static_argnames`` are ordinary Python values (hashable), each value of
    which makes a program of its own; all others are arrays, scalars, or trees of them. ``donate_*`` lets XLA reuse
    arguments' memory. ``device`` or ``backend`` says where to run; ``compiler_options`` are XLA's flags by name, for
    this function alone. ``in_shardings`` and ``out_shardings`` say how arguments and results lie over devices: trees of
    NamedShardings (PartitionSpecs where a mesh is current, None to leave it to XLA) that are prefixes of theirs.
    ``keep`` says which values a program for a CPU keeps in memory that XLA would compute again in each kernel that
    needs them: ``"auto"`` those that a model of its fusion finds worth it, ``"off"`` none, a policy (one of
    ``checkpoint_policies``, say) the results of which it says so; None what the setting ``keep`` says. Results differ
    in their last bits at most. ``reroll`` says whether what repeats (an unrolled Python loop, layers alike, calls of
    one function) is compiled once, as a loop: ``"auto"`` where a call is not slower for it, as far as a model says,
    ``"always"`` wherever it spares compiling, ``"off"`` never; None what the setting says. With ``tiered=True`` a
    program for one CPU is compiled quickly first, and that version answers calls while XLA compiles the optimized one
    on another thread; what is on disk already, calls Python or runs on several devices is compiled once, as ever. Both
    versions compute the same, rounded differently.
    ``f.trace``, ``f.lower`` and ``f.eval_shape`` give the stages of a call. Works as a decorator,
    with and without arguments. Raises TypeError when an argument or a result is no array.

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
    """A policy as the compiler asks it."""

    policy: Policy

    def __call__(self, operation: Operation, operands: Sequence[ShapedArray]) -> bool:
        return saves(self.policy, operation, operands)


def told_to_keep(keep: Any) -> Keep | None:
    """What is kept, as options have it; raises ValueError for what says nothing of the kind."""
    if callable(keep):
        return _ByPolicy(keep)
    if keep not in (None, "auto", "off"):
        raise ValueError(
            f"keep is 'auto', 'off', a policy such as checkpoint_policies.dots_saveable, or None, got {keep!r}{here()}"
        )
    return keep  # type: ignore[no-any-return]


def told_to_reroll(reroll: Any) -> Reroll | None:
    """Which repeats become loops, as options have it; raises ValueError for what says nothing of the kind."""
    if reroll not in (None, "auto", "always", "off"):
        raise ValueError(f"reroll is 'auto', 'always', 'off' or None, got {reroll!r}{here()}")
    return reroll  # type: ignore[no-any-return]


def _first_device(platform: str) -> Any:
    return backends.local_devices(backend=platform)[0]
