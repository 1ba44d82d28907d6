"""Models behind HTTP: LibreTranslate's API, and one that explains translations.

A request for a translation passes through these files in this order:

    http/limits       size limit, log line, metrics
    api/libretranslate (or v1, files)   the operation
    access/admission  body (api/requests), key, rate and size of the request
    queue/routing     which model, or which two in turn (api/detection, if the source is auto)
    queue/pivot       translates along the route
    queue/service     queues jobs and waits for them, until the deadline or a disconnection
    queue/batching    batches of the sentences of all requests, on one thread (queue/jobs)

Documents and HTML pages are read and written by other processes (`documents/processes`), for which
threads wait (`queue/client_threads`); `http/watchdog` watches the event loop.
`http/app` puts the parts together, `api/spec` describes them, `page` is the page at /, `http/run`
and `http/slow_client` run uvicorn.

No user's text is logged or stored. fastapi and uvicorn speak HTTP, python-multipart reads forms,
prometheus-client counts, py3langid detects languages (all in the extra `serve`).
"""
