"""Special functions that are computed in loops."""
