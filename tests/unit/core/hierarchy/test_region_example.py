"""The worked example of models: an application with two canvases of widgets, which show a region of the world.

North America is set on the application, and reaches every widget. Then canvas 2 is given a region of its own, for comparison:
Mexico reaches its widgets alone, and what the application says reaches them no longer.
"""

from __future__ import annotations

import pytest

from postroad.core.configuration.yaml_text import as_yaml, from_yaml
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Attachment, Side
from postroad.core.hierarchy.model_documents import parse_model, write_model

DASHBOARD = """\
name: Sales dashboard
root:
  tag: application
  topics:
  - region
  producers:
  - Acme/Application
  nodes:
  - tag: canvas-1
    topics:
    - region
    nodes:
    - tag: widget-1
      topics:
      - region
      consumers:
      - Acme/Map
    - tag: widget-2
      topics:
      - region
      consumers:
      - Acme/Sales
  - tag: canvas-2
    topics:
    - region
    nodes:
    - tag: widget-3
      topics:
      - region
      consumers:
      - Acme/Other map
    - tag: widget-4
      topics:
      - region
      consumers:
      - Acme/Other sales
"""
APPLICATION = "producer:application:Acme/Application"
CANVAS_2 = Attachment(id="comparison", service="Acme/Canvas 2", side=Side.PRODUCER, node="canvas-2")


@pytest.fixture
def dashboard() -> ModelIndex:
    return ModelIndex.of(parse_model(from_yaml(DASHBOARD)))


def widgets(index: ModelIndex, producer: str) -> list[str]:
    return [consumer.node for consumer in index.publish(producer, "region")]


@pytest.mark.req("H2")
def test_north_america_reaches_every_widget_depth_first(dashboard: ModelIndex) -> None:
    assert widgets(dashboard, APPLICATION) == ["widget-1", "widget-2", "widget-3", "widget-4"]


@pytest.mark.req("H3", "H4")
def test_mexico_stays_on_the_canvas_that_has_become_a_producer(dashboard: ModelIndex) -> None:
    dashboard.attach(CANVAS_2)
    assert widgets(dashboard, "comparison") == ["widget-3", "widget-4"]
    assert widgets(dashboard, APPLICATION) == ["widget-1", "widget-2"]


@pytest.mark.req("H3", "H4")
def test_without_its_own_region_the_canvas_follows_the_application_again(dashboard: ModelIndex) -> None:
    dashboard.attach(CANVAS_2)
    dashboard.detach("comparison")
    assert widgets(dashboard, APPLICATION) == ["widget-1", "widget-2", "widget-3", "widget-4"]


@pytest.mark.req("H3")
def test_who_receives_is_known_before_anything_is_sent_or_attached(dashboard: ModelIndex) -> None:
    assert [one.service for one in dashboard.who_receives("canvas-2", "region")] == [
        "Acme/Other map",
        "Acme/Other sales",
    ]
    assert [one.service for one in dashboard.who_receives("widget-1", "region")] == ["Acme/Map"]


def test_the_region_example_is_written_as_it_was_read(dashboard: ModelIndex) -> None:
    assert as_yaml(write_model(dashboard.describe())) == DASHBOARD
