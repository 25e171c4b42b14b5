"""The operators of the domain ``ai.bnndeploy``: names, bit packing and NumPy semantics."""
