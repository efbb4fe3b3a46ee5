"""Tables and figures of results, in a layout: layouts are data.

It may import results and what is below them; it prints nothing and runs nothing.
It offers tables as Markdown, LaTeX, CSV and HTML, figures as SVG and PNG, and the layouts that describe them.
"""
