"""The demonstration: learn the built-in language pair in minutes, and look inside.

lesson   what is learned from, and the settings
measure  how good it is on held-out sentences, and what its heads look at
explain  which heads carry the pronoun's antecedent, found by switching heads off
story    what is printed, and the page
"""
