// The page of all exercises: which are solved, and what is kept of them as a file.
"use strict";

{
  const { read, state, filled, prefix, stores } = progress, box = document.querySelector(".kept");
  const words = JSON.parse(box.querySelector("script").textContent);
  const said = box.querySelector("[role=status]"), chosen = box.querySelector("input");
  const links = [...document.querySelectorAll("article a[href*='#ex-']")].filter((link) => link.closest("li"));
  const nameOf = (link) => link.hash.slice(4);

  function show(told) {
    const count = { all: links.length, solved: 0, begun: 0 };
    for (const link of links) {
      const { solved, text } = read("exercise", nameOf(link));
      count.solved += Boolean(solved);
      count.begun += Boolean(text && !solved);
      let mark = link.parentElement.querySelector(".is");
      if (!mark) link.after(" ", mark = Object.assign(document.createElement("span"), { className: "is" }));
      mark.textContent = state(nameOf(link));
    }
    said.textContent = [told, filled(words.kept, count)].filter(Boolean).join(" ");
    progress.show();
  }
  const ours = (store) => Object.entries(store).filter(([key]) => key.startsWith(prefix));

  function save() {
    const kept = Object.fromEntries(stores().reverse().flatMap(ours).map(([key, kept]) => {
      const { loaded, ...of } = JSON.parse(kept);
      return [key, of];
    }));
    const file = new Blob([JSON.stringify(kept, null, 1)], { type: "application/json" });
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(file), download: "attention-book.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  }
  // Of a file only what has the form of what is saved here; it is text, and marked until its reader runs it.
  const isAnswer = (of) => typeof of?.text === "string" && [undefined, true].includes(of.solved) && Object.keys(of).every((key) => key === "text" || key === "solved");
  const isQuiz = (of) => of && typeof of === "object" && Object.values(of).every((all) => Array.isArray(all) && all.every(Number.isInteger));
  function entries(kept) {
    if (Object.getPrototypeOf(kept) !== Object.prototype) throw new TypeError();
    return Object.entries(kept).map(([key, of]) => {
      const [, kind, name] = key.match(/^attention-book\.(exercise|quiz)\.([\w-]+)$/);
      if (!(kind === "quiz" ? isQuiz : isAnswer)(of)) throw new TypeError(key);
      return [kind, name, of];
    });
  }
  async function load([file]) {
    let all;
    try { all = entries(JSON.parse(await file.text())); } catch (unknown) { return show(words.unknown); }
    for (const [kind, name, of] of all) progress.write(kind, name, kind === "exercise" ? { ...of, loaded: true } : of);
    show(filled(words.loaded, { count: all.filter(([kind]) => kind === "exercise").length }));
  }
  function forget() {
    if (!confirm(words.sure)) return;
    for (const store of stores()) for (const [key] of ours(store)) store.removeItem(key);
    show(words.forgotten);
  }

  chosen.addEventListener("change", () => {
    if (chosen.files.length) load(chosen.files);
    chosen.value = "";
  });
  const acts = { save, load: () => chosen.click(), forget };
  for (const button of box.querySelectorAll("button")) button.addEventListener("click", acts[button.name]);
  addEventListener("storage", () => show());
  show();
}
