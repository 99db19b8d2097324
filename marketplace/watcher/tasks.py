"""The watcher's work: tasks in threads, and how their results are printed."""

import enum
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

TaskKey = TypeVar("TaskKey", bound=Hashable)
Result = TypeVar("Result")


class Tasks(Generic[TaskKey, Result]):
    """Tasks in progress, each in a thread and under a key."""

    def __init__(self, places: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(places, name)
        self._tasks: dict[TaskKey, Future[Result]] = {}
        self.changed = threading.Event()  # a task has ended, or there may be a new one

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[TaskKey]:
        return iter(self._tasks)

    def begin(self, key: TaskKey, task: Callable[..., Result], *arguments: object) -> None:
        self._tasks[key] = self._threads.submit(task, *arguments)
        self._tasks[key].add_done_callback(lambda _: self.changed.set())

    def take_ended(self) -> Iterator[Result]:
        """Yield the results of the tasks that have ended. Raises the tasks' own errors.

        If the caller fails with a result, the next call yields it again.
        """
        for key, task in [*self._tasks.items()]:
            if task.done():
                if not task.exception():
                    yield task.result()
                del self._tasks[key]
                task.result()

    def wait(self, seconds: float) -> None:
        """Wait until something has changed, for at most this many seconds."""
        self.changed.wait(seconds)
        self.changed.clear()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Done(enum.Enum):
    """The result of one piece of work, in the operator's words."""

    SELLERS = "sellers checked"
    TOKENS = "tokens checked"
    LISTED = "NFTs listed"
    TAKEN_OFF = "NFTs taken off the order book"
    OFFER_LISTS = "lists of offers checked"
    OFFERS = "offers changed"
    UNCHANGED = "NFTs found unchanged"
    UNDECIDED = "NFTs not decided yet"
    NOT_CHECKED = "not checked"
    UNREADABLE = "lists with NFTs that cannot be read"
    COMPLETED = "NFTs completed"
    INCOMPLETE = "NFTs still incomplete"
    COLLECTIONS = "collections read"
    COLLECTIONS_LATE = "collections not read yet"

    @property
    def is_final(self) -> bool:
        """Whether no further check is needed."""
        return self not in (Done.UNDECIDED, Done.NOT_CHECKED)


def is_complete(counts: Counter[Done]) -> bool:
    """Whether nothing was left out."""
    return not counts.keys() & {Done.UNDECIDED, Done.NOT_CHECKED, Done.UNREADABLE}


def summary(counts: Counter[Done]) -> str:
    """The counts as one line, such as ``tokens checked: 3, NFTs listed: 1``."""
    return ", ".join(f"{done.value}: {counts[done]}" for done in Done if counts[done])
