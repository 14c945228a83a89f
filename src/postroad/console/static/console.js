// Small conveniences; every page but the live ones works without this file.
"use strict";

// On a phone the sections stand in one line: begin where the person is. Not by scrollIntoView: the tabulator would begin there too.
const sections = document.querySelector(".side");
const here = sections?.querySelector("[aria-current]")?.getBoundingClientRect();
if (here) sections.scrollLeft += here.left + here.width / 2 - sections.getBoundingClientRect().left - sections.clientWidth / 2;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  if (!source) return;
  try {
    await navigator.clipboard.writeText(source.innerText);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange(); // the person can press the copy key
    range.selectNodeContents(source);
    window.getSelection().removeAllRanges();
    window.getSelection().addRange(range);
  }
});
