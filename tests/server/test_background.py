"""Background work delays no other request."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from regard.server.api import libretranslate
from regard.server.http.errors import ApiError
from regard.server.queue.service import BackgroundThread
from servers import serving, set_timeout, until

PAGE = {"q": "<p>x</p>", "source": "fr", "target": "fr", "format": "html"}


def test_a_function_whose_asker_is_gone_is_not_called():
    called = []

    async def work():
        background, go = BackgroundThread(3), threading.Event()
        first = background.submit(lambda: called.append(1) or go.wait(10))
        second, third = (
            background.submit(lambda: called.append(2)),
            background.submit(lambda: called.append(3)),
        )
        with pytest.raises(ApiError) as refused:
            background.submit(lambda: called.append(4))
        assert refused.value.status == 503
        second.cancel()
        await asyncio.sleep(0)
        fifth = background.submit(lambda: called.append(5))  # its place is free again
        go.set()
        await asyncio.gather(first, third, fifth)
        background.close()

    asyncio.run(work())
    assert called == [1, 3, 5]


@pytest.mark.parametrize("step", ["parse_html", "_render"])
def test_slow_pages_hold_up_no_one_else(catalogue, monkeypatch, step):
    """Forty pages that take for ever: others are answered, and the pages are given up in time."""
    go, own = threading.Event(), getattr(libretranslate, step)
    monkeypatch.setattr(libretranslate, step, lambda *given: go.wait(120) and own(*given))
    fields = {**PAGE, "source": "en"}
    with serving(catalogue, timeout=1.5) as client, ThreadPoolExecutor(40) as pool:
        pages = [
            pool.submit(httpx.post, f"{client.address}/translate", json=fields, trust_env=False,
                        timeout=120)
            for _ in range(40)
        ]  # fmt: skip
        try:
            until(lambda: client.service.background._thread._work_queue.qsize() >= 39)
            set_timeout(client, 120)  # for the others
            for path in ("/detect", "/translate"):
                answer = client.post(path, json={**PAGE, "format": "text"})
                assert answer.status_code == 200
            assert {one.result().status_code for one in pages} == {503}
        finally:
            go.set()
        assert client.post("/translate", json=PAGE).status_code == 200
