// All that the pages do by script. Without it they read the same: boxes, menus and links are HTML.
"use strict";

const root = document.documentElement;

// The theme: the system's until the reader chooses.
const themeButton = document.querySelector(".theme-switch-button");
const system = matchMedia("(prefers-color-scheme: dark)");

function chosen() {
  try { return localStorage.getItem("attention-book-theme"); } catch (denied) { return null; }
}

function showTheme(theme) {
  root.dataset.theme = theme;
  themeButton.setAttribute("aria-pressed", theme === "dark");
}

themeButton.hidden = false;
showTheme(root.dataset.theme);
themeButton.addEventListener("click", () => {
  const theme = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("attention-book-theme", theme); } catch (denied) { /* for this page only, then */ }
  showTheme(theme);
});
system.addEventListener("change", () => chosen() || showTheme(system.matches ? "dark" : "light"));

// "/" or Ctrl+K goes to the search field.
const field = document.querySelector("main input[type=search], header input[type=search]");
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const slash = event.key === "/" && !typing;
  if (slash || ((event.ctrlKey || event.metaKey) && event.key === "k")) {
    event.preventDefault();
    if (field.checkVisibility()) field.focus();
    else document.querySelector(".to-search").click();
  }
});

// What scrolls sideways can be reached and scrolled by keyboard. Code and figures that fit are no
// stop on the way; formulas and tables stay one, since their fonts may come late and widen them.
const fits = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const box of document.querySelectorAll("article :is(pre, figure)")) {
  box.tabIndex = 0;
  fits.observe(box);
}
for (const box of document.querySelectorAll(".katex-display, .table-box")) box.tabIndex = 0;

// The contents of the page follow the reader.
const links = new Map();
for (const link of document.querySelectorAll("#side-contents a[href^='#']")) {
  const section = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (section) links.set(section, link);
}
const inView = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      links.get(target).toggleAttribute("data-in-view", isIntersecting);
    }
    const seen = [...links.values()].filter((link) => link.hasAttribute("data-in-view"));
    for (const link of links.values()) link.removeAttribute("aria-current");
    seen.at(-1)?.setAttribute("aria-current", "true");
  },
  { rootMargin: "0px 0px -70% 0px" },
);
for (const section of links.keys()) inView.observe(section);

// A side panel closes when a link in it is followed, when the keyboard leaves it, and when the
// page becomes wide enough to show it beside the text.
const wide = matchMedia("(min-width: 75rem)");
for (const panel of document.querySelectorAll("[popover]")) {
  const close = () => panel.matches(":popover-open") && panel.hidePopover();
  panel.addEventListener("click", (event) => event.target.closest("a") && close());
  panel.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !panel.contains(relatedTarget)) close();
  });
  wide.addEventListener("change", close);
}

// A link to a cell of evidence opens the fold that has it.
function unfold() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = place?.closest("details");
  if (!folded || folded.open) return;
  folded.open = true;
  place.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();

// On paper: light, and what is folded is open.
let shown;
addEventListener("beforeprint", () => {
  shown = root.dataset.theme;
  root.dataset.theme = "light";
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
addEventListener("afterprint", () => { root.dataset.theme = shown; });

// A formula is copied as its TeX; selected, it would come twice and in pieces.
addEventListener("copy", (event) => {
  const selected = getSelection();
  if (selected.isCollapsed) return;
  const copy = selected.getRangeAt(0).cloneContents();
  const formulas = copy.querySelectorAll(".katex");
  if (!formulas.length) return;
  for (const formula of formulas) {
    formula.replaceWith(`$${formula.querySelector("annotation")?.textContent ?? ""}$`);
  }
  for (const block of copy.querySelectorAll("p, li, h2, h3, pre, figcaption")) block.append("\n");
  event.clipboardData.setData("text/plain", copy.textContent);
  event.preventDefault();
});

if (location.protocol === "file:") root.classList.add("offline");
