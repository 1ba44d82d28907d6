"""Translation models: segmenting, translating and assembling texts."""
