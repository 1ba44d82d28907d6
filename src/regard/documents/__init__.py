"""Document translation with the markup kept by word alignment; one file per format."""
