"""Views of arrays: statistics, two-dimensional slices reduced to a screen, and where a NaN or the largest value is."""
