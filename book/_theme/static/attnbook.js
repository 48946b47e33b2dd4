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
themeButton.setAttribute("aria-pressed", root.dataset.theme === "dark");
themeButton.addEventListener("click", () => {
  const theme = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("attention-book-theme", theme); } catch (denied) { /* for this page only, then */ }
  showTheme(theme);
});
system.addEventListener("change", () => chosen() || showTheme(system.matches ? "dark" : "light"));

// A long page shows before all of it is laid out. The rest follows, a section in each frame: then
// the scroll bar is true, and a reload finds the place again. A frame comes before its picture is
// seen, so the second is the first that is behind it.
if (root.classList.contains("in-parts")) {
  const parts = [...document.querySelectorAll("article > section > section")];
  const layOut = () => {
    parts.shift()?.classList.add("laid-out");
    if (parts.length) requestAnimationFrame(layOut);
    else root.classList.remove("in-parts");
  };
  requestAnimationFrame(() => requestAnimationFrame(layOut));
}

// Scripts that few ask for come when they are asked for, one after the other.
function bring(...names) {
  for (const name of names) {
    const script = document.createElement("script");
    script.src = `${root.dataset.content_root}_static/${name}.js`;
    script.async = false; // each needs those before it
    document.head.append(script);
  }
}

// Words that were searched for are marked, by Sphinx.
function areAsked() {
  try { if (localStorage.getItem("sphinx_highlight_terms")) return true; } catch (denied) { /* none, then */ }
  return new URLSearchParams(location.search).has("highlight");
}
if (!document.getElementById("search-results") && areAsked()) bring("documentation_options", "doctools", "sphinx_highlight");

// "/" or Ctrl+K goes to the search field.
const field = document.querySelector("main input[type=search], header input[type=search]");
addEventListener("keydown", (event) => {
  const typing = event.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const slash = event.key === "/" && !typing;
  if (slash || ((event.ctrlKey || event.metaKey) && event.key === "k")) {
    event.preventDefault();
    if (field.checkVisibility()) field.focus();
    else document.querySelector(".to-search").click();
  }
});

// What scrolls sideways can be reached and scrolled by keyboard. Code and figures that fit are no
// stop on the way; formulas and tables stay one, since their fonts may come late and widen them.
// All are asked first and then changed: to ask after a change would lay out the page each time.
const fits = new ResizeObserver((entries) => {
  const wide = entries.map(({ target }) => target.scrollWidth > target.clientWidth);
  entries.forEach(({ target }, i) => {
    if (wide[i]) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  });
});
for (const box of document.querySelectorAll("article :is(pre:not(.rows), figure)")) {
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

// Folded code, and that behind a tab, is text: its colours, which it tells by gaps, kinds and
// lengths, are painted over it when it comes in sight, so that no search loses its place in it.
const inks = {};
function paint(code) {
  const [text] = code.childNodes, told = code.dataset.ink;
  delete code.dataset.ink;
  if (!CSS.highlights || code.childElementCount) return; // as where a word was searched for
  let end = 0;
  for (const [, gap, kind, length] of told.matchAll(/(\d+)([a-z]+)(\d+)/g)) {
    const start = end + Number(gap);
    end = start + Number(length);
    if (!inks[kind]) CSS.highlights.set(`ink-${kind}`, inks[kind] = new Highlight());
    inks[kind].add(new StaticRange({
      startContainer: text, startOffset: start, endContainer: text, endOffset: end }));
  }
}
const paintIn = (place) => place.querySelectorAll("pre[data-ink]").forEach(paint);
document.addEventListener("toggle", ({ target }) => target.open && paintIn(target), true);
document.addEventListener("change", ({ target }) => target.closest(".tabs") && paintIn(document.querySelector("article")));

// A long table in a fold is lines of text, until who opens it, or filters it, wants rows.
function layRows(place) {
  for (const lines of place.querySelectorAll("pre.rows")) {
    const rows = lines.textContent.split("\n").map((line) => {
      const row = document.createElement("tr");
      for (const words of line.split("\t")) {
        // Every other part stands between `backticks` or, at first, *stars*.
        const cell = row.insertCell().appendChild(document.createElement("p"));
        cell.append(...words.split(/(`[^`]+`|^\*[^*]+\*)/).map((part, i) => {
          if (i % 2 === 0) return part;
          const marked = document.createElement(part[0] === "*" ? "em" : "code");
          marked.textContent = part.slice(1, -1);
          return marked;
        }));
      }
      return row;
    });
    lines.closest("tbody").replaceChildren(...rows);
  }
}
document.addEventListener("click", ({ target }) => {
  const line = target.closest("summary");
  if (line) layRows(line.parentElement);
});

// Buttons that copy code come with the first sign of a hand.
function bringButtons({ type, movementX, movementY }) {
  if (type === "pointermove" && !movementX && !movementY) return; // the page moved under a hand that rests
  for (const sign of SIGNS) removeEventListener(sign, bringButtons);
  if (document.querySelector("article .highlight")) bring("documentation_options", "clipboard.min", "copybutton");
}
const SIGNS = ["pointermove", "pointerdown", "keydown", "focusin"];
for (const sign of SIGNS) addEventListener(sign, bringButtons, { passive: true });

// A link to a cell of evidence opens the fold that has it.
function unfold() {
  const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = place && place.closest("details");
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
  layRows(document);
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  paintIn(document);
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
    formula.replaceWith(`$${formula.dataset.tex}$`);
  }
  for (const block of copy.querySelectorAll("p, li, h2, h3, pre, figcaption")) block.append("\n");
  event.clipboardData.setData("text/plain", copy.textContent);
  event.preventDefault();
});

if (location.protocol === "file:") root.classList.add("offline");
