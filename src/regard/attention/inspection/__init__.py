"""Record and change attention while a model runs: `record`, `intervene`."""
