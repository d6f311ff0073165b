"""From a user's function to a program that an operation can hold, and the operation that calls one."""
