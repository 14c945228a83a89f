"""What comes out of a stylesheet, what a caller is told when nothing does, and what is remembered between calls: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import uvloop

from postroad.adapters.confined.frames import LARGEST_SOURCE_BYTES, SPARE_OUTPUT_BYTES
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.errors import Refused
from postroad.services.engines import Transformer

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = (
    '<xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
    'xmlns:xs="http://www.w3.org/2001/XMLSchema" exclude-result-prefixes="#all">'
)
NAME = '<?xml version="1.0" encoding="UTF-8"?>'


def sheet(body: str, declarations: str = "") -> str:
    return f'{HEAD}\n{declarations}\n<xsl:template match="/">\n{body}</xsl:template></xsl:stylesheet>'


ECHO = sheet('<o><xsl:value-of select="."/></o>')


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[SaxonWorkers]:
    pool = SaxonWorkers()
    yield pool
    await pool.close()


async def refusal(pool: SaxonWorkers, source: str, document: bytes = b"<r/>") -> Refused:
    with pytest.raises(Refused) as refused:
        await pool.transform(source, document, {})
    return refused.value


@pytest.mark.parametrize(
    ("output", "body", "expected"),
    [
        ('<xsl:output method="xml"/>', "<o>é€</o>", f"{NAME}<o>é€</o>"),
        ('<xsl:output method="xml" omit-xml-declaration="yes"/>', "<o/>", "<o/>"),
        ('<xsl:output method="xml" encoding="UTF-16"/>', "<o>é€</o>", f"{NAME}<o>é€</o>"),
        ('<xsl:output method="xml" encoding="ISO-8859-1"/>', "<o>é€</o>", f"{NAME}<o>é€</o>"),
        ('<xsl:output method="html"/>', "<html><br/>é</html>", "<!DOCTYPE HTML>\n<html><br>é</html>"),
        ('<xsl:output method="text"/>', "<xsl:text>a &lt; é</xsl:text>", "a < é"),
        ('<xsl:output method="text"/>', "", ""),
        ('<xsl:output method="json"/>', "<xsl:sequence select=\"map{'a': [1, 'é']}\"/>", '{"a":[1,"é"]}'),
    ],
)
async def test_output_is_what_the_stylesheet_asks_for_in_utf8(
    workers: SaxonWorkers, output: str, body: str, expected: str
) -> None:
    made = (await workers.transform(sheet(body, output), b"<r/>", {})).decode()
    assert made.replace("<html>\n", "<html>").strip() == expected


@pytest.mark.parametrize(
    "document",
    [
        "<r>é😀</r>".encode(),
        b"\xef\xbb\xbf" + "<r>é😀</r>".encode(),
        '<?xml version="1.0" encoding="UTF-8"?><r>é😀</r>'.encode(),
        '<?xml version="1.0" encoding="UTF-16"?><r>é😀</r>'.encode("utf-16"),
    ],
    ids=["plain", "byte order mark", "declared", "UTF-16"],
)
async def test_documents_come_in_the_encodings_that_the_network_takes(workers: SaxonWorkers, document: bytes) -> None:
    assert await workers.transform(ECHO, document, {}) == f"{NAME}<o>é😀</o>".encode()


async def test_latin_1_is_read_as_declared(workers: SaxonWorkers) -> None:
    document = '<?xml version="1.0" encoding="ISO-8859-1"?><r>é</r>'.encode("latin-1")
    assert await workers.transform(ECHO, document, {}) == f"{NAME}<o>é</o>".encode()


async def test_a_parameter_takes_the_declared_type_and_is_forgotten_after_the_call(workers: SaxonWorkers) -> None:
    declared = (
        '<xsl:param name="n" as="xs:integer" select="0"/><xsl:param name="s" as="xs:string" select="\'-\'"/>'
        '<xsl:param name="any" select="\'-\'"/>'
    )
    source = sheet("<o><xsl:value-of select=\"$n + 1, $s, $any, $any = 7, $any = '7'\"/></o>", declared)
    given = await workers.transform(source, b"<r/>", {"n": "41", "s": "é", "any": "7", "not declared": "x"})
    assert given == f"{NAME}<o>42 é 7 true true</o>".encode()
    with pytest.raises(Refused) as refused:  # '-' = 7 cannot be compared: the defaults are back
        await workers.transform(source, b"<r/>", {})
    assert refused.value.code == "transform.failed"


async def test_a_parameter_of_the_wrong_type_is_refused_by_name(workers: SaxonWorkers) -> None:
    source = sheet('<o><xsl:value-of select="$n"/></o>', '<xsl:param name="n" as="xs:integer"/>')
    with pytest.raises(Refused, match="many"):
        await workers.transform(source, b"<r/>", {"n": "many"})


async def test_xslt_3_is_spoken(workers: SaxonWorkers) -> None:
    source = sheet(
        "<o><xsl:for-each-group select='/r/i' group-by='@k'><g k='{current-grouping-key()}' n='{count(current-group())}'/>"
        "</xsl:for-each-group><xsl:value-of select=\"parse-json('[1,2]')?2, "
        "format-date(xs:date('2026-11-16'), '[D].[M].[Y]')\"/></o>"
    )
    made = await workers.transform(source, b'<r><i k="a"/><i k="b"/><i k="a"/></r>', {})
    assert made == f'{NAME}<o><g k="a" n="2"/><g k="b" n="1"/>2 16.11.2026</o>'.encode()


async def test_time_zones_can_be_had_though_no_file_can(workers: SaxonWorkers) -> None:
    """The engine brings what it needs; a worker could not load it any more."""
    body = (
        "<xsl:value-of select=\"format-dateTime(xs:dateTime('2026-07-01T12:00:00Z'), '[H01]:[m01] [ZN]', 'en', (), "
        "'America/New_York'), random-number-generator(1)?number lt 1, normalize-unicode('é', 'NFD') eq 'e&#x301;'\"/>"
    )
    assert (await workers.transform(sheet(body), b"<r/>", {})).decode().endswith("08:00 EDT true true")


# ---- faults


async def test_a_good_stylesheet_passes_the_check(workers: SaxonWorkers) -> None:
    await workers.check(ECHO)


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (sheet('<o>\n<xsl:value-of select="1 +"/></o>'), "line 5", "XPST0003"),
        (sheet('<xsl:call-template name="none"/>'), "line 4", "Cannot find a template named none"),
        (sheet('<xsl:value-of select="$none"/>'), "line 4", "Variable \\$none has not been declared"),
        (sheet("<xsl:bogus/>"), "line 4", "xsl:bogus"),
        (sheet("<o>"), "line 4", "must be terminated by the matching end-tag"),
        (sheet('<o><xsl:result-document href="x"/></o>'), "line 4", "xsl:result-document is disabled"),
        ('<!DOCTYPE x [<!ENTITY e "x">]>' + ECHO, "line 1", "DOCTYPE is disallowed"),
        ("no stylesheet", "line 1", "not allowed in prolog"),
        ("<r/>", "", "stylesheet"),
        ("", "", "."),
    ],
)
async def test_a_bad_stylesheet_is_refused_with_line_and_fault(
    workers: SaxonWorkers, source: str, line: str, words: str
) -> None:
    with pytest.raises(Refused, match=words) as refused:
        await workers.check(source)
    assert (refused.value.code, refused.value.pointer[: len(line)]) == ("stylesheet.invalid", line)
    assert "file:" not in refused.value.detail


async def test_a_stylesheet_may_have_so_many_bytes_and_no_more(workers: SaxonWorkers) -> None:
    room = LARGEST_SOURCE_BYTES - len(sheet("<!---->"))
    await workers.check(sheet(f"<!--{'x' * room}-->"))
    with pytest.raises(Refused, match="at most 262144") as refused:
        await workers.check(sheet(f"<!--{'é' * (room // 2 + 1)}-->"))
    assert refused.value.code == "stylesheet.invalid"


async def test_text_that_is_not_unicode_is_refused(workers: SaxonWorkers) -> None:
    with pytest.raises(Refused, match="UTF-8"):
        await workers.check(sheet("<o>\ud800</o>"))


async def test_a_fault_at_run_time_names_the_line_in_the_stylesheet(workers: SaxonWorkers) -> None:
    fault = await refusal(workers, sheet('<o>\n<xsl:value-of select="xs:integer(/r)"/></o>'), b"<r>many</r>")
    assert (fault.code, fault.pointer) == ("transform.failed", "line 5")
    assert 'Cannot convert string "many"' in fault.detail


async def test_a_stylesheet_may_refuse_in_its_own_words(workers: SaxonWorkers) -> None:
    source = sheet("<xsl:message>by the way</xsl:message><xsl:message terminate='yes'>no zip code</xsl:message>")
    fault = await refusal(workers, source)
    assert fault.code == "transform.failed"
    assert "xsl:message ended the transform: no zip code" in fault.detail


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"<r>", "the document cannot be read: .*"),
        (b'<!DOCTYPE r [<!ENTITY e "x">]><r>&e;</r>', "the document cannot be read: .*DOCTYPE is disallowed"),
        (b"<r>\xff</r>", "the document cannot be read: .*utf-8"),
        (b"<r/>\0<half/>", "NUL"),
        (b"", "the document cannot be read"),
    ],
)
async def test_a_document_that_cannot_be_read_is_refused(workers: SaxonWorkers, document: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words) as refused:
        await workers.transform(ECHO, document, {})
    assert refused.value.code == "transform.failed"


async def test_nothing_is_cut_at_a_nul(workers: SaxonWorkers) -> None:
    with pytest.raises(Refused, match="NUL"):
        await workers.transform(ECHO, b"<r/>", {"p": "half\0"})
    with pytest.raises(Refused, match="NUL"):
        await workers.check(ECHO + "\0<half/>")


async def test_output_may_be_twice_the_document_and_ten_mebibytes(workers: SaxonWorkers) -> None:
    def filling(count: int) -> str:
        return sheet(f'<xsl:value-of select="substring($x, 1, {count})"/>', text)

    text = "<xsl:output method='text'/><xsl:variable name='x' select=\"string-join((1 to 2621444) ! '1234')\"/>"
    allowed = SPARE_OUTPUT_BYTES + 2 * len(b"<r/>")
    assert len(await workers.transform(filling(allowed), b"<r/>", {})) == allowed
    assert (await refusal(workers, filling(allowed + 1))).code == "transform.output-too-large"


@pytest.mark.parametrize(
    "document",
    ["<r>" * 101 + "</r>" * 101, "<r " + " ".join(f'a{n}="1"' for n in range(201)) + "/>"],
    ids=["deep", "wide"],
)
async def test_what_the_engine_finds_too_complex_is_refused(workers: SaxonWorkers, document: str) -> None:
    fault = await refusal(workers, ECHO, document.encode())
    assert "limit" in fault.detail


# ---- what is not there


@pytest.mark.parametrize(
    "expression",
    [
        "Q{java:java.lang.System}getProperty('user.dir')",
        "Q{http://expath.org/ns/file}read-text('/etc/hostname')",
        "Q{http://saxon.sf.net/}evaluate('1')",
    ],
)
async def test_there_are_no_extension_functions(workers: SaxonWorkers, expression: str) -> None:
    assert (await refusal(workers, sheet(f'<xsl:value-of select="{expression}"/>'))).code == "stylesheet.invalid"


async def test_the_machine_is_not_described(workers: SaxonWorkers) -> None:
    names = ("java.home", "user.name", "user.dir", "os.name")
    body = "".join(f"<xsl:value-of select=\"system-property('{name}')\"/>" for name in names)
    body += '<xsl:value-of select="static-base-uri()"/>'
    made = await workers.transform(sheet(body, "<xsl:output method='text'/>"), b"<r/>", {})
    assert made == b"file:///"


# ---- the shape of it


async def test_queries_are_answered(workers: SaxonWorkers) -> None:
    assert await workers.query("sum(/r/i) || 'é'", b"<r><i>1</i><i>2</i></r>") == f"{NAME}3é".encode()
    with pytest.raises(Refused, match="XPST0003"):
        await workers.query("1 +", b"<r/>")


async def test_the_workers_are_a_transformer(workers: SaxonWorkers) -> None:
    transformer: Transformer = workers
    assert await transformer.transform(ECHO, b"<r>1</r>", {})


async def test_more_stylesheets_than_are_kept_compiled_still_work(workers: SaxonWorkers) -> None:
    sources = [sheet(f"<o>{n}</o>") for n in range(40)]
    for _ in range(2):
        made = [await workers.transform(source, b"<r/>", {}) for source in sources]
        assert made == [f"{NAME}<o>{n}</o>".encode() for n in range(40)]
    assert len(workers.process_ids) == 1


@pytest.mark.asyncio(loop_scope="function")
async def test_saxon_workers_run_on_uvloop() -> None:
    async def through() -> bytes:
        pool = SaxonWorkers()
        try:
            return await pool.transform(ECHO, b"<r>1</r>", {})
        finally:
            await pool.close()

    made = await asyncio.to_thread(uvloop.run, through())
    assert made == f"{NAME}<o>1</o>".encode()
