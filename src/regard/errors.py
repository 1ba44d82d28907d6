"""The one exception that the command line turns into a sentence and exit code 2, and a warning."""


class InputError(ValueError):
    """Something a user can put right: one sentence with what was wrong, where, and what to do."""


class InputWarning(UserWarning):
    """Something in a user's files was passed over: one sentence with what, where, and why."""
