"""Two programs beside each other: two calls, or one call and the same with one thing changed."""
