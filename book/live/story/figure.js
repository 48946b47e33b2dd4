// The storyteller writes in a worker, loaded when asked: each word with its rivals and where heads looked.
"use strict";

live("story", ({ stage, words, set }) => {
  const made = (parent, tag, className = "", textContent = "") => {
    const element = Object.assign(document.createElement(tag), { className, textContent });
    parent.append(element);
    return element;
  };
  const button = (parent, className, text, press) => {
    const element = made(parent, "button", className, text);
    element.type = "button";
    element.addEventListener("click", press);
    return element;
  };
  const vocabulary = words.vocabulary.split(" "), stop = 1, heads = 4, learned = 128, longest = 160, further = 96;
  const percent = (share) => Math.round(100 * share);
  const bar = made(stage, "div", "bar"), cache = made(bar, "span");
  const go = button(bar, "press go", words.write, () => {
    failed = false;
    animated = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!now.on) set({ on: "yes" });
    else if (now.temperature) set({ seed: (now.seed + 1) % 100, word: "" });
    else {
      asked = "";
      set({});
    }
  });
  bar.prepend(go);
  const told = made(stage, "div", "told"), rivals = made(stage, "div", "rivals"), examples = made(stage, "div", "examples");
  for (const [block, name] of [[told, "story"], [rivals, "candidates"], [examples, "examples"]]) {
    block.setAttribute("role", "group");
    block.setAttribute("aria-label", words[name]);
  }
  const about = made(rivals, "p");
  const rows = [0, 1, 2, 3, 4].map(() => ({ name: made(rivals, "b"), bar: made(rivals, "i"), sure: made(rivals, "small") }));
  for (const prompt of words.prompts.split("|")) {
    const [name, text] = prompt.split("=");
    button(examples, "press", name, () => set({ prompt: text, word: "" }));
  }

  // The worker takes one job at a time; while it is busy only the last one asked for waits.
  let worker, waiting, busy, failed, animated, growing, now, done, run = 0, laid = 0, asked = "", steps = [], cells = [], begun = [], from = 1;
  function work(job) {
    waiting = job;
    if (busy) return;
    busy = true;
    if (worker) next();
    else load("story", (data) => (data ? open(data) : fail()));
  }
  function next() {
    if (waiting) worker.postMessage(waiting);
    busy = Boolean(waiting);
    waiting = undefined;
  }
  function open({ script, parameters }) {
    worker = new Worker(URL.createObjectURL(new Blob([script])));
    worker.addEventListener("error", fail);
    worker.addEventListener("message", ({ data: { job, step, ...end } }) => {
      if (!step) next();
      if (job !== run) return;
      if (step) return void steps.push(step);
      done = end;
      stage.dataset.rate = end.rate;
      if (!growing) set({});
    });
    worker.postMessage({ parameters });
    next();
  }
  function fail() {
    cancelAnimationFrame(growing);
    worker = waiting = busy = growing = undefined;
    [asked, failed] = ["", true];
    set({ on: "" });
  }

  const cell = (token) => {
    const at = cells.length, each = button(told, at < from ? "word given" : "word", vocabulary[token], () => set({ word: at }));
    each.tabIndex = -1;
    cells.push(each);
  };
  // What has been written is shown in the next frame, at most four words in each.
  function grow() {
    while (cells.length < from) cell(begun[cells.length]);
    for (let i = 0; i < 4 && cells.length <= steps.length; i++) cell(steps[cells.length - 1].token);
    told.scrollTop = told.scrollHeight;
    fill(cells.length - 1);
    growing = !done || cells.length <= steps.length ? requestAnimationFrame(grow) : undefined;
    if (!growing) set({});
  }
  function fill(n) {
    cache.textContent = filled(words.cache, { n, kib: n });
    cache.style.setProperty("--share", Math.min(1, n / learned));
    cache.dataset.kept = n * 256;
  }

  // Show how a word was chosen: by the word before it, from all before.
  function draw(chosen, head) {
    const { token, shares, kept, weights } = steps[chosen - 1], row = weights.subarray(head * chosen, (head + 1) * chosen);
    cells.forEach((each, i) => {
      const weight = i < chosen ? row[i] : 0;
      each.dataset.weight = weight;
      each.style.setProperty("--share", weight);
      each.setAttribute("aria-pressed", i === chosen);
      each.tabIndex = i === chosen ? 0 : -1; // one stop of the tab key: arrows go on from there
      each.setAttribute("aria-label", filled(words.word, {
        token: vocabulary[i ? steps[i - 1].token : 0], share: i ? percent(steps[i - 1].shares[steps[i - 1].token]) : 100, weight: percent(weight),
      }));
    });
    const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, rows.length);
    if (!order.includes(token)) order[rows.length - 1] = token;
    about.textContent = filled(words.candidates, { token: vocabulary[token] });
    rows.forEach(({ name, bar, sure }, i) => {
      name.textContent = vocabulary[order[i]];
      name.className = order[i] === token ? "chosen" : "";
      bar.className = kept.includes(order[i]) ? "" : "cut";
      bar.style.setProperty("--share", bar.dataset.probability = shares[order[i]]);
      sure.textContent = `${percent(shares[order[i]])} %`;
    });
    fill(chosen);
    const { offsetTop: top, offsetHeight: height } = cells[chosen];
    if (top < told.scrollTop) told.scrollTop = top - 4;
    if (top + height > told.scrollTop + told.clientHeight) told.scrollTop = top + height - told.clientHeight + 4;
    return { row, order };
  }
  told.addEventListener("keydown", (event) => {
    const at = cells.indexOf(event.target) + { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (Number.isNaN(at)) return;
    event.preventDefault();
    const to = Math.min(Math.max(at, 1), cells.length - 1);
    cells[to].focus({ preventScroll: true });
    set({ word: to });
  });

  return (state) => {
    now = state;
    const text = state.prompt.replace(/[.?]/g, " $& ").split(/\s+/).filter((each) => each && each !== vocabulary[0]);
    const number = (word) => vocabulary.findIndex((each) => each.toLowerCase() === word.toLowerCase());
    const unknown = text.find((word) => number(word) < 0), broken = unknown !== undefined || text.length > longest;
    const on = state.on === "yes" && !broken;
    stage.classList.toggle("still", !on);
    go.disabled = broken;
    go.textContent = on && state.temperature ? words.another : words.write;
    if (unknown !== undefined) return ["unknown", { word: unknown }];
    if (broken) return ["long", { words: text.length }];
    if (failed) return ["failed", {}];
    if (!on) return [text.length ? "rest" : "bare", { words: text.length }];

    const tokens = [0, ...text.map(number)], key = JSON.stringify([tokens, state.temperature, state.top_p, state.seed, state.mistake]);
    if (key !== asked) {
      [run, asked, steps, done, begun, from] = [run + 1, key, [], undefined, tokens, tokens.length];
      const { temperature, top_p: topP, seed, mistake } = state;
      work({ job: run, vocabulary, tokens, most: tokens.length + further, stop, temperature, topP, seed, mistake });
      cancelAnimationFrame(growing);
      growing = undefined;
      if (animated) {
        told.replaceChildren();
        [cells, laid] = [[], run];
        growing = requestAnimationFrame(grow);
      }
      animated = false;
    }
    if (!done || growing) return undefined;
    if (laid !== run) {
      told.replaceChildren();
      [cells, laid] = [[], run];
      for (let i = 0; i <= steps.length; i++) cell(i ? steps[i - 1].token : 0);
    }

    // Unless one is chosen: the first answer that it wrote.
    const { right, all, first } = done.answers, asks = Number(state.word), seen = steps.map(({ token }) => vocabulary[token]);
    const chosen = Number.isInteger(asks) && asks >= 1 && asks <= steps.length ? asks : first ?? steps.length;
    const [layer, head] = state.head.split(".").map(Number);
    const { row, order } = draw(chosen, heads * layer + head), { token, shares } = steps[chosen - 1];
    const most = row.indexOf(Math.max(...row));
    const fields = {
      who: words[state.mistake], n: steps.length + 1 - from, past: steps.length >= learned ? words.past : "",
      end: words[steps.at(-1).token === stop ? "ended" : "stopped"], answers: all ? filled(words.answers, { right, all }) : words.none,
      token: vocabulary[token], share: percent(shares[token]), first: vocabulary[order[0]], most: percent(shares[order[0]]),
      layer, head, weight: percent(row[most]), seen: most ? seen[most - 1] : vocabulary[0], back: chosen - most,
    };
    return [chosen < from ? "given" : "wrote", fields];
  };
});
