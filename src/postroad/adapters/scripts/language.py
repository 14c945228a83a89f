"""The part of Starlark that scripts may use, and our Starlark code around them: message and meaning of results.

Rules: a script gets the language, ``struct`` and ``json``, and nothing with side effects. It cannot load anything.
The message is frozen, so that no script can change what the next one sees. A boolean decides; None and empty results
mean no match; text, dicts and lists are new content; a number is an error.
"""

from __future__ import annotations

from starlark import AstModule, Dialect, Globals, LibraryExtension, parse

SCRIPT = "script"  # as faults name it

_TREE = """
def found(children, path):
    names = path.split("/")
    for name in names[:-1]:
        children = [below for child in children if name == "*" or child.name == name for below in child.children]
    return [child for child in children if names[-1] == "*" or child.name == names[-1]]

def first(children, path):
    return (found(children, path) or [None])[0]

def first_text(children, path):
    return getattr(first(children, path), "text", None)

def element(name, namespace, attributes, text, children):
    return struct(
        name = name,
        namespace = namespace,
        attributes = attributes,
        text = text,
        children = children,
        find = partial(first, children),
        find_all = partial(found, children),
        value = partial(first_text, children),
    )

def tree(listed):
    below = []
    root = None
    for parent, name, namespace, attributes, text in listed:
        children = []
        made = element(name, namespace, attributes, text, children)
        below.append(children)
        if parent < 0:
            root = made
        else:
            below[parent].append(made)
    return root
"""

_MESSAGE = """
load("tree", "tree")
message = struct(
    text = text,
    json = json.decode(values) if values != None else None,
    xml = tree(json.decode(elements)) if elements != None else None,
    media_type = media_type,
    headers = headers,
    routing_key = headers.get("routing_key"),
)
"""

_MEANING = """
HOW = "; return True or False to decide, or a string, dict or list as the new content"

def content(result):
    if type(result) == "string":
        return ["text", result]
    if type(result) in ("dict", "list", "tuple"):
        return ["json", json.encode(result)]
    fail("route returned a value of type " + type(result) + HOW)

def verdict(result, message):
    if result == None or type(result) == "bool":
        return ["same" if result else "no"]
    if type(result) != "struct":
        told = content(result)
        return told if result else ["no"]
    if result == message:
        return ["same"]
    if dir(result) != ["content", "media_type"] or type(result.media_type) != "string":
        fail("route returned a struct without just content and media_type" + HOW)
    return content(result.content) + [result.media_type]
"""

# The names are such that no script has them by accident; one that has them on purpose loses them here.
_ASK = """
load("message", __message = "message")
load("meaning", __verdict = "verdict")
__verdict(route(__message), __message)
"""

_TRY = """
load("message", __message = "message")
type(route(__message))
"""


def _dialect(*, loads: bool) -> Dialect:
    dialect = Dialect.extended()
    dialect.enable_load = loads
    dialect.enable_f_strings = True
    return dialect


GLOBALS = Globals.extended_by([LibraryExtension.StructType, LibraryExtension.Json])
TREE_GLOBALS = Globals.extended_by([LibraryExtension.StructType, LibraryExtension.Partial])
_OURS = _dialect(loads=True)
_THEIRS = _dialect(loads=False)

TREE = parse("tree", _TREE, _OURS)
MESSAGE = parse("message", _MESSAGE, _OURS)
MEANING = parse("meaning", _MEANING, _OURS)
ASK = parse("ask", _ASK, _OURS)
TRY = parse("ask", _TRY, _OURS)


def parse_script(script: str) -> AstModule:
    return parse(SCRIPT, script, _THEIRS)
