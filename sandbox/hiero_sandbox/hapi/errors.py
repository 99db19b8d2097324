"""What a gRPC call fails with."""

from grpc import StatusCode


class Failed(Exception):
    """A gRPC status other than OK, with a message."""

    def __init__(self, status: StatusCode, message: str) -> None:
        super().__init__(message)
        self.status = status
