"""API, SDK, command line and console offer exactly the actions on batches and dead letters that the tables have."""

from __future__ import annotations

import inspect
import json

import click
import pytest
from fastapi.routing import APIRoute

from postroad.api.resources.batch_actions import router
from postroad.cli.commands.messages.batches import batch
from postroad.cli.commands.messages.dead_letters import dead_letters
from postroad.client.blocking.batches import Batches
from postroad.client.blocking.dead_letters import DeadLetters
from postroad.client.nonblocking.batches import AsyncBatches
from postroad.client.nonblocking.dead_letters import AsyncDeadLetters
from postroad.console.pages import dead_letter_runs
from postroad.core.model.batch_actions import BATCH_ACTIONS, BatchAction
from postroad.core.model.dead_letter_actions import LETTER_ACTIONS, LetterAction
from postroad.flow.administration.batch_actions import STEPS
from tests.source_tree import ROOT

PATHS = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())["paths"]
BATCH, LETTERS = "/v1/batches/{batch}", "/v1/dead-letters"
READING = {"show", "members", "list", "groups"}  # commands that change nothing
batch_actions = pytest.mark.parametrize("action", BATCH_ACTIONS.values(), ids=BATCH_ACTIONS)
letter_actions = pytest.mark.parametrize("action", LETTER_ACTIONS.values(), ids=LETTER_ACTIONS)


def posts_below(path: str) -> set[str]:
    return {
        found.removeprefix(path) for found, item in PATHS.items() if found.startswith(f"{path}/") and "post" in item
    }


def help_of(group: click.Group, name: str) -> str:
    return inspect.cleandoc(group.commands[name].help or "")


def needs_reason(group: click.Group, name: str) -> bool:
    [option] = [one for one in group.commands[name].params if one.name == "reason"]
    return option.required


def requires_reason(function: object) -> bool:
    assert callable(function)
    return inspect.signature(function).parameters["reason"].default is inspect.Parameter.empty


def test_the_api_has_no_other_actions() -> None:
    assert posts_below(BATCH) == {action.path for action in BATCH_ACTIONS.values()}
    one, many = {f"/{{delivery}}/{name}" for name in LETTER_ACTIONS}, {f"/{name}" for name in LETTER_ACTIONS}
    assert posts_below(LETTERS) == one | many


def test_the_command_line_has_no_other_actions() -> None:
    shown = {name for name, one in batch.commands.items() if not one.hidden}
    assert shown - READING == set(BATCH_ACTIONS)
    assert set(dead_letters.commands) - READING == set(LETTER_ACTIONS)


def test_the_network_can_carry_out_each_action() -> None:
    assert set(STEPS) == {action.name for action in BATCH_ACTIONS.values() if not action.of_member}
    assert set(dead_letter_runs.TEMPLATES) == set(LETTER_ACTIONS)


@batch_actions
def test_an_action_on_batches_is_described_alike_everywhere(action: BatchAction) -> None:
    operation = PATHS[BATCH + action.path]["post"]
    assert (operation["operationId"], operation["description"]) == (action.operation, action.description)
    assert help_of(batch, action.name).startswith(action.description)
    assert needs_reason(batch, action.name) == action.needs_reason
    for api in (Batches, AsyncBatches):
        method = getattr(api, action.method)
        assert inspect.getdoc(method) == action.description
        assert requires_reason(method) == action.needs_reason


@batch_actions
def test_the_old_names_of_an_action_still_work(action: BatchAction) -> None:
    routes = {route.path for route in router.routes if isinstance(route, APIRoute)}
    for name, path in zip(action.old_names, action.old_paths, strict=True):
        assert BATCH + path in routes
        assert batch.commands[name].hidden
        for api in (Batches, AsyncBatches):
            assert getattr(api, name.replace("-", "_")) is getattr(api, action.method)


@letter_actions
def test_an_action_on_dead_letters_is_described_alike_everywhere(action: LetterAction) -> None:
    one, many = PATHS[f"{LETTERS}/{{delivery}}/{action.name}"]["post"], PATHS[f"{LETTERS}/{action.name}"]["post"]
    assert (one["description"], many["description"]) == (action.of_one, action.of_many)
    assert help_of(dead_letters, action.name).startswith(action.of_many)
    assert needs_reason(dead_letters, action.name) == action.needs_reason
    for api in (DeadLetters, AsyncDeadLetters):
        method = getattr(api, action.name)
        assert (inspect.getdoc(method) or "").startswith(action.of_one.rstrip("."))
        assert requires_reason(method) == requires_reason(getattr(api, f"{action.name}_many")) == action.needs_reason
