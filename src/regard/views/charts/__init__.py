"""Charts of measurements, described as data: the same panels in any language, light or dark."""
