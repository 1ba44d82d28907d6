"""Word vectors: a table of them, who is near whom, analogies, and the files they come in.

>>> import numpy as np
>>> table = Vectors(("man", "woman", "king", "queen"), np.array([[0, 0.1], [1, 0], [0, 1], [1, 1]]))
>>> table.analogy("man", "king", "woman", count=1)[0].word
'queen'
"""

from regard.vectors.files import read_vectors, write_vectors
from regard.vectors.table import Near, Vectors

__all__ = ["Near", "Vectors", "read_vectors", "write_vectors"]
