"""Recording and changing attention while a model runs: `record`, `intervene`."""
