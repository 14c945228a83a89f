// Small conveniences; every page but the live ones works without this file.
"use strict";

// On a phone the sections stand in one line: begin where the person is.
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

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
