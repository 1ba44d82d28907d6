"""Record, trace and change attention while a model runs: `record`, `trace`, `intervene`."""
