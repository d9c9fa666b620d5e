# SPDX-License-Identifier: GPL-2.0
"""Writes SVG. A picture has a light ground of its own, so that it is legible on a light and on a dark page."""

from xml.sax.saxutils import escape

INK = "#1b1f24"
FAINT = "#57606a"
RULE = "#d0d7de"
STOCK = "#8c959f"
PUMP = "#2f6fd0"
NATIVE = "#1a8f5a"
FAULT = "#c2410c"
PALE = {STOCK: "#eceff2", PUMP: "#e3edfb", NATIVE: "#e0f4ea", FAULT: "#fdebdf", RULE: "#f6f8fa"}
SANS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"


class Picture:
    """A picture of @width by @height pixels; @title is what a screen reader says."""

    def __init__(self, width, height, title, ground="#ffffff"):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            "<!-- SPDX-License-Identifier: GPL-2.0; made by Documentation/pictures/draw -->",
            f"<title>{escape(title)}</title>",
        ]
        self.rect(0.5, 0.5, width - 1, height - 1, fill=ground, stroke=RULE, radius=8)

    def rect(self, x, y, width, height, fill="none", stroke="none", radius=4, dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
                          f'fill="{fill}" stroke="{stroke}"{dash}/>')

    def text(self, x, y, words, size=13, color=INK, anchor="start", bold=False, mono=False):
        weight = ' font-weight="bold"' if bold else ""
        space = ' xml:space="preserve"' if mono else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-family="{MONO if mono else SANS}" font-size="{size}" '
                          f'fill="{color}" text-anchor="{anchor}"{weight}{space}>{escape(words)}</text>')

    def lines(self, x, y, words, step=17, **style):
        """Several lines of text, the first at @y"""
        for i, line in enumerate(words):
            self.text(x, y + i * step, line, **style)

    def line(self, x1, y1, x2, y2, color=RULE, width=1, dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" '
                          f'stroke-width="{width}"{dash}/>')

    def arrow(self, x1, y1, x2, y2, color=INK, width=1.6, dashed=False):
        """A straight arrow, horizontal or vertical; its head ends at (x2, y2)"""
        dx, dy = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
        self.line(x1, y1, x2 - 7 * dx, y2 - 7 * dy, color, width, dashed)
        base = (x2 - 8 * dx, y2 - 8 * dy)
        head = [(x2, y2), (base[0] - 4 * dy, base[1] - 4 * dx), (base[0] + 4 * dy, base[1] + 4 * dx)]
        self.parts.append(f'<polygon points="{" ".join(f"{x:g},{y:g}" for x, y in head)}" fill="{color}"/>')

    def curve(self, points, color, width=2.4):
        self.parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" '
                          f'stroke="{color}" stroke-width="{width}"/>')

    def dot(self, x, y, color, radius=3.5):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}"/>')

    def box(self, x, y, width, height, words, color=STOCK, size=13, sub=()):
        """A labelled box; @sub are smaller lines below the label"""
        self.rect(x, y, width, height, fill=PALE[color], stroke=color)
        top = y + height / 2 + size * 0.36 - len(sub) * 7.5
        self.text(x + width / 2, top, words, size=size, anchor="middle", bold=True)
        self.lines(x + width / 2, top + 16, sub, step=15, size=11, color=FAINT, anchor="middle")

    def save(self, path):
        with open(path, "w", encoding="utf-8") as out:
            out.write("\n".join(self.parts + ["</svg>"]) + "\n")
