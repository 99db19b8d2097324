"""Debian's Firefox, as Playwright can drive it: started by Playwright in Firefox's place.

Playwright speaks WebDriver BiDi to it, and says with each context whether light or dark is preferred: by a
command that this Firefox does not know yet. So its answer is made here, and what is preferred is set when
Firefox starts. All else goes through as it is.
"""

import asyncio
import json
import re
import shutil
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

FIREFOX = shutil.which("firefox-esr")
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
UNKNOWN = {"emulation.setMediaFeaturesOverride"}


async def run(arguments: list[str]) -> int:
    """Run Firefox, and print another address to listen on than its own."""
    firefox = await asyncio.create_subprocess_exec(
        FIREFOX, *arguments, stderr=asyncio.subprocess.PIPE
    )
    address = await listening(firefox.stderr)

    async def relay(driver):
        async with connect(f"{address}/session", max_size=None) as browser:
            await asyncio.wait(
                [
                    asyncio.create_task(pass_commands(driver, browser)),
                    asyncio.create_task(pass_on(browser, driver)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )

    async with serve(relay, "127.0.0.1", 0, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        print(f"WebDriver BiDi listening on ws://127.0.0.1:{port}", file=sys.stderr, flush=True)
        async for _ in firefox.stderr:
            pass
        return await firefox.wait()


async def listening(lines) -> str:
    async for line in lines:
        if found := LISTENING.search(line.decode()):
            return found[1]
    raise SystemExit("Firefox does not listen")


async def pass_commands(driver, browser) -> None:
    async for message in driver:
        command = json.loads(message)
        if command["method"] in UNKNOWN:
            await driver.send(json.dumps({"type": "success", "id": command["id"], "result": {}}))
        else:
            await browser.send(message)


async def pass_on(source, target) -> None:
    async for message in source:
        await target.send(message)


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))
