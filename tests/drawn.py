"""Two drawings of one thing: a model is in float32, and each kernel of BLAS rounds its own way."""

import re

PLACE = re.compile(r"-?\d+(?:\.\d+)?")
NOT_SEEN = 0.05  # points; less is what another BLAS kernel or a second thread changes in float32


def drawn_alike(one: str, other: str) -> bool:
    """Tell whether two drawings differ by nothing that can be seen."""
    if PLACE.sub("", one) != PLACE.sub("", other):
        return False
    places = zip(PLACE.findall(one), PLACE.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= NOT_SEEN for a, b in places)
