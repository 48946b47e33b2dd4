// Where each of a trained model's 72 heads looks, from any word of six sentences.
"use strict";

withData("heads", (sentences) => live("heads", ({ stage, words, set }) => {
  const percent = (text, at) => {
    const code = text.charCodeAt(at);
    return code < 127 ? code - 33 : code - 0xC0 + 94;
  };
  const row = (text, n, from, query) =>
    Array.from({ length: n }, (_, key) => percent(text, (from * n + query) * n + key));
  const largest = (text, n, from, query) => {
    let most = 0;
    for (let at = (from * n + query) * n, end = at + n; at < end; at++) most = Math.max(most, percent(text, at));
    return most;
  };
  const picture = drawn("svg", { role: "img", "aria-label": words.label });
  const line = made("div", "words"), grid = made("div", "grid"), squares = made("div", "squares");
  grid.setAttribute("aria-hidden", "true");  // the sliders say the same
  line.setAttribute("aria-hidden", "true");
  const title = document.createElement("p");
  title.textContent = words.heads;
  const cells = Array.from({ length: 72 }, (_, i) => {
    const cell = made("i", "");
    cell.addEventListener("click", () => set({ layer: Math.floor(i / 12), head: i % 12 }));
    return cell;
  });
  squares.append(...cells);
  grid.append(title, squares);
  stage.append(picture, line, grid);
  let shown, spans = [], curves = [], places;
  // A sentence has as many words as it has; told at once, so that a word is set after it. One that
  // a reader chooses starts from its pronoun.
  const control = (name) => stage.closest("[data-live]").querySelector(`[name=${name}]`);
  const bound = () => { control("word").max = sentences[control("sentence").value].tokens.length - 1; };
  control("sentence").addEventListener("input", ({ target }) => {
    bound();
    set({ sentence: target.value, word: sentences[target.value].asks });
  });
  bound();

  function write(number) {
    shown = number;
    spans = sentences[number].tokens.map((token, i) => {
      const span = made("span", "word");
      span.append(token, made("small", ""));
      span.addEventListener("click", () => set({ word: i }));
      span.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && set({ word: i }));
      return span;
    });
    line.replaceChildren(...spans);
    curves = spans.map(() => drawn("path", { class: "arc" }));
    picture.replaceChildren(...curves);
    places = undefined;
  }

  let laid = false; // once it is, places can be asked for
  function arcs(shares, word) {
    if (!laid) return;
    const frame = places ?? stage.getBoundingClientRect();
    places ??= spans.map((span) => {
      const box = span.getBoundingClientRect();
      return [box.x + box.width / 2 - frame.x, box.y - frame.y];
    });
    const [x, y] = places[word];
    curves.forEach((curve, key) => {
      if (key === word || shares[key] < 2) return curve.removeAttribute("d");
      const [to, down] = places[key], rise = Math.min(y, down) - 6 - Math.min(34, Math.abs(to - x) / 5);
      curve.setAttribute("stroke-width", shares[key] / 9);
      curve.setAttribute("d", `M${x} ${y}C${x} ${rise} ${to} ${rise} ${to} ${down}`);
    });
  }

  function fetchWeights(number) {
    if (asked.has(number)) return;
    asked.add(number);
    load(`heads-${number}`, (more) => {
      Object.assign(sentences[number], more);
      if (more) set({});
    });
  }
  const asked = new Set();

  let latest;
  new ResizeObserver(() => {
    laid = true;
    places = undefined;
    if (latest) arcs(...latest);
  }).observe(stage);

  return ({ sentence, word: wanted, layer, head, measure }) => {
    if (sentence !== shown) {
      bound();
      write(sentence);
    }
    const { tokens, weights, by_norm } = sentences[sentence], n = tokens.length;
    if (!weights) return fetchWeights(sentence);
    const word = Math.min(wanted, n - 1), known = by_norm[`${layer}.${head}`];
    const byNorm = measure === "norm" && known;
    const shares = byNorm ? row(known, n, 0, word) : row(weights, n, layer * 12 + head, word);
    spans.forEach((span, key) => {
      span.classList.toggle("asks", key === word);
      if (span.dataset.share === String(shares[key])) return; // what stays is not styled anew
      span.dataset.share = shares[key];
      put(span.lastChild, shares[key] > 4 ? `${shares[key]} %` : "");
      span.style.background = `color-mix(in srgb, var(--k) ${shares[key] / 2}%, transparent)`;
    });
    const shades = cells.map((cell, i) => {
      const most = largest(weights, n, i, word);
      cell.dataset.most = most;
      cell.classList.toggle("chosen", i === layer * 12 + head);
      return `color-mix(in srgb, var(--k) ${4 + 0.96 * most}%, var(--surface)) 0 ${100 * (i % 12 + 1) / 12}%`;
    });
    // One picture behind them, a layer in each line: to style 72 squares takes longer than all else.
    squares.style.backgroundImage = [0, 1, 2, 3, 4, 5]
      .map((at) => `linear-gradient(to right, ${shades.slice(12 * at, 12 * at + 12)})`).join();
    latest = [shares, word];
    arcs(...latest);

    const order = shares.map((_, i) => i).sort((a, b) => shares[b] - shares[a]);
    const [first, second] = order;
    const fields = {
      layer, head, token: tokens[word], first: tokens[first], second: tokens[second],
      share: shares[first], rest: shares[second],
    };
    const spoken = { word: tokens[word] };
    if (measure === "norm") return [known ? "norm" : "unknown", fields, spoken];
    if (tokens[first].startsWith("[")) return [shares[first] > 50 ? "mark" : "divided", fields, spoken];
    return [{ [word - 1]: "before", [word]: "itself", [word + 1]: "after" }[first] ?? "word", fields, spoken];
  };

  function made(tag, name) {
    return Object.assign(document.createElement(tag), { className: name });
  }
}));
