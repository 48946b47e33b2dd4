// What a reader has written and solved, kept in this browser and sent nowhere: on every page.
// CHAPTERS has the names of each chapter's exercises, WORDS what is said, FILES what comes later.
"use strict";

const progress = (() => {
  const prefix = "attention-book.", unkept = new Map(); // where the browser keeps nothing: for this page
  // Chromium gives a page from a disk, loaded anew, now and then an empty localStorage: the tab keeps it, too.
  const stores = () => location.protocol === "file:" ? [localStorage, sessionStorage] : [localStorage];
  const read = (kind, name) => {
    const key = `${prefix}${kind}.${name}`;
    try { return JSON.parse(stores().map((store) => store.getItem(key)).find(Boolean) ?? null) ?? {}; }
    catch (denied) { return unkept.get(kind + name) ?? {}; }
  };
  const write = (kind, name, state) => {
    const key = `${prefix}${kind}.${name}`;
    try {
      for (const store of stores()) {
        if (Object.keys(state).length) store.setItem(key, JSON.stringify(state));
        else store.removeItem(key);
      }
    } catch (denied) { unkept.set(kind + name, state); }
    show();
  };
  const filled = (text, fields) => text.replace(/\{(\w+)\}/g, (_, name) => fields[name]);
  const state = (name) => {
    const { solved, text } = read("exercise", name);
    return solved ? WORDS.is_solved : text ? WORDS.begun : "";
  };

  // How many of a chapter's exercises are solved: beside it in the list, and at its head.
  function show() {
    for (const [chapter, names] of Object.entries(CHAPTERS)) {
      const solved = names.filter((name) => read("exercise", name).solved).length;
      const said = filled(WORDS.solved, { solved, all: names.length });
      for (const link of document.querySelectorAll(".side a")) {
        if (!new URL(link.href).pathname.endsWith(`/${chapter}.html`) || /.#./.test(link.getAttribute("href"))) continue;
        if (link.closest("#side-contents")) continue;
        let told = link.querySelector("small");
        if (!told && solved) link.append(told = document.createElement("small"));
        if (told) told.textContent = solved ? said : "";
      }
      for (const told of document.querySelectorAll(`[data-solved="${chapter}"]`)) if (solved || told.dataset.said) {
        told.textContent = said;
        told.dataset.said = "yes";
      }
    }
    for (const button of document.querySelectorAll(".write-open")) {
      const is = state(button.value);
      button.textContent = WORDS.open + (is && ` · ${is}`);
    }
  }

  // What a choice of the quiz says stays open. A click on paper's way opens folds, too, so it counts alone.
  const chapter = location.pathname.split("/").at(-1).replace(".html", "");
  const chosen = read("quiz", chapter);
  for (const question of document.querySelectorAll(".quiz > li[id]")) {
    question.querySelectorAll("details").forEach((choice, n) => {
      choice.open = Boolean(chosen[question.id]?.includes?.(n));
      choice.querySelector("summary").addEventListener("click", () => {
        const now = read("quiz", chapter);
        const others = (now[question.id] ?? []).filter((each) => each !== n);
        now[question.id] = choice.open ? others : [...others, n];
        if (!now[question.id].length) delete now[question.id];
        write("quiz", chapter, now);
      });
    });
  }

  // The line that says where an answer goes becomes a button, of its size. What it opens is loaded then.
  const home = document.currentScript.src;
  const load = (name) => new Promise((done) => {
    const css = name.endsWith(".css"), made = document.createElement(css ? "link" : "script");
    const address = new URL(FILES[name], home).href;
    Object.assign(made, css ? { rel: "stylesheet", href: address } : { src: address });
    for (const end of ["load", "error"]) made.addEventListener(end, () => done(end === "load"));
    document.head.append(made);
  });
  for (const about of document.querySelectorAll("script[data-exercise]")) {
    const cell = about.parentElement, button = document.createElement("button");
    Object.assign(button, { type: "button", className: "write-open", value: about.dataset.exercise });
    button.addEventListener("click", async () => {
      button.disabled = true;
      progress.loaded ??= Promise.all([load("write.js"), load("write.css")]);
      if ((await progress.loaded)[0]) writeHere(cell, button, { name: button.value, ...JSON.parse(about.textContent) });
      else {
        button.textContent = WORDS.no_script;
        progress.loaded = undefined;
        button.disabled = false;
      }
    });
    cell.classList.add("to-write");
    cell.append(button);
  }
  addEventListener("storage", show);
  show();
  return { read, write, state, filled, load, prefix, stores, show, home };
})();
