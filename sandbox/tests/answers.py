"""What an answer of the sandbox's own addresses must be."""

from hiero_sandbox.errors import REASONS


def assert_error(response, status, *words):
    """The one shape of every error, and words that its sentence must hold."""
    assert response.status_code == status, response.text
    body = response.json
    assert body.keys() - {"errors"} == {"code", "status", "message", "reason"}
    assert (body["code"], body["reason"]) == (status, REASONS[status])
    for word in words:
        assert word in body["message"], body["message"]
