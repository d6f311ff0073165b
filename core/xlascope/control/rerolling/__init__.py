"""What repeats in a program is written once: a Python loop that was traced step by step, layers alike, a function
called again and again become a loop of the program.

XLA compiles each step of an unrolled loop anew (its CPU back end clones even calls that stay calls). Before a program
is lowered, ``steps`` merges what is computed twice and finds the order in which repeats show (``gathering`` another
one), ``stretches`` finds runs of steps that repeat, ``loops`` what a repeat of a ``loop`` is given and what it hands
on, ``stacks`` which arrays hold what differs from repeat to repeat (``joining``: and which the program makes of them),
``weighing`` says whether the loop costs more than it spares, and ``writing`` makes the program with loops, whose
equations keep the numbers that they had. ``repeated`` is the loop's operation, ``lowering`` writes it.

Compilers call it rerolling, of instructions; here it is done to programs with their derivatives, which become two
loops, the second reading what the first has left.
"""

from ...names import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
