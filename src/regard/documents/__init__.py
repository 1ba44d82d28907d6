"""Documents through a translator, their markup kept by word alignment; one file per format."""
