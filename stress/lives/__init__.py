"""Random lives of NFTs and offers, in the service and in a model of the ledger that knows nothing of it.

A story is a list of steps drawn from a seed: what people do on the ledger and here, while the mirror node
fails, lags and contradicts itself, and while the service dies at any commit or request. At any time each
event must name what happened on the ledger, each settled fee must be what was charged, and lastSync must be
no later than what is shown. Then the faults end, the watcher follows the ledger to its end, and the order
book must be what the model says, NFT by NFT. Then a sweep must find nothing.

    python -m stress.lives --seconds 600
"""

import time

from stress.lives.model import Mismatch
from stress.lives.steps import Step, draw, kind_of
from stress.lives.story import Story
from stress.lives.world import Weather, World, make_mortal

__all__ = ["World", "make_mortal", "play"]


def fails(world: World, seed: str, steps: list[Step]) -> str | None:
    """Play a story; returns what was wrong at its end, or None."""
    try:
        Story(world, seed, steps).play()
    except Mismatch as mismatch:
        return str(mismatch)
    return None


def shorten(world: World, seed: str, steps: list[Step], reason: str) -> tuple[list[Step], str]:
    """Leave out the steps that a story does not need to fail. Returns the rest, and the last mismatch."""
    position = 0
    while position < len(steps):
        shorter = steps[:position] + steps[position + 1 :]
        if found := fails(world, seed, shorter):
            steps, reason = shorter, found
        else:
            position += 1
    return steps, reason


def play(world: World, first: int, seconds: float, most: int) -> tuple[int, str | None]:
    """Play the stories of one seed after the other until the time is up, or one fails.

    Returns how many were played, and what to print of the one that failed.
    """
    end = time.perf_counter() + seconds
    for number in range(most):
        if time.perf_counter() > end:
            return number, None
        if number and number % 1000 == 0:
            print(f"{number:,} stories", flush=True)
        seed = str(first + number)
        steps = draw(seed)
        if reason := fails(world, seed, steps):
            steps, reason = shorten(world, seed, steps, reason)
            weather = Weather(seed)
            sky = f"force {weather.force}, lags {weather.lags}, clock {weather.skew // 10**9:+} s"
            lines = [f"  {step.name} {step.number}" for step in steps]
            return number, "\n".join([f"Seed {seed}, {kind_of(seed)}, {sky}: {reason}", *lines])
    return most, None
