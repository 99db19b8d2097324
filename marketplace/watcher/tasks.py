"""The watcher's tasks in progress, each in a thread."""

import threading
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
