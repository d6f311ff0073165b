"""What is to be compiled, and how: one value from the call of a function to XLA's options.

A new option is a field of :class:`CompileOptions` and a parameter of ``jit`` (``api/compilation.py``); nothing between
the two names it.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.jaxpr import ClosedJaxpr
from ..keeping.policy import Keep, asked_for
from ..sharding.partitions import Partition
from .reroll import Reroll, asked_to_reroll

Flags = tuple[tuple[str, str], ...]


class CompileOptions(NamedTuple):
    """How the programs of a function are compiled, as it says itself; None: as the settings say."""

    #: XLA's flags by name, for these programs alone.
    flags: Flags = ()
    #: Whether operands that no equation uses are handed over all the same.
    keep_unused: bool = False
    #: What is kept in memory that XLA would compute again.
    keep: Keep | None = None
    #: Which repeats become loops.
    reroll: Reroll | None = None
    #: Whether the first calls run a version that is compiled quickly, until the optimized one is there.
    tiered: bool = False

    def with_settings(self) -> CompileOptions:
        """The same options, those of the settings of now in place of None."""
        return self._replace(keep=asked_for(self.keep), reroll=asked_to_reroll(self.reroll))


class CompileRequest(NamedTuple):
    """A program that is to be compiled.

    ``donated`` says which operands' memory it may overwrite, ``number`` is that of the program in records (None: nobody
    has traced it), and ``partition`` says how its operands lie on the devices that share it.
    """

    program: ClosedJaxpr
    options: CompileOptions = CompileOptions()
    donated: tuple[bool, ...] = ()
    number: int | None = None
    partition: Partition | None = None

    @property
    def name(self) -> str:
        """What the program is called."""
        return self.program.name or "main"

    @property
    def key(self) -> tuple[object, ...]:
        """What tells executables of the program at one place apart. It does not matter how quickly they are made."""
        return self.donated, self.options._replace(tiered=False)

    def with_flags(self, flags: Flags) -> CompileRequest:
        """The request with other flags of XLA."""
        return self._replace(options=self.options._replace(flags=flags))
