"""From a request to a loaded executable, and its records."""
