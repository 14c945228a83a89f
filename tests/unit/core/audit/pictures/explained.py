"""An explanation with everything that one can have in it, made by hand."""

from __future__ import annotations

from typing import Any

from postroad.core.model.message import Argument
from postroad.core.model.rule import RuleRole
from postroad.core.routing.explain.condition_text import ExplainedCondition
from postroad.core.routing.explain.explanation import (
    ExplainedCopy,
    ExplainedInvocation,
    ExplainedRule,
    ExplainedService,
    RouteExplanation,
)

GCIDS = {"MyBiz/Purchasing": "a" * 16, "TheAcmeCompany/Supply": "b" * 16}


def invocation(service: str, place: int | None, *children: ExplainedInvocation, **more: Any) -> ExplainedInvocation:
    fields: dict[str, Any] = {
        "service": service, "gcid": GCIDS.get(service, service), "place": place, "rule": "", "arguments": (),
        "topic": "", "payer": "", "isolated": False, "absorbs": False, "dynamic": False, "redirected": False,
        "children": children,
    }  # fmt: skip
    return ExplainedInvocation(**(fields | more))


SPLIT = invocation(
    "Transmatics/xslt",
    0,
    rule="split address",
    arguments=(Argument("stylesheet", "split & <join>"),),
    topic="addresses",
)
ENRICH = invocation(
    "XpandiCo/zipPlus4",
    1,
    invocation("Transmatics/replaceElement", 2, rule="ids", dynamic=True),
    rule="split address",
    payer="MyBiz/Purchasing",
    absorbs=True,
)
SUPPLY = invocation(
    "TheAcmeCompany/Supply",
    6,
    invocation("KeepEmOut/filter", 3, rule="welcome"),
    invocation(
        "TheAcmeCompany/Policy", None, invocation("TheAcmeCompany/Audit", 5, rule="audit", isolated=True), rule="w"
    ),
    redirected=True,
)
TOLD = ExplainedCondition(
    text="all of these are true",
    held=True,
    children=(
        ExplainedCondition(
            text="to equals TheAcmeCompany/Supply", held=True, seen=("TheAcmeCompany/Supply", "x" * 200)
        ),
        ExplainedCondition(text="body /Order/Total (as number) is greater than 100", held=None),
        ExplainedCondition(text="attachment $.signature exists", held=False),
    ),
)
EXPLANATION = RouteExplanation(
    session="0191f5a2b3c400112233445566778899",
    sender="MyBiz/Purchasing",
    directory=12,
    services=(
        ExplainedService(
            service="MyBiz/Purchasing",
            gcid=GCIDS["MyBiz/Purchasing"],
            role=RuleRole.SENDER,
            invoker="",
            rules=(
                ExplainedRule(
                    name="split address", version=3, held=True, told=TOLD, did=("Transmatics/xslt stands after it",)
                ),
                ExplainedRule(name="never", version=1, held=False, told=None, did=()),
            ),
            faults=("document 2 is not well-formed",),
        ),
        ExplainedService(
            service="TheAcmeCompany/Supply",
            gcid=GCIDS["TheAcmeCompany/Supply"],
            role=RuleRole.RECIPIENT,
            invoker="MyBiz/Purchasing",
            rules=(),
            withheld=True,
        ),
    ),
    copies=(
        ExplainedCopy(
            recipient="TheAcmeCompany/Supply",
            code="",
            detail="",
            route=(
                "Transmatics/xslt", "XpandiCo/zipPlus4", "Transmatics/replaceElement", "KeepEmOut/filter",
                "TheAcmeCompany/Audit", "TheAcmeCompany/Supply",
            ),
            tree=(SPLIT, ENRICH, SUPPLY),
        ),
        ExplainedCopy(
            recipient="Nobody/<Here>", code="recipient.unknown", detail="There is no such service", route=(), tree=()
        ),
    ),
)  # fmt: skip
