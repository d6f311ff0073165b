"""Exception of all readers for input that is damaged, cut off, or written by an unknown version of XLA."""

from __future__ import annotations

import os

#: XLA promises no stability of these formats; these versions write the forms that the readers know.
KNOWN = "jaxlib 0.10 to 0.12"


class FormatError(ValueError):
    """Input ``read`` that does not have the form written by ``known``.

    ``problem`` says what was expected and what was found.

    >>> raise FormatError("the HLO text", "expected an ENTRY computation, found none")
    Traceback (most recent call last):
    xlascope.readers.format_error.FormatError: the HLO text: expected an ENTRY computation, found none (...)
    """

    def __init__(self, read: str, problem: str, known: str = KNOWN) -> None:
        super().__init__(f"{read}: {problem} (this reader knows the form of {known})")
        self.read = read
        self.problem = problem
        self.known = known

    def in_file(self, file: str | os.PathLike[str]) -> FormatError:
        """Return the same error with the name of the file that holds the input."""
        return FormatError(f"{os.fspath(file)}, {self.read}", self.problem, self.known)
