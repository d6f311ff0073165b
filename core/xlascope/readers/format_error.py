"""What every reader raises for what is not in the form that it knows: damaged, cut off, or written by another XLA."""

from __future__ import annotations

import os

#: XLA promises nothing of these forms; they are as these versions write them.
KNOWN = "jaxlib 0.10 to 0.12"


class FormatError(ValueError):
    """``read`` is not in the form that ``known`` writes; ``problem`` says what was expected there and what was found.

    >>> raise FormatError("the HLO text", "expected an ENTRY computation, found none")
    Traceback (most recent call last):
    xlascope.readers.format_error.FormatError: the HLO text: expected an ENTRY computation, found none (this reader \
knows the form of jaxlib 0.10 to 0.12)
    """

    def __init__(self, read: str, problem: str, known: str = KNOWN) -> None:
        super().__init__(f"{read}: {problem} (this reader knows the form of {known})")
        self.read = read
        self.problem = problem
        self.known = known

    def in_file(self, file: str | os.PathLike[str]) -> FormatError:
        """The same of what a file holds."""
        return FormatError(f"{os.fspath(file)}, {self.read}", self.problem, self.known)
