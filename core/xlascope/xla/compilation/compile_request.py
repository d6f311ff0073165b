"""Request of a compilation: one value from the call of a function to XLA's options.

A new option is a field of :class:`CompileOptions` and a parameter of ``jit`` (``api/compilation.py``); nothing
between the two names it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.jaxpr import ClosedJaxpr
from ..materialization.policy import MaterializationPolicy, resolve_policy
from ..sharding.partitions import Partition
from .reroll_policy import RerollPolicy, resolve_reroll_policy

Flags = tuple[tuple[str, str], ...]


class CompileOptions(NamedTuple):
    """Options for compiling the programs of a function; None means that the settings decide.

    ``flags`` are XLA's flags (name, value) for these programs alone. ``keep_unused`` passes operands that no equation
    uses to the executable. ``keep`` says which values are materialized and ``reroll`` which repeated regions become
    loops. With ``tiered`` the first calls run a quickly compiled version until the optimized one is ready.
    """

    #: XLA's flags by name, for these programs alone.
    flags: Flags = ()
    #: Whether operands that no equation uses are passed to the executable.
    keep_unused: bool = False
    #: Which values are materialized that XLA would compute again.
    keep: MaterializationPolicy | None = None
    #: Which repeated parts become loops.
    reroll: RerollPolicy | None = None
    #: Whether the first calls run a quickly compiled version, until the optimized one is ready.
    tiered: bool = False

    def with_settings(self) -> CompileOptions:
        """Return the options with the current settings in place of None."""
        return self._replace(keep=resolve_policy(self.keep), reroll=resolve_reroll_policy(self.reroll))


class CompileRequest(NamedTuple):
    """Program to compile, with the options of its compilation.

    ``donated`` says which operands' memory it may overwrite, ``number`` is that of the program in records (None: it
    was not traced separately), and ``partition`` has the shardings of its operands over the devices that share it
    (None: one device).
    """

    program: ClosedJaxpr
    options: CompileOptions = CompileOptions()
    donated: tuple[bool, ...] = ()
    number: int | None = None
    partition: Partition | None = None

    @property
    def name(self) -> str:
        """Return the program's name."""
        return self.program.name or "main"

    @property
    def key(self) -> tuple[object, ...]:
        """Return the part of a cache key that distinguishes executables of one program at one placement.

        Tiered and other compilations share it.
        """
        return self.donated, self.options._replace(tiered=False)

    def with_flags(self, flags: Flags) -> CompileRequest:
        """Return the request with ``flags`` as the XLA flags (name, value)."""
        return self._replace(options=self.options._replace(flags=flags))
