"""Graph passes: one file, one class, one verb each; ``pipeline.py`` gives their order."""
