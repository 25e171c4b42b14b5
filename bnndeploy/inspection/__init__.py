"""What a model file or a training run holds: layers, sizes, metadata."""
