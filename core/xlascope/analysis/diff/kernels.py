"""Matching of the kernels of two compiled programs by the equations in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...records.compiled import Kernel
from ...records.events import Compiled
from ...records.paths import EquationPath
from .changes import EquationChange, KernelChange, Regrouping
from .sequences import align

#: Two kernels correspond when they share this fraction of the equations of one of them.
MIN_SHARED_FRACTION = 0.5


def compare_kernels(before: Compiled, after: Compiled, equations: Sequence[EquationChange]) -> tuple[KernelChange, ...]:
    """Return the changes of all kernels: same, changed, merged, split, regrouped, vanished or appeared.

    The changes are in execution order, those with kernels of ``before`` first. ``equations`` is the result of
    comparing both programs' equations: kernels correspond when they contain the same ones.
    """
    return tuple(_KernelComparison(before.kernels, after.kernels, equations).changes())


class _KernelComparison:
    """Comparison of the kernels of two programs; ``old_work`` and ``new_work`` are the equations of each kernel."""

    def __init__(self, before: Sequence[Kernel], after: Sequence[Kernel], equations: Sequence[EquationChange]) -> None:
        self.before, self.after = before, after
        self.old_work, self.new_work = (
            _positions_of_work(before, equations, "before"),
            _positions_of_work(after, equations, "after"),
        )

    def changes(self) -> Iterator[KernelChange]:
        """Yield the changes: pair kernels that correspond exactly, then group those that share equations."""
        pairs = align(
            [_signature(kernel, work) for kernel, work in zip(self.before, self.old_work, strict=True)],
            [_signature(kernel, work) for kernel, work in zip(self.after, self.new_work, strict=True)],
        )
        old, new = [i for i, _ in pairs], [j for _, j in pairs]
        groups = [([i], [j]) for i, j in pairs]
        left = [i for i in range(len(self.before)) if i not in set(old)]
        right = [j for j in range(len(self.after)) if j not in set(new)]
        groups += self._group_by_work(left, right)
        groups.sort(key=lambda group: (group[0][:1] or [len(self.before)], group[1]))
        for olds, news in groups:
            yield self._change([self.before[i] for i in olds], [self.after[j] for j in news])

    def _group_by_work(self, left: list[int], right: list[int]) -> list[tuple[list[int], list[int]]]:
        """Return groups of kernels (indices of the first program, of the second) that share equations.

        ``left`` and ``right`` are the indices to group. Kernels without equations are grouped by name.
        """
        group: dict[tuple[int, int], int] = {}
        members: list[tuple[list[int], list[int]]] = []
        for side, indices in enumerate((left, right)):
            for index in indices:
                group[side, index] = len(members)
                members.append(([index], []) if side == 0 else ([], [index]))
        for i, j in self._edges(left, right):
            a, b = group[0, i], group[1, j]
            if a != b:
                for side in (0, 1):
                    members[a][side].extend(members[b][side])
                    group.update({(side, index): a for index in members[b][side]})
                members[b] = ([], [])
        return [(sorted(old), sorted(new)) for old, new in members if old or new]

    def _edges(self, left: list[int], right: list[int]) -> Iterator[tuple[int, int]]:
        """Yield pairs of indices of kernels that share enough equations, or have none and share their name.

        ``left`` are the candidates of the first program, ``right`` those of the second.
        """
        holders: dict[object, list[int]] = {}
        for j in right:
            for position in self.new_work[j]:
                holders.setdefault(position, []).append(j)
        for i in left:
            for j in dict.fromkeys(j for position in self.old_work[i] for j in holders.get(position, ())):
                shared = len(self.old_work[i] & self.new_work[j])
                if shared >= MIN_SHARED_FRACTION * min(len(self.old_work[i]), len(self.new_work[j])):
                    yield i, j
        without = [[k for k in side if not work[k]] for side, work in ((left, self.old_work), (right, self.new_work))]
        keys = [
            [_name_key(kernels[k]) for k in side]
            for side, kernels in zip(without, (self.before, self.after), strict=True)
        ]
        yield from ((without[0][i], without[1][j]) for i, j in align(*keys))

    def _change(self, old: list[Kernel], new: list[Kernel]) -> KernelChange:
        details = (
            _describe_changes(old[0], new[0], self._same_work(old[0], new[0])) if len(old) == len(new) == 1 else []
        )
        kind = _classify_regrouping(len(old), len(new), bool(details))
        return KernelChange(kind, tuple(k.name for k in old), tuple(k.name for k in new), "; ".join(details))

    def _same_work(self, old: Kernel, new: Kernel) -> bool:
        return self.old_work[self.before.index(old)] == self.new_work[self.after.index(new)]


def _positions_of_work(
    kernels: Sequence[Kernel], equations: Sequence[EquationChange], side: str
) -> list[frozenset[object]]:
    """Return for each kernel a set that identifies its equations, without those that hold others (loops and calls).

    An equation is identified by its index in ``equations``. ``side`` is ``before`` or ``after``, the program of the
    kernels.
    """
    positions: dict[EquationPath | None, object] = {
        getattr(change, side): index for index, change in enumerate(equations)
    }
    # Records that were created by hand may hold plain strings.
    holders = {EquationPath(path).parent for path in positions if path is not None}
    return [
        frozenset(positions.get(path, (side, path)) for path in kernel.equations if path not in holders)
        for kernel in kernels
    ]


def _signature(kernel: Kernel, work: frozenset[object]) -> object:
    return kernel.opcode, kernel.kind, work, kernel.type_text, "" if work else _strip_number(kernel.name)


def _name_key(kernel: Kernel) -> object:
    return kernel.opcode, kernel.kind, _strip_number(kernel.name)


def _strip_number(name: str) -> str:
    """Return a name without the number by which XLA distinguishes equal names: ``wrapped_add.1``."""
    return re.sub(r"[.\d]+$", "", name)


def _classify_regrouping(old: int, new: int, differ: bool) -> Regrouping:
    """Return how a group of ``old`` kernels became a group of ``new`` ones, such as ``"split"`` or ``"merged"``.

    ``old`` and ``new`` are numbers of kernels. ``differ`` says whether a single kernel that became a single one has
    changed.
    """
    match min(old, 2), min(new, 2):
        case (0, _):
            return "appeared"
        case (_, 0):
            return "vanished"
        case (1, 1):
            return "changed" if differ else "same"
        case (2, 1):
            return "merged"
        case (1, 2):
            return "split"
    return "regrouped"


def _describe_changes(old: Kernel, new: Kernel, same_work: bool) -> list[str]:
    """Return descriptions of how two corresponding kernels differ, empty if they do not.

    ``same_work`` says whether they contain the same equations.
    """
    details = []
    if old.kind != new.kind:
        details.append(f"{old.kind} → {new.kind}")
    if old.type_text != new.type_text:
        details.append(f"{old.type_text} → {new.type_text}")
    if not same_work:
        details.append(
            f"{len(set(old.equations))} → {len(set(new.equations))} equations"
            if len(set(old.equations)) != len(set(new.equations))
            else "other equations"
        )
    was, now = old.bytes_read + old.bytes_written, new.bytes_read + new.bytes_written
    if was != now and not details:
        details.append(f"{was:,} → {now:,} B read and written")
    return details
