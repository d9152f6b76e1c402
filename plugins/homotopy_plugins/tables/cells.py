"""What people write into the cells of a table: numbers, amounts, dates, gaps.

A column is read as a whole, because one cell often says too little: ``1,234`` is a thousand beside
``2,500.75`` and little more than one beside ``0,5``; ``03/04/2024`` is in April if another cell is
``25/04/2024``.  How a column was read is a `Style`, which is kept for new rows.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from homotopy import MissingPackageError

__all__ = [
    "AMOUNTS",
    "GAPS",
    "GAPS_AMONG_NUMBERS",
    "PLAIN",
    "Cells",
    "Habits",
    "Style",
    "cells_of",
    "days_of",
    "decimal_of",
    "is_gap",
    "is_missing",
    "text_of_cell",
]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

# A cell with one of these has no value, whatever the column holds.
_GAPS = """
    na n/a n.a. #n/a #na <na> nan -nan nat null <null> (null) \\n ?
    #value! #div/0! #ref! #num! #name? #null!
"""
GAPS = frozenset(["", *_GAPS.split()])
# These have none in a column of numbers or dates; among words they are words: a class can be
# called "-", and a garage "none".
_AMONG_NUMBERS = """
    - -- --- – — . .. ... * none nil unknown unk nd n/d n.d. missing tbd undefined unspecified
    blank empty
    unbekannt fehlt fehlend leer k.a. k.a keine
    inconnu inconnue manquant manquante vide aucun aucune néant n.c. n.r.
    desconocido desconocida faltante vacío vacio ninguno ninguna s/d
"""
_SEVERAL_WORDS = (
    "not available", "not applicable", "not known", "no data", "no answer",
    "k. a.", "keine angabe", "keine angaben", "ohne angabe", "nicht bekannt", "nicht verfügbar",
    "nicht vorhanden", "nicht angegeben",
    "non renseigné", "non renseignée", "non disponible", "non connu", "pas de données",
    "sin datos", "sin dato", "no disponible", "no conocido", "no aplica",
)  # fmt: skip
GAPS_AMONG_NUMBERS = frozenset([*_AMONG_NUMBERS.split(), *_SEVERAL_WORDS])
# What may stand before or after an amount.
CURRENCY = (
    r"(?:[$€£¥₹₽₩₺₴₪฿]|US\$|R\$|C\$|A\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|"
    r"CZK|HUF|RUB|BRL|MXN|ZAR|TRY|kr\.?|zł|Kč|Rs\.?|Fr\.)"
)
# Between groups of three digits.
SPACES = " \u00a0\u2009\u202f'’_"
MINUS = str.maketrans("−–", "--")
MARKS = re.compile(rf"{CURRENCY}|%", re.IGNORECASE)
TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:[AP]M)?)?"
# The layout of a date, and how it is read; the first that reads every cell of a column is taken.
DATES: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (
        re.compile(
            r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
        ),
        ("ISO8601",),
    ),
    (re.compile(rf"\d{{4}}/\d{{1,2}}/\d{{1,2}}{TIME}", re.I), ("%Y/%m/%d",)),
    (re.compile(rf"\d{{1,2}}\.\d{{1,2}}\.\d{{4}}{TIME}", re.I), ("%d.%m.%Y",)),
    (re.compile(rf"\d{{1,2}}\.\d{{1,2}}\.\d{{2}}{TIME}", re.I), ("%d.%m.%y",)),
    (re.compile(rf"\d{{1,2}}/\d{{1,2}}/\d{{4}}{TIME}", re.I), ("%m/%d/%Y", "%d/%m/%Y")),
    (re.compile(rf"\d{{1,2}}/\d{{1,2}}/\d{{2}}{TIME}", re.I), ("%m/%d/%y", "%d/%m/%y")),
    (re.compile(rf"\d{{1,2}}-\d{{1,2}}-\d{{4}}{TIME}", re.I), ("%m-%d-%Y", "%d-%m-%Y")),
    (re.compile(rf"\d{{1,2}}[ -][A-Za-z]{{3}}[ -]\d{{4}}{TIME}", re.I), ("%d %b %Y",)),
    (re.compile(rf"\d{{1,2}}[ -][A-Za-z]{{3}}[ -]\d{{2}}{TIME}", re.I), ("%d %b %y",)),
    (re.compile(rf"[A-Za-z]{{3}} \d{{1,2}},? \d{{4}}{TIME}", re.I), ("%b %d %Y",)),
    (re.compile(rf"[A-Za-z]{{4,9}} \d{{1,2}},? \d{{4}}{TIME}", re.I), ("%B %d %Y",)),
    (re.compile(rf"\d{{1,2}} [A-Za-z]{{4,9}} \d{{4}}{TIME}", re.I), ("%d %B %Y",)),
)
COMPACT = "%Y%m%d"
FORMS = frozenset(["ISO8601", COMPACT]).union(*(forms for _, forms in DATES))
# Dates of eight digits lie between these; other whole numbers of eight digits do not all.
FIRST_DAY, LAST_DAY = 19000101, 21001231
CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")
# This many cells tell whether a layout is worth trying.
FEW = 20
# At least this many numbers of eight digits must all be days before they are taken for dates.
SEVERAL = 5


@attrs.frozen
class Habits:
    """How a file writes: its decimal mark where a column does not tell, what else is a gap, and
    whether the day comes before the month where dates do not tell."""

    decimal: str = "."
    missing: frozenset[str] = frozenset()
    day_first: bool | None = None


@attrs.frozen
class Style:
    """How a column writes numbers.

    Attributes
    ----------
    kind : {"number", "date", "clock"}
    decimal : {".", ","}
    marks : bool
        Whether there are currencies, per cent signs or separators of thousands.
    form : str or None
        The layout of dates, as for `datetime.strptime`; the time of the day may follow.
    sure : bool
        Whether the cells left no doubt about decimal mark or layout.
    """

    kind: str = "number"
    decimal: str = "."
    marks: bool = False
    form: str | None = None
    sure: bool = True

    def to_json(self) -> list[Any]:
        return [self.kind, self.decimal, self.form]

    @classmethod
    def from_json(cls, data: Any) -> Style:
        """What `to_json` made; ValueError if it is anything else."""
        known = isinstance(data, list) and len(data) == 3
        if not known or data[0] not in ("number", "date", "clock") or data[1] not in (".", ","):
            raise ValueError("its style of numbers is not one of ours")
        if data[2] is not None and data[2] not in FORMS:
            raise ValueError("its layout of dates is not one of ours")
        return cls(data[0], data[1], form=data[2])


PLAIN = Style()


@attrs.frozen(eq=False)
class Cells:
    """The cells of a column as numbers: NaN where there is none, which cells are no numbers at all,
    how they were read, and what else was taken for a gap."""

    values: Array
    wrong: Index
    style: Style
    gaps: Counter[str]


def is_gap(entry: Any, missing: frozenset[str] = frozenset()) -> bool:
    """Whether a cell has no value, whatever its column holds."""
    if isinstance(entry, str):
        text = entry.strip()
        return text.casefold() in GAPS or text in missing
    return is_missing(entry) or (bool(missing) and text_of_cell(entry) in missing)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA: nothing else differs from itself or refuses to say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def text_of_cell(entry: Any) -> str:
    """A cell as a text; whole numbers without a fraction, in whatever way the file keeps them."""
    if isinstance(entry, bytes):
        return entry.decode("utf-8", "replace")
    if (
        isinstance(entry, float | np.floating)
        and float(entry).is_integer()
        and abs(float(entry)) < 1e15
    ):
        return str(int(entry))
    return str(entry).strip()


# ---------------------------------------------------------------------- amounts


def _body(text: str) -> tuple[str, bool, bool]:
    """The digits and separators of an amount, whether it is negative, and whether it has marks."""
    text = text.translate(MINUS)
    below = text.startswith("(") and text.endswith(")")
    bare = MARKS.sub("", text[1:-1] if below else text).strip(" \u00a0\u202f")
    marks = below or len(bare) != len(text)
    if bare.endswith("-") and not bare.startswith("-"):
        bare = "-" + bare[:-1]
    if bare[:1] in ("-", "+"):
        below = below != (bare[0] == "-")
        bare = bare[1:].strip(" \u00a0\u202f")
    return bare, below, marks


def _pattern(decimal: str) -> re.Pattern[str]:
    comma = re.escape("," if decimal == "." else ".")
    point = re.escape(decimal)
    return re.compile(
        rf"\d{{1,3}}(?:{comma}\d{{2,3}})*{comma}\d{{3}}(?:{point}\d*)?"
        rf"|\d{{1,3}}(?:[{SPACES}]\d{{3}})+(?:{point}\d*)?"
        rf"|(?:\d+{point}?\d*|{point}\d+)(?:[eE][-+]?\d+)?"
    )


AMOUNTS = {decimal: _pattern(decimal) for decimal in (".", ",")}
NOT_DIGITS = re.compile(rf"[{SPACES}]")


def _amount(text: str, decimal: str) -> tuple[float, bool]:
    """An amount, and whether it has marks; ValueError if it is none."""
    body, below, marks = _body(text)
    if AMOUNTS[decimal].fullmatch(body) is None:
        raise ValueError
    bare = NOT_DIGITS.sub("", body)
    whole = bare.replace("," if decimal == "." else ".", "")
    marks = marks or len(whole) != len(body)
    value = float(whole.replace(",", "."))
    return (-value if below else value), marks


_PLAIN = re.compile(r"-?(\d+)([.,])(\d+)")
_VOTE = re.compile(r"\d[\d.,]*[.,]\d*")


def _vote(text: str) -> str | None:
    """The decimal mark that a text leaves no doubt about."""
    plain = _PLAIN.fullmatch(text)
    if plain is not None and len(plain[3]) != 3:
        return plain[2]
    body, _, _ = _body(text)
    body = NOT_DIGITS.sub("", body)
    if _VOTE.fullmatch(body) is None:
        return None
    last = max(body.rfind("."), body.rfind(","))
    mark, other = body[last], "," if body[last] == "." else "."
    if body.count(mark) > 1:
        # Several of them separate thousands, or parts of an address or a version.
        return other if other not in body and AMOUNTS[other].fullmatch(body) else None
    if other in body:
        return mark
    # A single mark before three digits may be either, unless a zero or too much stands before it.
    doubtful = len(body) - last - 1 == 3 and 1 <= last <= 3 and body[0] != "0"
    return None if doubtful else mark


_DOUBTFUL = re.compile(r"\d{1,3},\d{3}")
_SMALL = re.compile(r"[1-9]\d{0,2}")


def decimal_votes(texts: Iterable[Any]) -> Counter[str]:
    """How many cells leave no doubt, by decimal mark; ``1,234`` counts as "doubtful"."""
    votes: Counter[str] = Counter()
    for text in texts:
        if not isinstance(text, str) or ("." not in text and "," not in text):
            continue
        text = text.strip()
        mark = _vote(text)
        if mark is not None:
            votes[mark] += 1
        elif "," in text and _DOUBTFUL.fullmatch(_body(text)[0]):
            votes["doubtful"] += 1
    return votes


def decimal_of(columns: Sequence[Sequence[str]], separated_by: str = ",") -> str:
    """The decimal mark of a table, for columns that do not tell."""
    with_commas = [column for column in columns if any("," in cell for cell in column)]
    votes: Counter[str] = Counter()
    for column in with_commas:
        votes += decimal_votes(column)
    if votes[","] or votes["doubtful"]:
        for column in columns:
            if not any("," in cell for cell in column):
                votes += decimal_votes(column)
    if votes[","] != votes["."]:
        return "," if votes[","] > votes["."] else "."
    # Who separates by semicolons needs the comma for something else: decimals, unless the column
    # has smaller whole numbers than those with a comma.
    doubtful = votes["doubtful"] and not any(_counts_in_thousands(one) for one in with_commas)
    return "," if separated_by == ";" and doubtful else "."


def _counts_in_thousands(cells: Sequence[str]) -> bool:
    """Whether commas stand before three digits in several cells and the others are all whole
    numbers below 1000; decimals would have a comma there too, or fewer digits somewhere."""
    said = (cell.strip() for cell in cells if not is_gap(cell))
    bodies = [_body(text)[0] for text in said if text.casefold() not in GAPS_AMONG_NUMBERS]
    doubtful = [body for body in bodies if _DOUBTFUL.fullmatch(body) is not None]
    small = [body for body in bodies if _SMALL.fullmatch(body) is not None]
    return len(doubtful) >= SEVERAL and bool(small) and len(doubtful) + len(small) == len(bodies)


# ---------------------------------------------------------------------- dates


def days_of(moments: npt.NDArray[Any]) -> Array:
    """Moments (or spans of time) in days (since 1970), NaN where there is none."""
    nanoseconds = moments.astype(f"{moments.dtype.kind}8[ns]").astype(np.int64)
    return np.where(np.isnat(moments), np.nan, nanoseconds / 86400e9)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise MissingPackageError(
            "reading dates needs pandas, which is not installed: pip install pandas, or give days "
            "as numbers"
        ) from None
    return pandas


def _moments(texts: Sequence[str], form: str) -> Array:
    """Days since 1970, NaN for what is no date of this form; a time of the day may follow it."""
    pd = _pandas()
    if form == "ISO8601":
        found = pd.to_datetime(pd.Series(texts), format=form, errors="coerce", utc=True)
    else:
        joined = "-" if form[2] == "-" else " "
        plain = [re.sub(r"(?<=[A-Za-z\d])[ ,-]+(?=[A-Za-z\d])", joined, text) for text in texts]
        plain = [text.replace("T", " ") if "b" not in form.lower() else text for text in plain]
        known = pd.Series(plain)
        found = pd.to_datetime(known, format=form, errors="coerce", utc=True)
        for clock in ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S.%f"):
            if not found.isna().any():
                break
            more = pd.to_datetime(
                known, format=f"{form}{joined if joined == '-' else ' '}{clock}", errors="coerce",
                utc=True,
            )  # fmt: skip
            found = found.fillna(more)
    return days_of(found.dt.tz_localize(None).to_numpy(dtype="datetime64[ns]"))


def _dates(
    texts: Sequence[str], habits: Habits, learnt: Style | None
) -> tuple[Array, Style] | None:
    """Texts as days since 1970, where every one is a date of one layout."""
    forms: tuple[str, ...] = ()
    for layout, known in DATES:
        if all(layout.fullmatch(text) for text in texts[:FEW]):
            forms = known
            break
    if not forms:
        return None
    if len(forms) > 1 and habits.day_first:
        forms = forms[::-1]
    if learnt is not None and learnt.form in forms:
        forms = (learnt.form, *(form for form in forms if form != learnt.form))
    read = [(form, _moments(texts, form)) for form in forms]
    whole = [(form, days) for form, days in read if not np.isnan(days).any()]
    if not whole:
        form, days = min(read, key=lambda one: int(np.isnan(one[1]).sum()))
        return days, Style("date", form=form)
    form, days = whole[0]
    told = habits.day_first is not None or (learnt is not None and learnt.form == form)
    return days, Style("date", form=form, sure=len(whole) == 1 or told)


def _clocks(texts: Sequence[str]) -> Array | None:
    """Times of the day in hours."""
    found = [CLOCK.fullmatch(text) for text in texts]
    if any(one is None for one in found):
        return None
    parts = [one.groups() for one in found if one is not None]
    return np.array([int(h) + int(m) / 60.0 + int(s or 0) / 3600.0 for h, m, s in parts])


def _compact(values: Array) -> bool:
    """Whether whole numbers are all days, written as 20240131."""
    there = values[~np.isnan(values)]
    if there.size < SEVERAL or not np.all((there >= FIRST_DAY) & (there <= LAST_DAY)):
        return False
    if np.any(there != np.round(there)):
        return False
    return not np.isnan(_moments([str(int(value)) for value in there], COMPACT)).any()


# ---------------------------------------------------------------------- columns


def cells_of(raw: Any, habits: Habits, learnt: Style | None = None) -> Cells:
    """Read a column.

    Parameters
    ----------
    raw : sequence or array
        Texts of a text file, else whatever the file holds.
    habits : Habits
    learnt : Style, optional
        How the column was read in training; it decides where the cells do not.
    """
    none = np.empty(0, dtype=np.int64)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        values = raw.astype(np.float64)
        for text in habits.missing:
            try:
                values[values == float(text)] = np.nan
            except ValueError:
                continue
        return _as_days_if_compact(Cells(values, none, PLAIN, Counter()), learnt)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "Mm":
        style = Style("date", form="ISO8601") if raw.dtype.kind == "M" else PLAIN
        return Cells(days_of(raw), none, style, Counter())
    values = np.full(len(raw), np.nan)
    texts: list[str] = []
    places: list[int] = []
    moments = 0
    odd: list[int] = []
    for i, entry in enumerate(raw):
        if is_gap(entry, habits.missing):
            continue
        if isinstance(entry, str):
            texts.append(entry.strip())
            places.append(i)
        elif isinstance(entry, datetime.date):
            values[i], moments = _day(entry), moments + 1
        else:
            try:
                values[i] = _plain_number(entry)
            except TypeError:
                odd.append(i)
    where = np.array(places, dtype=np.int64)
    if not texts:
        style = Style("date", form="ISO8601") if moments else PLAIN
        found = Cells(values, np.array(odd, dtype=np.int64), style, Counter())
        return found if moments else _as_days_if_compact(found, learnt)
    among_numbers = bool(moments) or not np.isnan(values).all()
    read, style, gaps = _texts(texts, habits, learnt, among_numbers)
    # Where nothing else is said, "unknown" is a word.
    gap = np.array([text in gaps for text in texts])
    values[where] = read
    wrong = np.concatenate([where[np.isnan(read) & ~gap], np.array(odd, dtype=np.int64)])
    if moments and style.kind != "date":
        wrong = np.concatenate([wrong, where[~np.isnan(read)]])
        style = Style("date", form="ISO8601")
    return _as_days_if_compact(Cells(values, np.sort(wrong), style, gaps), learnt)


def _as_days_if_compact(cells: Cells, learnt: Style | None) -> Cells:
    known = learnt is not None and learnt.form == COMPACT
    if cells.style.kind != "number" or cells.style.marks or cells.wrong.size:
        return cells
    if (learnt is not None and not known) or not (known or _compact(cells.values)):
        return cells
    there = ~np.isnan(cells.values)
    days = cells.values.copy()
    days[there] = _moments([str(int(value)) for value in cells.values[there]], COMPACT)
    wrong = np.flatnonzero(there & np.isnan(days))
    return attrs.evolve(cells, values=days, wrong=wrong, style=Style("date", form=COMPACT))


def _day(entry: datetime.date) -> float:
    moment = _pandas().Timestamp(entry)
    if moment.tzinfo is not None:
        moment = moment.tz_convert("UTC").tz_localize(None)
    return float(moment.value / 86400e9) if moment.unit == "ns" else _day_of(moment)


def _day_of(moment: Any) -> float:
    return float((moment - type(moment)(1970, 1, 1)).total_seconds() / 86400.0)


def _plain_number(entry: Any) -> float:
    if isinstance(entry, bool | np.bool_ | int | float | np.number):
        return float(entry)
    if type(entry).__name__ == "Decimal":
        return float(entry)
    raise TypeError


def _texts(
    texts: list[str], habits: Habits, learnt: Style | None, among_numbers: bool = False
) -> tuple[Array, Style, Counter[str]]:
    """Texts as numbers, NaN for what is none; how they were read; and gaps among them.

    `among_numbers`: the other cells of the column are numbers or dates already, as in Excel.
    """
    gaps = Counter(text for text in texts if text.casefold() in GAPS_AMONG_NUMBERS)
    said = [text for text in texts if text.casefold() not in GAPS_AMONG_NUMBERS]
    values = np.full(len(texts), np.nan)
    if not said:
        return values, PLAIN, gaps if among_numbers else Counter()
    read, style = _numbers(said, habits, learnt)
    if np.isnan(read).any():
        days = _dates(said, habits, learnt)
        hours = _clocks(said) if days is None else None
        if days is not None and np.isnan(days[0]).sum() <= np.isnan(read).sum():
            read, style = days
        elif hours is not None:
            read, style = hours, Style("clock")
    at = 0
    for k, text in enumerate(texts):
        if text.casefold() not in GAPS_AMONG_NUMBERS:
            values[k] = read[at]
            at += 1
    return values, style, gaps


def _numbers(said: list[str], habits: Habits, learnt: Style | None) -> tuple[Array, Style]:
    usual = habits.decimal if learnt is None else learnt.decimal
    if usual == "." and not any("," in text or "_" in text for text in said):
        # Most columns are plain, and need no closer look.
        try:
            return np.array([float(text) for text in said]), PLAIN
        except ValueError:
            pass
    votes = decimal_votes(said)
    sure = bool(votes["."]) != bool(votes[","])
    if sure:
        decimal = "." if votes["."] else ","
    else:
        decimal = usual
    read: Callable[[str], tuple[float, bool]]
    if decimal == ".":
        read = _point
    else:

        def read(text: str) -> tuple[float, bool]:
            return _amount(text, ",")

    values, marks = np.full(len(said), np.nan), False
    for k, text in enumerate(said):
        try:
            values[k], marked = read(text)
        except ValueError:
            continue
        marks = marks or marked
    doubt = decimal == "." and marks and not sure and bool(votes["doubtful"])
    return values, Style("number", decimal, marks, sure=not doubt)


def _point(text: str) -> tuple[float, bool]:
    if "_" not in text:
        try:
            return float(text), False
        except ValueError:
            pass
    return _amount(text, ".")
