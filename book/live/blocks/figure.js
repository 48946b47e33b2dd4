// A row of scores is summed block by block, by the online softmax, beside the same in one piece.
"use strict";

live("blocks", ({ stage, words, set }) => {
  // The first six are the chapter's.
  const first = [1, 3, 2, 5, 4, 0, 3, 1, 4, 2, 0], values = [2, 6, 1, 3, 9, 4, 2, 8, 5, 1, 7, 8];
  const count = values.length, keys = values.map((_, j) => j), step = 26, float32 = 4;
  const zero = 134, high = 9, foot = 214, tallest = 40;

  // What is known after each block: its largest score so far, total, and the sum of weighted values.
  function running(scores, size) {
    const known = [];
    let [top, total, sum] = [-Infinity, 0, 0];
    for (let at = 0; at < count; at += size) {
      const block = scores.slice(at, at + size), was = top, old = total;
      top = Math.max(was, ...block);
      const factor = Math.exp(was - top), terms = block.map((s) => Math.exp(s - top));
      const added = terms.reduce((a, b) => a + b, 0);
      total = old * factor + added;
      sum = sum * factor + attnbook.dot(terms, values.slice(at, at + size));
      known.push({ was, top, old, factor, added, total, output: sum / total });
    }
    return known;
  }

  // The tile goes block by block: where a hand lets go of it, and with each key of the keyboard.
  const place = stage.closest("[data-live]"), [at, of] = ["tile", "size"].map((name) => place.querySelector(`[name=${name}]`));
  const block = (key) => Math.ceil(key / of.value);
  const go = (to) => set({ tile: of.value * Math.min(count / of.value, Math.max(1, to)) });
  place.addEventListener("change", () => block(at.value) * of.value === Number(at.value) || go(block(at.value)));
  at.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!way) return;
    event.preventDefault();
    go(block(at.value) + way);
  });

  const narrow = matchMedia("(max-width: 48rem)");
  let shown, tile, bars, tops, terms, table;
  function lay() {
    const tall = narrow.matches, left = tall ? 9 : 52;
    const picture = drawn("svg", { viewBox: tall ? "0 0 330 394" : "0 0 580 258", role: "img", "aria-label": words.label });
    const x = (j) => left + j * step;
    const bar = (name) => keys.map((j) => drawn("rect", { class: name, x: x(j) + 4, width: step - 8 }));
    tile = drawn("rect", { class: "tile", y: 6, height: 248, rx: 5 });
    [bars, terms] = [bar("bar"), bar("term")];
    tops = keys.map((j) => drawn("line", { class: "top", x1: x(j), x2: x(j) + step }));
    picture.append(tile,
      ...[zero, foot].map((y) => drawn("line", { class: "axis", x1: left, x2: x(count), y1: y, y2: y })),
      ...bars, ...tops, ...terms,
      ...keys.map((j) => drawn("text", { class: "middle", x: x(j) + step / 2, y: 240 }, values[j])));
    for (const [name, y, above] of [["score", 100, 14], ["adds", 196, 166], ["value", 240, 226]])
      picture.append(tall ? drawn("text", { x: left + 3, y: above }, words[name])
        : drawn("text", { class: "end", x: left - 8, y }, words[name]));
    const [names, ends, head] = tall ? [left + 3, [204, 318], 278] : [384, [498, 574], 60];
    ["blocks", "whole"].forEach((name, i) => picture.append(drawn("text", { class: "end", x: ends[i], y: head }, words[name])));
    table = ["maximum", "total", "output", "held"].map((name, row) => {
      const y = head + 25 * (row + 1);
      const cells = ends.map((end) => drawn("text", { class: "end known", x: end, y }));
      picture.append(drawn("text", { x: names, y }, words[name]), ...cells);
      return cells;
    });
    dragged(picture, (x_at, y) => x_at < x(count) + step / 2 && y < 256 && go(block((x_at - left) / step)));
    stage.querySelector("svg")?.remove();
    stage.append(picture);
  }
  lay();
  narrow.addEventListener("change", () => { lay(); draw(shown); });

  function draw(state) {
    shown = state;
    const size = Number(state.size), scores = [...first, state.last], now = Math.ceil(state.tile / size) - 1;
    const known = running(scores, size), here = known[now], [whole] = running(scores, count);
    const left = bars[0].x.baseVal.value - 4, read = Math.min(count, (now + 1) * size);
    tile.setAttribute("x", left + now * size * step);
    tile.setAttribute("width", (read - now * size) * step);
    keys.forEach((j) => {
      const score = scores[j], term = j < read ? Math.exp(score - here.top) : 0, top = known[Math.floor(j / size)].top;
      bars[j].setAttribute("class", j < read ? "bar" : "unread");
      bars[j].setAttribute("y", zero - high * Math.max(score, 0));
      bars[j].setAttribute("height", high * Math.abs(score));
      terms[j].setAttribute("y", foot - tallest * term);
      terms[j].setAttribute("height", tallest * term);
      terms[j].dataset.term = term;
      for (const end of ["y1", "y2"]) tops[j].setAttribute(end, j < read ? zero - high * top : -9);
    });
    // Of all scores, those of one block are held at a time: that many bytes.
    const held = [[here, size], [whole, count]];
    held.forEach(([{ top, total, output }, kept], i) => {
      [top, total, output, float32 * kept].forEach((number, row) => {
        const cell = table[row][i];
        if (row === 2) cell.setAttribute("class", read === count ? "end out" : "end known");
        cell.dataset.number = number;
        put(cell, row === 0 ? number.toFixed(1) : row === 3 ? String(number) : number.toFixed(3));
      });
    });
    const fields = {
      was: here.was.toFixed(1), top: here.top.toFixed(1), old: here.old.toFixed(3),
      factor: here.factor.toFixed(3), added: here.added.toFixed(3), total: here.total.toFixed(3),
    };
    const kind = now === 0 ? "first" : here.top > here.was ? "rises" : "stays";
    return [kind + (read === count ? "_end" : ""), fields];
  }
  return draw;
});
