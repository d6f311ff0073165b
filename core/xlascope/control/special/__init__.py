"""Special functions that are computed by iteration."""
