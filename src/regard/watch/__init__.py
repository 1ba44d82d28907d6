"""`regard watch`: a page with the curves and samples of runs, read from their folders.

    run_files   what a run's folder has, and what has been added since the last request
    server      the page and these additions over HTTP, on this machine only
    page/       the page: HTML, CSS and scripts

Training only writes files and does not depend on the page, so a run can be watched while it goes
on, after its end, and from another process; a page that is not open costs nothing.
"""
