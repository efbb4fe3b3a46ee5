"""Binary relevance and the classifier chains: multi-label classifiers made of one binary model per label.

Also here: the links, their linear form, and trees of labels, which several of the chains use.
"""
