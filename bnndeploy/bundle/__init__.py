"""Packing a model with what it needs on another machine."""
