"""Errors and warnings about a user's input; the command line prints them as one sentence."""


class InputError(ValueError):
    """Invalid input: one sentence with what was wrong, where, and what to do. Exit code 2."""


class StorageError(InputError):
    """A file could not be written: the disk is full, or a limit on files is reached."""


class BusyError(InputError):
    """Another process is writing what this one was to write."""


class InputWarning(UserWarning):
    """Part of the input was skipped: one sentence with what, where, and why."""
