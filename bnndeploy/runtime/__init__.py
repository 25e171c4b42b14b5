"""Running model files; imports neither torch nor onnx."""

from bnndeploy.runtime.library import get_library_path
from bnndeploy.runtime.session import InferenceSession

__all__ = ["InferenceSession", "get_library_path"]
