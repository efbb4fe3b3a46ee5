"""Binary relevance and the classifier chains: multi-label classifiers made of one binary model per label.

The links, their linear form, and trees of labels that several of them use stand here, too.
"""
