"""How far apart two colours are for an eye, as tests/unit/report/draw_palette_test.cpp measures it.

OKLab (Ottosson 2020) on linear RGB; deuteranopia and protanopia by Machado, Oliveira and Fernandes 2009, severity 1.
"""
import re

KINDS = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "deuteranopic": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopic": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
TO_CONES = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
TO_OKLAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099], [0.0259040371, 0.7827717662, -0.8086757660]]


def rgb(text):
    """#rrggbb as three numbers from 0 to 1."""
    digits = re.fullmatch(r"#([0-9a-fA-F]{6})", text.strip())[1]
    return [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]


def linear(colour):
    return [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def distance(a, b, kind):
    """100 times the distance in OKLab."""
    seen = []
    for colour in (a, b):
        light = [min(max(each, 0), 1) for each in times(KINDS[kind], linear(colour))]
        seen.append(times(TO_OKLAB, [each ** (1 / 3) for each in times(TO_CONES, light)]))
    return 100 * sum((p - q) ** 2 for p, q in zip(*seen)) ** 0.5


def contrast(a, b):
    """WCAG 2: 1 to 21."""
    brightness = sorted(sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour))) for colour in (a, b))
    return (brightness[1] + 0.05) / (brightness[0] + 0.05)
