"""Loop rerolling: a repeated region of a program (an unrolled Python loop, equal layers) becomes a loop of the program.

XLA compiles each iteration of an unrolled loop anew (its CPU back end clones even calls that stay calls). Before a
program is lowered, ``normalized_steps`` turns its equations into *steps*: it merges duplicate computations and orders
the steps so that repeats become visible (``reordering`` finds another order). ``repeated_regions`` finds runs of
steps that repeat. ``loop_detection`` derives the inputs and the carry of a loop (``loop_ir``), each iteration of
which is one *repeat*. ``value_stacks`` chooses the arrays that hold values which differ from repeat to repeat
(``concatenations`` finds those that the program concatenates), ``cost_model`` decides whether the loop is profitable,
and ``rewrite`` builds the program with loops, whose equations keep their numbers. ``repeat_op`` is the loop's
operation, ``repeat_lowering`` lowers it.

Compilers use the term rerolling for instructions; here it is applied to programs with their derivatives, which become
two loops, of which the second reads what the first has stacked.
"""

from ...names import make_lazy_attributes

__getattr__, __dir__, __all__ = make_lazy_attributes(__name__)
