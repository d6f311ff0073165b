"""What the rooms of this layer need of the system: files, threads, logs, and what layers above hand down."""
