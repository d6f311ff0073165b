"""Every operation: one class each with all its rules, what users call right under it, one file a family."""
