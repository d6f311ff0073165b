"""Side by side with jax: the same programs on both, in turn, each in processes of its own."""
