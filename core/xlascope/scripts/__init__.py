"""Scripts that are watched: run as Python runs them, remembered, and written to files.

A process that is watched is the user's. Nothing here loads the engine, NumPy or a package that draws before the script
has made its first program: what a script sets before its imports counts as it does alone. The page is drawn by a
process of its own.
"""
