"""Figures of attention as PNG, SVG and PDF (matplotlib)."""
