// An answer that is written below its exercise: the editor, its buttons, what Python says to it.
// Loaded when asked. WORDS is what is said; SITE is the address of the public site.
"use strict";

const writeHere = (() => {
  const { read, write, filled, load, home } = progress, say = WRITE_WORDS;
  const LIMIT = 20; // seconds
  const here = new URL("..", home), page = location.pathname.slice(here.pathname.length);
  let worker, ready, asked, running, limit;

  const made = (parent, tag, className, textContent = "") => {
    const element = Object.assign(document.createElement(tag), { className, textContent });
    parent.append(element);
    return element;
  };
  // Text, and what is between backticks as code. Nothing that Python says becomes HTML.
  const marked = (text) => text.split(/`([^`\n]+)`/).map((part, n) =>
    n % 2 ? Object.assign(document.createElement("code"), { textContent: visible(part) }) : visible(part));
  // Letters that only steer a terminal, or turn the direction of the line, are shown and do nothing.
  const visible = (text) => text.replace(/[\0-\x08\v-\x1f\x7f]/g, (c) => (c === "\x7f" ? "␡" : String.fromCharCode(0x2400 + c.charCodeAt())))
    .replace(/[\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => `\\u${c.charCodeAt().toString(16)}`);

  // One Python for the page, one job at a time; while it starts, the last one asked for waits.
  function start() {
    if (worker) return;
    if (location.protocol === "file:") return fail("from_disk");
    worker = new Worker(new URL(WORKER, home));
    worker.addEventListener("message", ({ data }) => {
      if (data.printed) running?.print(data.printed);
      else if (data.started) {
        if (data.failed) return fail(data.failed);
        ready = true;
        if (asked) next();
        else for (const panel of panels) panel.note(say.ready);
      } else finish(data.done);
    });
    worker.addEventListener("error", () => fail("network"));
    worker.postMessage({ lite: new URL("lite/", here).href });
    for (const panel of panels) panel.note(say.loading);
  }
  function next() {
    [running, asked] = [asked, undefined];
    running.begin();
    worker.postMessage(running.job);
    limit = setTimeout(() => stop("too_long"), 1000 * LIMIT);
  }
  function end() {
    clearTimeout(limit);
    worker?.terminate();
    const told = running ?? asked;
    worker = ready = running = asked = undefined;
    return told;
  }
  function finish(done) {
    clearTimeout(limit);
    const panel = running;
    if (done.kind === "broken") {
      end();
      start();
    }
    running = undefined;
    panel.finish(done);
    if (asked) next();
  }
  function stop(why) {
    const panel = end();
    start(); // so that it is there when the mistake is found
    panel?.finish({ kind: why });
  }
  function fail(why) {
    end();
    for (const panel of panels) panel.finish({ kind: why });
  }

  const panels = [];
  return (cell, button, { name, function: called, text: beginning, hint = "…" }) => {
    const box = made(cell, "div", "write"), place = made(box, "div", "write-text highlight");
    const bar = made(box, "div", "write-bar");
    const press = (key, act, className = "button") => {
      const made_ = made(bar, "button", className, say[key]);
      made_.type = "button";
      made_.addEventListener("click", act);
      return made_;
    };
    const doCheck = () => run(name), checks = press("check", doCheck, "button first"), runs = press("run", () => run(""));
    // What comes and goes is the last one: nothing else moves under a hand.
    const again = press("again", beginAgain), stops = press("stop", () => stop("stopped"));
    const leave = made(bar, "small", "write-leave", say.leave);
    leave.id = `leave-${name}`;
    const said = made(box, "div", "write-said"), printed = made(box, "pre", "write-printed");
    said.setAttribute("role", "status");
    printed.setAttribute("aria-label", say.printed);
    printed.tabIndex = 0;
    printed.hidden = stops.hidden = true;
    const busy = (is) => { stops.hidden = !is; again.disabled = is; };

    const kept = read("exercise", name).text ?? beginning;
    const blank = kept.indexOf("    ...\n") + 4;
    const label = filled(say.label, { function: called });
    // A plain field, until the editor comes, if it comes.
    const plain = made(place, "textarea", "", "");
    Object.assign(plain, { value: kept, rows: Math.max(8, kept.split("\n").length), spellcheck: false });
    plain.setAttribute("aria-label", label);
    plain.setAttribute("autocapitalize", "off");
    if (blank > 3) plain.setSelectionRange(blank, blank + 3);
    plain.addEventListener("input", () => keep());
    plain.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) doCheck();
    });
    let field = {
      get text() { return plain.value; },
      set text(to) {
        plain.select();
        document.execCommand("insertText", false, to); // which can be undone
      },
      focus: () => plain.focus(),
    };
    function keep(solved) {
      const before = read("exercise", name), text = field.text;
      const now = solved || before.solved ? { text, solved: true } : text === beginning ? {} : { text };
      write("exercise", name, now);
    }

    const panel = {
      tell(text, state) {
        box.dataset.state = state;
        said.replaceChildren(...marked(text));
      },
      // Of Python in general: over nothing that was said to an answer.
      note(text) { if ((box.dataset.state ?? "noted") === "noted") panel.tell(filled(text, { name, function: called }), "noted"); },
      begin() {
        printed.textContent = "";
        printed.hidden = true;
        box.dataset.state = "running";
        said.replaceChildren(say.running);
        busy(true);
      },
      print(text) {
        printed.hidden = false;
        printed.append(visible(text));
      },
      finish({ kind, message, told, left, ...fields }) {
        busy(false);
        box.dataset.state = kind;
        const sentence = filled(say[kind] ?? say.broken, { function: called, seconds: LIMIT, ...fields });
        said.replaceChildren(...marked(message ?? sentence));
        if (message && fields.line) said.append(" ", filled(say.in_line, fields));
        if (kind in elsewhere) {
          const link = made(said, "a", "", say.public);
          link.href = `${SITE}${page}#ex-${name}`;
          link.before(" ");
        }
        if (told) panel.print(told);
        if (left) panel.print(filled(say.left, { left }));
        if (kind === "accepted") keep(true);
      },
    };
    // What was said was of the text that is gone; on a phone nothing else brings that back.
    function beginAgain() {
      const before = field.text;
      const put = (text) => { field.text = text; keep(); field.focus(); };
      put(beginning);
      printed.hidden = true;
      panel.tell(say.cleared, "cleared");
      if (before === beginning) return;
      said.append(" ");
      made(said, "button", "button", say.back).addEventListener("click", () => {
        put(before);
        panel.tell("", "noted");
      });
    }
    const elsewhere = { absent: 1, network: 1, from_disk: 1 };
    function run(of) {
      if (running === panel) return;
      if (running) return panel.tell(say.busy, "noted");
      keep();
      // What is solved above is there, as it would be in a notebook; but nothing of a file that was loaded.
      const above = [...document.querySelectorAll("script[data-exercise]")].map((each) => each.dataset.exercise);
      const earlier = above.slice(0, above.indexOf(name)).map((each) => read("exercise", each)).filter((each) => each.solved && !each.loaded);
      panel.job = { text: field.text, earlier: earlier.map((each) => each.text), name: of, function: called };
      asked = panel;
      busy(true);
      panel.tell(say.waits, "waiting");
      start();
      if (ready) next();
    }

    button.hidden = true;
    cell.querySelector(".cell_input").hidden = true;
    panels.push(panel);
    plain.focus({ preventScroll: true });
    if (worker) panel.note(ready ? say.ready : say.loading);
    else start();

    writeHere.editor ??= load("write-editor.js");
    writeHere.editor.then((came) => {
      if (!came) return;
      const focused = document.activeElement === plain;
      const { value: text, selectionStart: from, selectionEnd: to } = plain;
      field = bookEditor(place, { text, from, to, label, hint: leave.id, changed: () => keep(), check: doCheck });
      box.classList.add("rich");
      plain.remove();
      if (focused) field.focus();
    });
  };
})();
