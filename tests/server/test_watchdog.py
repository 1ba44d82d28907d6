"""An event loop that does not answer is in the log, with what all threads were doing."""

import asyncio
import subprocess
import sys
import threading

from regard.server.http.watchdog import watching
from servers import until


def test_an_event_loop_that_waits_for_something(caplog):
    def stand_still():
        until(lambda: "the event loop does not answer" in caplog.messages)

    async def work():
        with watching(asyncio.get_running_loop(), 0.05):
            stand_still()
            while "the event loop answers again" not in caplog.messages:
                await asyncio.sleep(0.005)

    asyncio.run(work())
    record = next(record for record in caplog.records if "not answer" in record.message)
    places = record.fields["threads"][threading.main_thread().name]
    assert any("test_watchdog.py" in place and "stand_still" in place for place in places)


FROZEN = """
import asyncio, re
from regard.server.http.watchdog import watching

def freeze():
    re.match(r"(a+)+$", "a" * 60 + "b")

async def work():
    with watching(asyncio.get_running_loop(), 0.1):
        await asyncio.sleep(0.2)
        freeze()

asyncio.run(work())
"""


def test_an_extension_that_holds_pythons_lock():
    """No thread of Python runs any more, so the interpreter's own watchdog writes."""
    process = subprocess.Popen(
        [sys.executable, "-c", FROZEN], stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        lines = iter(process.stderr.readline, "")
        assert any("Timeout" in line for line in lines)
        assert any("in freeze" in line for line in lines)
    finally:
        process.kill()
        process.communicate()
