"""Looking into what a call has run: where a value that should not be there came from."""
