"""Random documents in odd delimiters and charsets, and small independent readers of the three standards.

The readers share nothing with the product: they go byte by byte through an interchange and give its text as nested lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

LETTERS = "ABCxyz019 "
MARKS = "*:~^|!+'?<>=;,.\\#%&/-_\n"
FOREIGN = {
    "iso-8859-1": "äöüßéÅ", "iso-8859-2": "łżćőřŠ", "iso-8859-5": "ЖдЯ", "iso-8859-7": "ΩλΣ", "utf-8": "ä中Я€", "": "",
    "us-ascii": "",
}  # fmt: skip

Text = list[list[list[str]]]  # segments of elements of components
Whole = list[tuple[Text, str]]  # the documents of a stream, and the decimal mark in which each is written


@dataclass(frozen=True)
class X12Marks:
    element: str
    component: str
    terminator: str
    repetition: str


def any_marks(random: Random, count: int, pool: str) -> list[str]:
    return random.sample(sorted(set(pool)), count)


def any_text(random: Random, allowed: str) -> str:
    return "".join(random.choice(allowed) for _ in range(random.randint(1, 8))).strip() or "X"


# ---- X12 -------------------------------------------------------------------------------------------------------------


def x12_isa(marks: X12Marks, version: str) -> str:
    elements = ["00", " " * 10, "00", " " * 10, "ZZ", f"{'BUYER':15}", "ZZ", f"{'SELLER':15}", "261116", "1200"]
    elements += [marks.repetition or "U", version, "000000009", "0", "P", marks.component]
    return marks.element.join(["ISA", *elements]) + marks.terminator


def x12_interchange(random: Random, documents: int) -> tuple[str, list[Text]]:
    """An interchange, and the text of its documents; a repetition is a component of its own kind."""
    version = random.choice(["00401", "00501"])
    chosen = any_marks(random, 4, "*:~^|!+'<>=;#%&")
    terminator = "\n" if random.random() < 0.1 else chosen[2]
    marks = X12Marks(chosen[0], chosen[1], terminator, chosen[3] if version == "00501" else "")
    used = {marks.element, marks.component, marks.terminator, marks.repetition, "\n"}
    allowed = LETTERS + "".join(one for one in MARKS if one not in used)
    texts = []
    sets = ""
    for number in range(1, documents + 1):
        body = [["BEG", "00", "SA", f"PO{number}"]]
        body += [
            ["REF", *(_x12_element(random, marks, allowed) for _ in range(random.randint(1, 4)))] for _ in range(3)
        ]
        segments = [["ST", "850", f"{number:04d}"], *body, ["SE", str(len(body) + 2), f"{number:04d}"]]
        written = "".join(marks.element.join(one) + marks.terminator for one in segments)
        sets += written
        texts.append(x12_text(written, marks))
    head = x12_isa(marks, version)
    group = marks.element.join(["GS", "PO", "BUYER", "SELLER", "20261116", "1200", "1", "X", version + "0"])
    tail = marks.element.join(["GE", str(documents), "1"]) + marks.terminator
    tail += marks.element.join(["IEA", "1", "000000009"]) + marks.terminator
    return head + group + marks.terminator + sets + tail, texts


def _x12_element(random: Random, marks: X12Marks, allowed: str) -> str:
    separators = [marks.component, *([marks.repetition] if marks.repetition else [])]
    pieces = [any_text(random, allowed) for _ in range(random.randint(1, 3))]
    return "".join(piece + random.choice(separators) for piece in pieces[:-1]) + pieces[-1]


def x12_text(written: str, marks: X12Marks) -> Text:
    segments = [one for one in written.split(marks.terminator) if one]
    return [[_x12_pieces(element, marks) for element in one.split(marks.element)] for one in segments]


def _x12_pieces(element: str, marks: X12Marks) -> list[str]:
    found = [""]
    for letter in element:
        if letter == marks.component:
            found += ["component", ""]
        elif letter == marks.repetition:
            found += ["repetition", ""]
        else:
            found[-1] += letter
    return found


def x12_documents(stream: str) -> list[Text]:
    """Every set of a stream of interchanges, each in the delimiters of its own ISA."""
    found, rest = [], stream
    while rest:
        assert rest.startswith("ISA"), rest[:40]
        element = rest[3]
        pieces = rest.split(element, 16)
        marks = X12Marks(element, pieces[16][0], pieces[16][1], pieces[11] if pieces[12] >= "00402" else "")
        marks = X12Marks(
            element, marks.component, marks.terminator, "" if marks.repetition == "U" else marks.repetition
        )
        document: list[str] = []
        at = 0
        while True:
            end = rest.index(marks.terminator, at)
            segment, at = rest[at:end], end + 1
            tag = segment.split(element)[0]
            if tag not in ("ISA", "GS", "GE", "IEA"):
                document.append(segment)
            if tag == "SE":
                found.append(x12_text("".join(one + marks.terminator for one in document), marks))
                document = []
            if tag == "IEA":
                break
        rest = rest[at:]
    return found


# ---- EDIFACT ---------------------------------------------------------------------------------------------------------

SYNTAXES = {
    "UNOA": "us-ascii", "UNOC": "iso-8859-1", "UNOD": "iso-8859-2", "UNOE": "iso-8859-5", "UNOF": "iso-8859-7",
    "UNOY": "utf-8",
}  # fmt: skip


def edifact_interchange(random: Random, documents: int) -> tuple[bytes, Whole]:
    syntax = random.choice(sorted(SYNTAXES))
    charset, version = SYNTAXES[syntax], random.choice(["3", "4"])
    plain = random.random() < 0.3
    una = ":+.?*'" if version == "4" else ":+.? '"
    if not plain:
        chosen = any_marks(random, 5, ":+?*'|!~^<>=;#%\\")
        release = chosen[2] if random.random() < 0.8 else " "
        repetition = chosen[3] if version == "4" else " "
        una = chosen[0] + chosen[1] + random.choice(",.") + release + repetition + chosen[4]
    special = una[:2] + una[3:].replace(" ", "")
    allowed = LETTERS + FOREIGN[charset] + MARKS.replace("\n", "")
    if una[3] == " ":
        allowed = "".join(one for one in allowed if one not in special)
    texts: Whole = []
    messages = ""
    for number in range(1, documents + 1):
        body = [["BGM", "220", f"PO{number}"]]
        body += [
            ["FTX", *(_edifact_element(random, una, allowed) for _ in range(random.randint(1, 4)))] for _ in range(3)
        ]
        head = ["UNH", str(number), una[0].join(["ORDERS", "D", "96A", "UN"])]
        segments = [head, *body, ["UNT", str(len(body) + 2), str(number)]]
        written = "".join(una[1].join(one) + una[5] for one in segments)
        messages += written
        texts.append((edifact_text(written, una), una[2]))
    sent = una[1].join(["UNB", f"{syntax}{una[0]}{version}", "BUYER", "SELLER", f"261116{una[0]}1200", "9"]) + una[5]
    stream = ("" if plain else f"UNA{una}") + sent + messages + una[1].join(["UNZ", str(documents), "9"]) + una[5]
    return stream.encode(charset), texts


def _edifact_element(random: Random, una: str, allowed: str) -> str:
    separators = [una[0], *([una[4]] if una[4] != " " else [])]
    special = una[:2] + una[3:].replace(" ", "")
    pieces = []
    for _ in range(random.randint(1, 3)):
        text = any_text(random, allowed)
        pieces.append("".join(una[3] + one if one in special else one for one in text))
    return "".join(piece + random.choice(separators) for piece in pieces[:-1]) + pieces[-1]


def edifact_text(written: str, una: str) -> Text:
    """Components and repetitions of elements of segments, unreleased."""
    segments: Text = [[[""]]]
    at = 0
    while at < len(written):
        letter = written[at]
        if una[3] != " " and letter == una[3]:
            at += 1
            segments[-1][-1][-1] += written[at : at + 1]
        elif letter == una[5]:
            segments.append([[""]])
        elif letter == una[1]:
            segments[-1].append([""])
        elif letter in (una[0], una[4].strip() or una[0]):
            segments[-1][-1] += ["component" if letter == una[0] else "repetition", ""]
        else:
            segments[-1][-1][-1] += letter
        at += 1
    return segments[:-1]


def edifact_documents(stream: bytes) -> Whole:
    """Every message of a stream of interchanges, each read by its own UNA and UNB."""
    found: Whole = []
    rest = stream
    while rest:
        una = ":+.? '"
        with_una = rest.startswith(b"UNA")
        if with_una:
            una, rest = rest[3:9].decode("latin-1"), rest[9:]
        assert rest.startswith(b"UNB"), rest[:40]
        syntax, version = rest[4:8].decode(), rest[9:10].decode()
        una = una if with_una or version != "4" else ":+.?*'"
        text = rest.decode(SYNTAXES[syntax])
        taken: Text = []
        place = 0
        for segment in edifact_text(text, una):
            place = _end_of(text, place, una)
            tag = segment[0][0]
            if tag not in ("UNB", "UNZ"):
                taken.append(segment)
            if tag == "UNT":
                found.append((taken, una[2]))
                taken = []
            if tag == "UNZ":
                break
        rest = text[place:].encode(SYNTAXES[syntax])
    return found


def _end_of(text: str, at: int, una: str) -> int:
    while text[at] != una[5]:
        at += 2 if una[3] != " " and text[at] == una[3] else 1
    return at + 1


# ---- HL7 -------------------------------------------------------------------------------------------------------------

_HL7_CHARSETS = {"": "us-ascii", "8859/1": "iso-8859-1", "8859/2": "iso-8859-2", "UNICODE UTF-8": "utf-8"}
_NAMES = "FSRET"


def hl7_message(random: Random, number: int) -> tuple[bytes, list[list[str]]]:
    """A message in separators of its own, and its fields as text with the separators named."""
    marks = "".join(any_marks(random, 5, "|^~\\&$#%*!@+=:;"))
    charset = random.choice(sorted(_HL7_CHARSETS))
    allowed = LETTERS + FOREIGN[_HL7_CHARSETS[charset]] + "|^~\\&$#%*!@+=:;/"
    head = ["MSH", marks[1:], "LAB", "", "HIS", "", "20261116120000", "", f"ADT{marks[1]}A01", f"M{number}", "P", "2.5"]
    head += [""] * 5 + [charset]
    lines = [head, *(["NTE", str(place), _hl7_field(random, marks, allowed)] for place in range(3))]
    written = "\r".join(marks[0].join(line) for line in lines) + "\r"
    return written.encode(_HL7_CHARSETS[charset]), hl7_text(written, marks)


def _hl7_field(random: Random, marks: str, allowed: str) -> str:
    pieces = []
    for _ in range(random.randint(1, 3)):
        text = any_text(random, allowed)
        named = {mark: f"{marks[3]}{'FSRET'[place]}{marks[3]}" for place, mark in enumerate(marks)}
        pieces.append("".join(named.get(one, one) for one in text))
    return "".join(piece + random.choice([marks[1], marks[2], marks[4]]) for piece in pieces[:-1]) + pieces[-1]


def hl7_text(written: str, marks: str) -> list[list[str]]:
    """Fields of segments; a separator is written as its name, text as it is."""
    found = []
    for line in written.split("\r"):
        if not line:
            continue
        fields = line.split(marks[0])
        if fields[0] == "MSH":
            fields[1] = ""
        found.append([_hl7_plain(field, marks) for field in fields])
    return found


def _hl7_plain(field: str, marks: str) -> str:
    names = {marks[1]: "<component>", marks[2]: "<repetition>", marks[4]: "<subcomponent>"}
    text, at = "", 0
    while at < len(field):
        if field[at] == marks[3] and field[at + 2 : at + 3] == marks[3] and field[at + 1] in _NAMES:
            text += marks[_NAMES.index(field[at + 1])]
            at += 3
            continue
        text += names.get(field[at], field[at])
        at += 1
    return text


def hl7_documents(stream: bytes) -> list[list[list[str]]]:
    found: list[bytes] = []
    for line in stream.split(b"\r"):
        if line[:3] == b"MSH":
            found.append(line)
        elif line and line[:3] not in (b"FHS", b"BHS", b"BTS", b"FTS"):
            found[-1] += b"\r" + line
    texts = []
    for one in found:
        marks = one[3:8].decode()
        charset = one.split(b"\r")[0].split(marks[:1].encode())[17].decode()
        texts.append(hl7_text(one.decode(_HL7_CHARSETS[charset]), marks))
    return texts
