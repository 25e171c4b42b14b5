"""The errors that bnndeploy raises on purpose.

::

    BnnDeployError
    ├── MissingExtraError (ImportError)   a package of an optional extra is not installed
    ├── RecipeError (ValueError)          a recipe, option or registered name is wrong
    ├── DataError (ValueError)            a data set, image or request cannot be used
    ├── CheckpointError (ValueError)      a run directory or checkpoint cannot be used
    ├── ExportError (ValueError)          a module cannot be expressed, or a file not be written
    ├── ModelFileError (ValueError)       a model file is missing, damaged or not ours
    ├── OperatorError (ValueError)        the inputs or attributes of an operator are wrong
    └── ParityError                       a deployed file does not compute what was trained

Every message names the subject, what was found, what was expected and what to do.
The command line prints it without a traceback and exits with 1.
"""

from __future__ import annotations


class BnnDeployError(Exception):
    """Groups every error that bnndeploy raises on purpose."""


class MissingExtraError(BnnDeployError, ImportError):
    """Says that an optional package is missing and which extra, or which of two, brings it."""

    def __init__(self, package: str, *extras: str) -> None:
        super().__init__(
            f"{package} is not installed; it comes with the extra "
            f"{' or '.join(f'[{extra}]' for extra in extras)}: "
            f'pip install "bnndeploy[{extras[0]}]"'
        )


class RecipeError(BnnDeployError, ValueError):
    """Says that a recipe, an option or a registered name is wrong."""


class DataError(BnnDeployError, ValueError):
    """Says that a data set, an image or a request cannot be used."""


class CheckpointError(BnnDeployError, ValueError):
    """Says that a run directory or a checkpoint cannot be used."""


class ExportError(BnnDeployError, ValueError):
    """Says that a module cannot be expressed in a form, or that a file cannot be written."""


class ModelFileError(BnnDeployError, ValueError):
    """Says that a model file is missing, damaged or not one of ours."""


class OperatorError(BnnDeployError, ValueError):
    """Says that the inputs or attributes of an operator are wrong."""


class ParityError(BnnDeployError):
    """Says that a deployed file does not compute what was trained."""
