"""The one table that is printed."""

from benchmarks.rows import Row

HEADINGS = ("", "ours", "other", "ratio", "target", "")


def render(rows: list[Row]) -> str:
    cells = [HEADINGS]
    for row in rows:
        target = "" if row.target is None else f"{'>=' if row.at_least else '<='} {row.target:g}"
        met = {None: "", True: "met", False: "MISSED"}[row.is_met]
        cells.append((f"  {row.name}", row.ours, row.other, row.shown, target, met))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines, group = [_line(HEADINGS, widths), "  ".join("-" * width for width in widths)], None
    for row, line in zip(rows, cells[1:], strict=True):
        if row.group != group:
            group = row.group
            lines.append(group)
        lines.append(_line(line, widths))
    return "\n".join(lines)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    aligned = [
        first[0].ljust(first[1]),
        *(cell.rjust(width) for cell, width in others[:-1]),
        others[-1][0],
    ]
    return "  ".join(aligned).rstrip()
