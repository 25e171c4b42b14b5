"""The one error of the service: a message and the HTTP status it is answered with."""

from __future__ import annotations

from bnndeploy.errors import BnnDeployError


class RequestError(BnnDeployError):
    """Says why a request is refused.

    Args:
        status: HTTP status; the body of the answer is ``{"error": message}``.
        message: Subject, what was got, what was expected.
        retry_after: Seconds after which asking again makes sense.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


def bad_request(message: str) -> RequestError:
    """Returns the fault of a request that does not fit the protocol or the model."""
    return RequestError(400, message)
