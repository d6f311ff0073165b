"""Programs for processes of their own: this one must not import jax, as collecting their doctests would."""

collect_ignore = ["everyday.py", "import_elsewhere.py", "programs.py"]
