"""The messages that nobody has acknowledged yet: a receiver may subscribe, or come back, later."""

from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

# At most; the oldest messages go first.
MESSAGES, BYTES, MESSAGES_OF_TOPIC = 10_000, 32 * 2**20, 100
SECONDS = 24 * 3600  # a message is kept at most so long


class Message(NamedTuple):
    id: int
    topic: str
    sender: str  # its did:key
    content: str
    tag: int
    sent_at: float  # seconds
    expires_at: float


class Mailbox:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # JavaScript rounds numbers from 2**53 on, and would acknowledge another message.
        self._ids = count(int(clock() * 1_000_000))
        self._messages: OrderedDict[int, Message] = OrderedDict()
        self._of_topic: dict[str, list[int]] = {}
        self._bytes = 0

    def put(self, topic: str, sender: str, content: str, tag: int, seconds: float) -> Message:
        """Keep a message, for some seconds."""
        now = self._clock()
        expires_at = now + min(seconds, SECONDS)
        message = Message(next(self._ids), topic, sender, content, tag, now, expires_at)
        self._messages[message.id] = message
        self._bytes += len(content)
        ids = self._of_topic.setdefault(topic, [])
        ids.append(message.id)
        if len(ids) > MESSAGES_OF_TOPIC:
            self.drop(ids[0])
        while len(self._messages) > MESSAGES or self._bytes > BYTES:
            self.drop(next(iter(self._messages)))
        return message

    def find(self, topic: str, receiver: str) -> list[Message]:
        """The messages of a topic for a receiver, the oldest first. None of its own comes back to it."""
        found = [self._messages[each] for each in self._of_topic.get(topic, ())]
        now = self._clock()
        for message in found:
            if message.expires_at <= now:
                self.drop(message.id)
        return [each for each in found if each.expires_at > now and each.sender != receiver]

    def get(self, number: int) -> Message | None:
        return self._messages.get(number)

    def drop(self, number: int) -> None:
        message = self._messages.pop(number)
        self._bytes -= len(message.content)
        ids = self._of_topic[message.topic]
        ids.remove(number)
        if not ids:
            del self._of_topic[message.topic]
