"""Studies of trained translators: length, context, alignment, and what a map shows."""
