"""The draws of one call."""

from __future__ import annotations

from collections.abc import Sequence

from . import arrays
from .arrays import Odds
from .dtype_weights import dtypes_of
from .language import Described


class Draw(Odds):
    """One call's draws: what its arrays have in common, and how faithfully its arguments keep to that."""

    def __init__(self, seed: Sequence[int], function: str) -> None:
        super().__init__(seed)
        self.function = function
        #: The functions of lax take operands of one type; NumPy's promote and broadcast.
        self.strict = function.startswith("lax.")
        #: Half of the calls have nothing odd about them: what they show is what the function computes.
        self.tame = self.chance(0.5)
        self.shape: tuple[int, ...] = self.weighted(arrays.SHAPES)
        odd = not self.tame and self.chance(0.16)
        fitting = dtypes_of(function) if self.chance(0.8) else None
        self.dtype: str = self.pick(arrays.ODD_DTYPES) if odd else self.weighted(fitting or arrays.DTYPES)
        #: Of vectors that belong to each other.
        self.length: int = self.pick([0, 1, 3, 3, 3, 4])

    @property
    def rank(self) -> int:
        return len(self.shape)

    def holder(self) -> str:
        return self.weighted({"device": 8, "numpy": 2} if self.tame else arrays.HOLDERS)

    def array_of(self, dtype: str, shape: Sequence[int], holder: str | None = None) -> Described:
        return arrays.drawn(self, dtype, shape, holder or self.holder())

    def other_dtype(self) -> str:
        """That of the call, seldom another."""
        return self.dtype if self.chance(0.9 if self.strict else 0.7) else self.weighted(arrays.DTYPES)

    def other_shape(self) -> tuple[int, ...]:
        """That of the call, one that broadcasts with it, or any."""
        how = self.weighted({"same": 90 if self.strict else 65, "broadcasts": 25, "any": 0 if self.tame else 8})
        if how == "same":
            return self.shape
        if how == "any":
            return self.weighted(arrays.SHAPES)
        kept = tuple(1 if self.chance(0.3) else size for size in self.shape)
        return kept[self.whole(0, len(kept)) :]
