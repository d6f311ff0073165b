"""Watched scripts: run as Python runs them, recorded, and written to files.

The watched process belongs to the user. Nothing here imports the engine, NumPy or a drawing package before
the script has made its first program, so settings made before the script's imports take effect as usual. The
page is drawn by a separate process.
"""
