"""Models in the formats of other projects: export and import."""
