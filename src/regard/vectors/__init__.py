"""Word vectors: learning them, a table with nearest words and analogies, and their files.

>>> import numpy as np
>>> table = Vectors(("man", "woman", "king", "queen"), np.array([[0, 0.1], [1, 0], [0, 1], [1, 1]]))
>>> table.analogy("man", "king", "woman", count=1)[0].word
'queen'
"""

from regard.vectors.files import read_vectors, write_vectors
from regard.vectors.table import Neighbor, Vectors

__all__ = ["Neighbor", "Vectors", "read_vectors", "write_vectors"]
