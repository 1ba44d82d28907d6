"""`regard watch`: a page with the curves and samples of runs, read from their folders.

    run_files   what a run's folder has, and what has been added since the last look
    server      the page and these additions over HTTP, on this machine only
    page/       the page: HTML, CSS and scripts

Training writes files and knows nothing of the page, so a run can be watched while it goes on,
after its end, and from another process; a page that nobody opens costs nothing.
"""
