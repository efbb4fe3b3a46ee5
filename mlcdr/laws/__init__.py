"""Laws that a method must obey to be compared with others, put to a class of the user's own.

Each law takes one part of a method (a learner, a label space …) in the place it has in the line
x → feature space → learner → label space → threshold, with least squares for the rest, and asks for nothing that a
method may do otherwise for good reason, but for two: a chain or a random choice of labels depends on their order, and
what is learned row by row depends on the rows' order. Such laws are left out by name.
"""
