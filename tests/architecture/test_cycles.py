"""Packages beside each other do not import each other in a circle, at any depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile

from tests.source_tree import PACKAGE, modules

Path = tuple[str, ...]


def sibling_imports(imports: Iterable[tuple[Path, Path]], packages: set[Path]) -> dict[Path, dict[str, set[str]]]:
    """Return, for each package, which of its subpackages import which others."""
    found: dict[Path, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for importing, imported in imports:
        common = len([*takewhile(lambda pair: pair[0] == pair[1], zip(importing, imported, strict=False))])
        parent, one, other = importing[:common], importing[: common + 1], imported[: common + 1]
        if one in packages and other in packages:
            found[parent][one[-1]].add(other[-1])
    return found


def find_circles(graphs: dict[Path, dict[str, set[str]]]) -> list[str]:
    circles = []
    for parent, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circles.append(f"{'/'.join(parent)}: {' → '.join(reversed(error.args[1]))}")
    return circles


def test_sibling_packages_form_no_circle() -> None:
    packages = {path.parent.relative_to(PACKAGE).parts for path in PACKAGE.rglob("__init__.py")}
    imports = [
        (module.path.relative_to(PACKAGE).with_suffix("").parts, tuple(name.split(".")[1:]))
        for module in modules()
        for name in module.imported_names()
        if name.startswith("postroad.")
    ]
    graphs = sibling_imports(imports, packages)
    assert len(graphs) > 10
    assert find_circles(graphs) == []


def test_a_circle_is_seen() -> None:
    packages = {("core",), ("core", "a"), ("core", "b"), ("core", "c")}
    imports = [(("core", "a", "x"), ("core", "b", "y")), (("core", "b", "z"), ("core", "c", "w"))]
    assert find_circles(sibling_imports(imports, packages)) == []
    imports.append((("core", "c", "w"), ("core", "a", "x")))
    [circle] = find_circles(sibling_imports(imports, packages))
    assert circle.startswith("core: ")
    assert {"a", "b", "c"} == set(circle.removeprefix("core: ").split(" → "))
