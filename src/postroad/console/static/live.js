// The live page: takes what the server tells, one stream for a browser, and lets people hold it.
"use strict";

const rows = document.querySelector("#rows");
const figures = document.querySelector("#figures");
const state = document.querySelector("#live-state");
const button = document.querySelector("#live-hold");
const ROWS_MOST = 50;

let stream = null;
let mark = figures.dataset.mark;
let held = false;

function say(text, offer) {
  state.textContent = text;
  button.textContent = offer;
}

function heard(event) {
  if (event.lastEventId) mark = event.lastEventId;
}

function open() {
  if (stream || held || document.hidden) return;
  stream = new EventSource(`${figures.dataset.live}&since=${encodeURIComponent(mark)}`);
  stream.addEventListener("open", () => say("Updated live.", "Pause"));
  stream.addEventListener("error", (event) => {
    if (event.target.readyState !== EventSource.CLOSED) return say("Connection lost; reconnecting …", "Pause");
    hold();
    say("Connection lost. Continue, or reload the page.", "Continue");
  });
  stream.addEventListener("figures", (event) => {
    heard(event);
    if (figures.contains(document.activeElement)) return; // keeps the keyboard focus where it is
    figures.innerHTML = event.data; // the server's own template: everything of others is escaped there
  });
  stream.addEventListener("rows", (event) => {
    heard(event);
    const fresh = document.createElement("tbody");
    fresh.innerHTML = event.data;
    document.querySelector("#rows-none")?.remove();
    rows.prepend(...fresh.children);
    while (rows.children.length > ROWS_MOST) rows.lastElementChild.remove();
  });
  stream.addEventListener("ended", (event) => {
    hold();
    say(event.data, "Continue");
  });
}

function close() {
  if (stream) stream.close();
  stream = null;
}

function hold() {
  held = true;
  close();
  say("Paused: nothing changes until you continue.", "Continue");
}

button.addEventListener("click", () => {
  if (!held) return hold();
  held = false;
  say("Connecting …", "Pause");
  open();
});
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
window.addEventListener("pagehide", close);
document.querySelectorAll("[data-scripted]").forEach((one) => { one.hidden = false; });
document.querySelectorAll("[data-plain]").forEach((one) => { one.hidden = true; });
open();
