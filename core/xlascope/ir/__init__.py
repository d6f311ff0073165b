"""Intermediate representation: abstract values, operations, jaxprs, their checker and printer."""
