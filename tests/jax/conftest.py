"""Programs of jax, each run in processes of its own: this one must not import jax, as collecting doctests would."""

collect_ignore = ["programs", "asked.py", "described.py", "one_run.py", "coverage_of.py", "values_of.py"]
