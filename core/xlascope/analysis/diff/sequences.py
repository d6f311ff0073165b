"""Alignment of two sequences: which items of one correspond to which items of the other, in order."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

Pair = tuple[int, int]

#: The shortest edit script is searched for up to this number of differences; the cost is quadratic in it.
MAX_DIFFERENCES = 1200


def align(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Pair]:
    """Return pairs of indices of equal items, ascending in both.

    The result is a longest such list, or just a long one where the search would be expensive.

    >>> align("abcd", "axcd")
    [(0, 0), (2, 2), (3, 3)]
    """
    shortest = _shortest_edit_script(before, after)
    return shortest if shortest is not None else list(_align_by_anchors(before, after))


def gaps(pairs: Sequence[Pair], end: Pair) -> Iterator[tuple[range, range]]:
    """Yield the index ranges between consecutive pairs, where either of both sequences has any index.

    ``end`` are the lengths of the sequences.

    >>> list(gaps([(0, 0), (2, 1)], (3, 2)))
    [(range(1, 2), range(1, 1))]
    """
    left = right = 0
    for i, j in (*pairs, end):
        if left < i or right < j:
            yield range(left, i), range(right, j)
        left, right = i + 1, j + 1


def _shortest_edit_script(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Pair] | None:
    """Return the pairs of a shortest edit script (Myers), or None when there are too many differences.

    ``reached[k]`` is how far into ``before`` a script of ``d`` edits can get on the diagonal k = i - j.
    """
    n, m = len(before), len(after)
    reached = {1: 0}
    steps: list[dict[int, int]] = []
    for d in range(min(n + m, MAX_DIFFERENCES) + 1):
        steps.append(dict(reached))
        for k in range(-d, d + 1, 2):
            down = k == -d or (k != d and reached[k - 1] < reached[k + 1])
            i = reached[k + 1] if down else reached[k - 1] + 1
            while i < n and i - k < m and before[i] == after[i - k]:
                i += 1
            reached[k] = i
            if i >= n and i - k >= m:
                return _backtrack(steps, n, m)
    return None


def _backtrack(steps: Sequence[dict[int, int]], i: int, j: int) -> list[Pair]:
    """Return the pairs of items that the shortest edit script keeps.

    ``steps[d]`` says how far into the first sequence each diagonal was reached before the ``d``-th edit, ``i`` and
    ``j`` are the lengths of both sequences.
    """
    pairs: list[Pair] = []
    for d in range(len(steps) - 1, -1, -1):
        reached, k = steps[d], i - j
        down = k == -d or (k != d and reached[k - 1] < reached[k + 1])
        start = reached[k + 1] if down else reached[k - 1]
        stop_i, stop_j = (start, start - k - 1) if down else (start, start - k + 1)
        while i > max(stop_i, 0) and j > max(stop_j, 0):
            i, j = i - 1, j - 1
            pairs.append((i, j))
        i, j = stop_i, stop_j
    pairs.reverse()
    return pairs


def _align_by_anchors(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Pair]:
    """Yield pairs of equal items, for long sequences that differ much.

    They are found among items that occur equally often in both, and by searches between these.
    """
    anchors = _longest_increasing(_match_by_rank(before, after))
    inner = list(gaps(anchors, (len(before), len(after)))) if anchors else []
    pairs = set(anchors)
    for left, right in inner:
        closer = _shortest_edit_script(before[left.start : left.stop], after[right.start : right.stop]) or []
        pairs.update((left.start + i, right.start + j) for i, j in closer)
    yield from sorted(pairs)


def _match_by_rank(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Pair]:
    """Return pairs of the k-th occurrences of each item that occurs equally often in both sequences, ascending."""
    occurrences: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, items in enumerate((before, after)):
        for index, item in enumerate(items):
            occurrences[item][side].append(index)
    equal = (sides for sides in occurrences.values() if len(sides[0]) == len(sides[1]))
    return sorted(pair for sides in equal for pair in zip(*sides, strict=True))


def _longest_increasing(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the longest subsequence of pairs whose second indices ascend; the first ones ascend already."""
    ends: list[int] = []
    last: list[int] = []
    previous: list[int | None] = []
    for index, (_, j) in enumerate(pairs):
        length = bisect_left(ends, j)
        if length == len(ends):
            ends.append(j)
            last.append(index)
        else:
            ends[length], last[length] = j, index
        previous.append(last[length - 1] if length else None)
    longest: list[Pair] = []
    cursor = last[-1] if last else None
    while cursor is not None:
        longest.append(pairs[cursor])
        cursor = previous[cursor]
    longest.reverse()
    return longest
