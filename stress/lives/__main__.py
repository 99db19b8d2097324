"""``python -m stress.lives``: play stories until the time is up, or one fails."""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from harness.engines import running_on
from stress import lives
from stress.lives.world import World, make_mortal


def main() -> int:
    parser = argparse.ArgumentParser(description=lives.__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--verbose", action="store_true", help="print the service's log, too")
    parser.add_argument("--stories", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--most", type=int, default=1, help="end after this many failed stories")
    parser.add_argument(
        "--postgresql", dest="engine", action="store_const", const="postgresql", default="sqlite"
    )
    options = parser.parse_args()
    failures, played = 0, 0
    make_mortal()
    fast = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with running_on(options.engine), tempfile.TemporaryDirectory(dir=fast) as folder:
        print(f"Stories from seed {options.seed} on", flush=True)
        world = World(Path(folder))
        world.app.logger.disabled = not options.verbose
        left = options.seconds
        while left > 0 and played < options.stories and failures < options.most:
            began = time.perf_counter()
            more, failure = lives.play(world, options.seed + played, left, options.stories - played)
            played += more
            left -= time.perf_counter() - began
            if failure:
                failures, played = failures + 1, played + 1
                print(failure, flush=True)
        took = options.seconds - left
        summary = f"{played:,} stories, {world.events:,} events in {took:,.0f} s"
        print(f"{summary}: {failures or 'no'} mismatch", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
