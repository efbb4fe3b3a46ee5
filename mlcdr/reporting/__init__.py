"""What a results folder shows: tables in the papers' layouts, figures, and the comparison with the published numbers.

Nothing here prints or runs an experiment; each function returns text, plain data or the paths of the files it wrote.
"""
