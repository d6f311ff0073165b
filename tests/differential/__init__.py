"""The differential judge: every public function, called alike here and in jax, and what comes back compared.

- `language`: a call as data; `building` makes its arguments, `answers` writes down what came of it
- `library`: the public functions of a library, found by walking its modules
- `worker`: the program of a process that has loaded one library and performs calls; `processes` drives such processes
- `sorts`, `arrays`, `draws`, `kinds`, `examples`, `generating`: calls drawn from a seed
- `comparing`, `accuracy`: what is a difference; `rules`: those that are meant, each with its reason
- `variants`: a call in other words; `witnesses`: who has our answer to one; `reference`: NumPy as a library
- `judging`: a run; `summary`: what it says; `shrinking`: a difference in its smallest form; `source`: as a program
- `faults`: planted mistakes that the judge has to find

How to read a difference and add a rule: docs/contributing/read_a_difference.md.
"""
