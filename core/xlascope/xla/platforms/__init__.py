"""Which platforms there are: what hardware is here, which plugin runs it, starting that, and choosing among them.

A GPU or TPU is run by a *PJRT plugin*, a library that comes in a package of its own and is loaded into this process.
"""
