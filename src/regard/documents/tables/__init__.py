"""Tables of strings: JSON and YAML. Values that are strings are translated, keys are not."""
