"""The demonstration: train on the built-in language pair in minutes, and inspect the model.

settings, data, curriculum   training budget, settings and sentences
scores                       scores on held-out sentences, and of attention heads
head_ablation                the heads that resolve `it`, found by switching heads off
report, run                  what is printed, and the whole sequence
spelling, series, shapes     three other tasks
"""
