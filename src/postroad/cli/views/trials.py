"""The result of ``postroad try`` on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.resources.explanations import ExplanationView, ToldView, TrialView

SIGNS = {True: "x", False: " ", None: "?"}


def trial_lines(trial: TrialView) -> Iterator[str]:
    if isinstance(trial.output, str):
        yield trial.output.rstrip("\n")
        return
    faults = [f"  ! {fault}" for fault in trial.faults or ()]
    if isinstance(trial.valid, bool):
        yield "the document is valid" if trial.valid else "the document is not valid"
        yield from faults
        return
    yield f"as {trial.role}: {'the condition holds' if trial.held else 'the condition does not hold'}"
    yield from faults
    if isinstance(trial.condition, ToldView):
        yield from _condition(trial.condition, 2)
    if isinstance(trial.explanation, ExplanationView):
        yield from _routes(trial.explanation)


def _routes(explanation: ExplanationView) -> Iterator[str]:
    if explanation.code:
        yield f"the message would be refused: {explanation.detail} [{explanation.code}]"
    for copy in explanation.copies:
        if copy.code:
            yield f"not sent to {copy.recipient}: {copy.detail} [{copy.code}]"
        else:
            yield "route: " + " -> ".join([explanation.sender, *copy.route])


def _condition(told: ToldView, indent: int) -> Iterator[str]:
    seen = "; found " + ", ".join(f'"{text}"' for text in told.seen) if told.seen else ""
    yield f"{' ' * indent}[{SIGNS[told.held]}] {told.text}{seen}"
    for inner in told.conditions:
        yield from _condition(inner, indent + 4)
