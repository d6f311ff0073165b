"""Request of a compilation: one value from the call of a function to XLA's options.

A new option is a field of :class:`CompileOptions` and a parameter of ``jit`` (``api/compilation.py``); nothing
between the two names it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.jaxpr import ClosedJaxpr
from ..keeping.policy import Keep, asked_for
from ..sharding.partitions import Partition
from .reroll import Reroll, asked_to_reroll

Flags = tuple[tuple[str, str], ...]


class CompileOptions(NamedTuple):
    """Options for compiling the programs of a function; None means that the settings decide."""

    #: XLA's flags by name, for these programs alone.
    flags: Flags = ()
    #: Whether operands that no equation uses are passed to the executable.
    keep_unused: bool = False
    #: Which values are materialized that XLA would compute again.
    keep: Keep | None = None
    #: Which repeated parts become loops.
    reroll: Reroll | None = None
    #: Whether the first calls run a quickly compiled version, until the optimized one is ready.
    tiered: bool = False

    def with_settings(self) -> CompileOptions:
        """Return the options with the current settings in place of None."""
        return self._replace(keep=asked_for(self.keep), reroll=asked_to_reroll(self.reroll))


class CompileRequest(NamedTuple):
    """Program to be compiled.

    ``donated`` says which operands' memory it may overwrite, ``number`` is that of the program in records (None: it
    was not traced separately), and ``partition`` has the shardings of its operands over the devices that share it.
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
        """Return the key that distinguishes executables of the program at one placement, tiered or not."""
        return self.donated, self.options._replace(tiered=False)

    def with_flags(self, flags: Flags) -> CompileRequest:
        """Return the request with other flags of XLA."""
        return self._replace(options=self.options._replace(flags=flags))
