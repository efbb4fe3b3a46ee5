"""Dual-space reduction: features and labels reduced together. One method a file."""
