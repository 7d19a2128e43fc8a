// Searching only: the page is whole without it.
"use strict";
const parts = [...document.querySelectorAll("details.host, details.finding, details.reason")];
const box = document.querySelector("search"), query = document.getElementById("query");
const matches = document.getElementById("matches");
const openedBefore = new Set(document.querySelectorAll("details[open]"));
const SHOWN_OPEN = 5;
const groups = [...document.querySelectorAll(".group, .cell")];
let texts = null, waiting = 0;
function search() {
  const wanted = query.value.trim().toLowerCase();
  texts = texts || parts.map((part) => part.textContent.toLowerCase());
  let found = 0;
  parts.forEach((part, number) => {
    const matched = !wanted || texts[number].includes(wanted);
    part.hidden = !matched;
    if (wanted && matched) found += 1;
  });
  for (const part of document.querySelectorAll("details")) {
    if (!wanted) part.open = openedBefore.has(part);
    else if (part.classList.contains("cell")) part.open = part.querySelector(".host:not([hidden])") !== null;
    else part.open = !part.hidden && found <= SHOWN_OPEN;
  }
  document.body.classList.toggle("searching", wanted !== "");
  const shown = ":is(.host, .finding, .reason):not([hidden])";
  for (const group of groups) group.hidden = wanted !== "" && group.querySelector(shown) === null;
  // A field that stays in sight while the page is scrolled must not hide what is found.
  const first = wanted && document.querySelector(shown);
  if (first && getComputedStyle(box).position === "sticky") first.scrollIntoView({ block: "nearest", behavior: "instant" });
  matches.textContent = wanted ? (found ? `${found} found` : "Nothing here has this in its name or UUID.") : "";
}
query.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 150); });
// A link to a finding, or to a host, opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
box.hidden = false;
