"""Tables and figures of results, in a layout: layouts are data.

Imports results; prints nothing and runs nothing.
Offers tables as Markdown, LaTeX, CSV and HTML, figures as SVG and PNG, and the layouts that describe them.
"""
