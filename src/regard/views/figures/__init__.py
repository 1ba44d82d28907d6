"""PNG, SVG and PDF figures drawn with matplotlib."""
