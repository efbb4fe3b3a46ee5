"""Feature-space reduction: from n×d features to n×m, m ≤ d, by extraction or by selection. One method per file.

The bases: `supervised` (checks), `linear` and `dependence` (extractors), `selection` and `informative` (selectors).
"""
