"""Handwriting in the file format that `read_strokes` reads."""

import json


def as_json(line):
    strokes = [[round(float(x), 5), round(float(y), 5), int(z)] for x, y, z in line.strokes]
    return json.dumps({"text": line.text, "strokes": strokes}, ensure_ascii=False)
