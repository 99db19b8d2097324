"""Processes that write to a database without end, and tell what they were answered."""

import itertools
import time
from contextlib import contextmanager
from functools import partial

from harness.forks import fork
from harness.postgresql import until
from marketplace.store.database import SCHEMA
from marketplace.store.sqlite import SQLiteDatabase
from tests.store.tokens import insert_token


@contextmanager
def writing(path, number):
    """N writers, killed at the end. Yields a function that lists the names that they have inserted."""
    files = [path.with_name(f"{writer}.names") for writer in range(number)]

    def write(answers):
        database = SQLiteDatabase(path, SCHEMA)
        with answers.open("w", buffering=1) as file:
            for position in itertools.count():
                name = f"{answers.stem}-{position}"
                with database.write() as connection:
                    insert_token(connection, name)
                file.write(f"{name}\n")
                time.sleep(0.001)  # or another writer may wait for longer than it is patient

    def count(answers):
        return answers.read_text().count("\n") if answers.exists() else 0

    processes = [fork(partial(write, answers)) for answers in files]
    until(lambda: min(map(count, files)) > 10, "they do not write")
    try:
        yield lambda: [name for answers in files for name in answers.read_text().split()]
    finally:
        for process in processes:
            process.kill()
            process.join()
