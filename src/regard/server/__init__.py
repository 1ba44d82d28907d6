"""Models behind HTTP: LibreTranslate's API, and one that shows what a model looked at.

    app ─▶ gate          every request: size limits, log line, metrics, no exception gets out
     ├─ libre, files     LibreTranslate's API ─▶ asked (what came), answers (what goes back)
     ├─ inside, view     our own ─▶ seen (both), streaming, touching; spec describes all of it
     ├─ page ─▶ front/   the page at /, which asks view
     └─ service ─▶ catalogue (models by direction), batching (requests put together),
                   pivot (through a third language), detection, keys, rates
    run ─▶ patience      uvicorn, signals; no request may come slowly

Nobody's text is logged or kept. fastapi and uvicorn speak HTTP, python-multipart reads forms,
prometheus-client counts, py3langid tells languages apart (all in the extra `serve`).
"""
