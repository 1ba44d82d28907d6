"""The one exception that the command line turns into a sentence and exit code 2."""


class InputError(ValueError):
    """Something a user can put right: one sentence with what was wrong, where, and what to do."""
