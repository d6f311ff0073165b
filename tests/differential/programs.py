"""Functions that calls hand to functions: each is made from the library that is to run it."""

from __future__ import annotations

from typing import Any


def square(library: Any) -> Any:
    return lambda x: x * x


def double(library: Any) -> Any:
    return lambda x: x + x


def bowl(library: Any) -> Any:
    """A function with one least value, where all elements are 1."""
    return lambda x, *rest: library.numpy.sum((x - 1) ** 2 * library.numpy.arange(1.0, len(x) + 1))


def identity(library: Any) -> Any:
    return lambda x: x


def total(library: Any) -> Any:
    return lambda x, *rest, **named: library.numpy.sum(x)


def first_half(library: Any) -> Any:
    return lambda x, *rest: x[: (len(x) + 1) // 2]


def add(library: Any) -> Any:
    return lambda x, y: x + y


def multiply(library: Any) -> Any:
    return lambda x, y: x * y


def maximum(library: Any) -> Any:
    return lambda x, y: library.numpy.maximum(x, y)


def weighted(library: Any) -> Any:
    return lambda i, j, *rest: 2 * i + j


def grid(library: Any) -> Any:
    return lambda *indices: sum(indices)


def running(library: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        return carry + x, carry * x

    return step


def counting(library: Any) -> Any:
    return lambda carry, x: (carry + 1, carry)


def step_of_loop(library: Any) -> Any:
    return lambda i, x: x + i


def small(library: Any) -> Any:
    return lambda x: (x < 10).all() if hasattr(x, "all") else x < 10


def one_more(library: Any) -> Any:
    return lambda x: x + 1


def mask(library: Any) -> Any:
    return lambda m, k=0: library.numpy.triu(m, k)


def always(library: Any) -> Any:
    return lambda *args: True


def never(library: Any) -> Any:
    return lambda *args: False


def is_list(library: Any) -> Any:
    return lambda x: isinstance(x, list)


def pair(library: Any) -> Any:
    return lambda *args: tuple(args)


def path_and_leaf(library: Any) -> Any:
    return lambda path, x, *rest: (library.tree_util.keystr(path), x)


def halve(library: Any) -> Any:
    return lambda x: 0.5 * x


def solve_twice(library: Any) -> Any:
    """The solver that belongs to `halve`: of a custom linear solve."""
    return lambda matvec, b: 2.0 * b


def raising(library: Any) -> Any:
    def function(*args: Any) -> Any:
        raise RuntimeError("the function's own error")

    return function


def wrong_arity(library: Any) -> Any:
    return lambda: None


def root_function(library: Any) -> Any:
    return lambda x: x * x - 2.0


def newton(library: Any) -> Any:
    def solve(f: Any, x: Any) -> Any:
        for _ in range(8):
            x = x - f(x) / (2.0 * x)
        return x

    return solve


def divide_by_slope(library: Any) -> Any:
    return lambda g, y: y / g(1.0)
