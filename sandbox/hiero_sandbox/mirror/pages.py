"""Lists of the mirror node: the rows that the parameters admit, in order, page by page."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from urllib.parse import urlencode

from flask import request

from hiero_sandbox import times
from hiero_sandbox.mirror import parameters
from hiero_sandbox.mirror.parameters import Document, Row

DEFAULT_LIMIT, MAX_LIMIT = 25, 100


def limit() -> int:
    return min(int(parameters.last("limit", str(DEFAULT_LIMIT))), MAX_LIMIT)


def is_ascending(default: str = "desc") -> bool:
    return parameters.last("order", default) == "asc"


def _place(row: Row, columns: Mapping[str, str]) -> list[int]:
    """The values of some columns of a row as numbers, to filter and sort by."""
    return [_number(row[column]) for column in columns.values()]


def _number(value: str | int | None) -> int:
    """An id or a timestamp as a number. A missing value becomes -1, which no filter admits."""
    if isinstance(value, int):
        return value
    if not value:
        return -1
    return times.from_consensus(value) if value.count(".") == 1 else parameters.to_number(value)


def _admitted(rows: Iterable[Row], columns: Mapping[str, str]) -> list[Row]:
    """The rows that the parameters of some columns admit.

    Two columns are compared as a pair: token.id=gte:0.0.5001&serialnumber=gt:7 admits all serial numbers of
    the tokens after 0.0.5001.
    """
    asked = [parameters.number_filter(name) for name in columns]
    low, high = [each.low for each in asked], [each.high for each in asked]
    return [
        row
        for row in rows
        if low <= (place := _place(row, columns)) <= high
        and all(map(parameters.NumberFilter.may_name, asked, place))
    ]


def page(
    name: str,
    rows: Iterable[Row],
    show: Callable[[Row], Document],
    columns: Mapping[str, str],
    order: str = "desc",
    others: Collection[str] = (),
    filters: Mapping[str, str] = {},
    **words: str,
) -> Document:
    """One page of the rows that the parameters admit, sorted, and the link to the next page.

    ``columns`` maps parameters to the columns that the rows are sorted by, ``filters`` maps those that only
    filter. ``others`` and ``words`` are parameters that the rows depend on. All parameters are checked before
    an iterator of rows begins.
    """
    parameters.require_known("limit", "order", *columns, *filters, *others, **words)
    _require_bounds(*columns)
    for parameter in filters.keys() & request.args.keys():
        rows = _admitted(rows, {parameter: filters[parameter]})
    rows, ascending = _admitted(rows, columns), is_ascending(order)
    rows.sort(key=lambda row: _place(row, columns), reverse=not ascending)
    chosen = rows[: limit()]
    return {name: [*map(show, chosen)], "links": links(chosen, columns, ascending)}


def _require_bounds(first: str, second: str = "") -> None:
    """Refuse the second parameter without the first one, or beside a gt or lt of the first one.

    If there are two, each may name one value.
    """
    for name in (first, second) if second else ():
        require_one_range(name, "Only one {0}/{0}e operator is allowed for {1}")
        if len(parameters.number_filter(name).named) > 1:
            raise parameters.Invalid(f"Only one equal (eq) operator is allowed for {name}")
    seconds = [value.rpartition(":")[0] for value in request.args.getlist(second)]
    if seconds and first not in request.args:
        raise parameters.Invalid(f"{second} without a {first} parameter filter")
    firsts = [value.rpartition(":")[0] for value in request.args.getlist(first)]
    for operator in ("gt", "lt"):
        if operator in firsts and any(each.startswith(operator) for each in seconds):
            raise parameters.Invalid(f"{first} must have {operator}e or eq operator")


def require_one_range(name: str, message: str) -> None:
    """Refuse, with the message, two lower bounds, or two upper bounds."""
    operators = [value.rpartition(":")[0] for value in request.args.getlist(name)]
    for operator in ("gt", "lt"):
        if sum(each.startswith(operator) for each in operators) > 1:
            raise parameters.Invalid(message.format(operator, name))


def links(
    page: Sequence[Row], columns: Mapping[str, str], ascending: bool, cut_at: int | None = None
) -> Document:
    """The link from a full page to the next one, which may be empty: the same request, after the last row.

    A page that is not full leads on from ``cut_at``, a time in nanoseconds, if the request was narrowed.
    """
    open_ended = [name for name in columns if not parameters.number_filter(name).named]
    if len(page) < limit() and cut_at:
        page = [{column: times.to_consensus(cut_at) for column in columns.values()}]
    elif len(page) < limit():
        return {"next": None}
    if not open_ended:
        return {"next": None}
    asked, onward = request.args.to_dict(flat=False), "gt" if ascending else "lt"
    for name in open_ended:
        operator = onward if name == open_ended[-1] else f"{onward}e"
        kept = [value for value in asked.get(name, ()) if not value.startswith(onward)]
        if not kept:
            asked.pop(name, None)  # it moves to the end
        asked[name] = [*kept, f"{operator}:{page[-1][columns[name]]}"]
    first = open_ended[0]
    bounds = [parameters.read_bounds(first, value) for value in asked[first] if value[1:2] == "t"]
    if max(low for low, _ in bounds) > min(high for _, high in bounds):
        return {"next": None}
    return {"next": f"{request.path}?{urlencode(asked, doseq=True, safe=':')}"}
