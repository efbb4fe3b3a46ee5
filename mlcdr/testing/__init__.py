"""Laws: properties that a method must have to be compared with others, checked on a class of the user (`mlcdr test`).

Each law takes one part of a method (a learner, a label space …) in its place in the line
x → feature space → learner → label space → threshold, with least squares for the other parts. A law requires nothing
that a good method may lack, with two exceptions: chains and random choices of labels depend on the order of the labels,
and methods that learn row by row depend on the order of the rows. Such laws are excluded by name (`--without`).

Imports `experiment` and the packages below; offers `candidates.load`, which finds
what is to be tested, and `checking.check`.
"""
