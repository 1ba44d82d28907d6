"""Coverage-guided fuzzing of all that reads foreign text, files and folders."""
