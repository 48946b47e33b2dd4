// Who may see whom, three ways to hide the others, and which outputs move when a word does.
"use strict";

live("masks", ({ stage, words, set }) => {
  const names = words.tokens.split(" "), four = [0, 1, 2, 3];
  const vectors = [[1, 1], [0, 1], [2, 0], [1, 0]], wiggled = 0.5;
  const starts = {
    causal: "1000110011101111", inverted: "0111001100010000", padding: "1110111011101110", all: "1".repeat(16),
  };
  let mask;

  const made = (tag, about, parent) => {
    const element = Object.assign(document.createElement(tag), about);
    parent.append(element);
    return element;
  };
  const [left, middle, right] = ["mask", "weights", "outputs"].map((name, i) => {
    if (i) stage.append(drawn("svg", { viewBox: "0 0 20 20", "aria-hidden": true }, drawn("path", { d: "M2 10h14m-6-6 6 6-6 6" })));
    const block = made("div", { className: `block ${name}` }, stage);
    made("p", { textContent: words[name] }, block);
    if (name === "weights") made("span", { className: "again" }, block);
    const heads = { mask: ["", ...names], weights: [...names, words.sum] }[name] ?? [""];
    for (const key of heads) {
      const span = made("span", { className: "key", textContent: key }, block);
      if (names.includes(key)) span.addEventListener("click", () => set({ wiggle: String(names.indexOf(key)) }));
    }
    return block;
  });
  const rows = four.map((query) => {
    made("span", { className: "name", textContent: names[query] }, left);
    made("span", { className: "name again", textContent: names[query] }, middle);
    return {
      buttons: four.map((key) => {
        const button = made("button", { type: "button", title: names[key] }, left);
        button.setAttribute("aria-label", filled(words.sees, { query: names[query], key: names[key] }));
        button.addEventListener("click", () => {
          const at = 4 * query + key;
          set({ start: "own", mask: mask.slice(0, at) + (1 - mask[at]) + mask.slice(at + 1) });
        });
        return button;
      }),
      weights: four.map(() => made("span", { className: "weight" }, middle)),
      sum: made("span", { className: "sum" }, middle),
      output: made("span", { className: "output" }, right),
    };
  });

  function attend(x, seen, apply) {
    const scale = Math.SQRT1_2;
    if (apply === "before") return attnbook.attention(x, x, x, { mask: seen });
    const weights = x.map((q, i) => {
      const hidden = (score, j) => (seen[i][j] || apply === "after" ? score : -1e9);
      const row = attnbook.softmax(x.map((k, j) => hidden(scale * attnbook.dot(q, k), j)));
      return apply === "after" ? row.map((w, j) => (seen[i][j] ? w : 0)) : row;
    });
    const output = weights.map((row) => [0, 1].map((c) => row.reduce((sum, w, j) => sum + w * x[j][c], 0)));
    return { weights, output };
  }

  return ({ wiggle, apply, start, mask: own }) => {
    mask = starts[start] ?? (/^[01]{16}$/.test(own) ? own : starts.causal);
    const seen = four.map((i) => four.map((j) => mask[4 * i + j] === "1"));
    const token = wiggle === "none" ? null : Number(wiggle);
    const { weights, output } = attend(vectors, seen, apply);
    const changed = vectors.map((vector, i) => vector.map((x) => x + (i === token ? wiggled : 0)));
    const after = attend(changed, seen, apply).output;
    const states = four.map((i) => {
      if (!output[i].some((x, c) => Math.abs(x - after[i][c]) > 1e-9)) return "stays";
      return i === token || seen[i][token] ? "moves" : "leaks";
    });
    const sums = weights.map((row) => row.reduce((a, b) => a + b));
    rows.forEach(({ buttons, weights: cells, output: cell, sum }, i) => {
      put(sum, sums[i].toFixed(2));
      sum.classList.toggle("short", sums[i] < 0.995);
      buttons.forEach((button, j) => {
        button.setAttribute("aria-pressed", seen[i][j]);
        put(button, seen[i][j] ? "✓" : "·");
      });
      cells.forEach((each, j) => {
        put(each, weights[i][j].toFixed(2));
        each.dataset.weight = weights[i][j];
        each.style.setProperty("--share", weights[i][j]);
        each.classList.toggle("wiggled", j === token);
      });
      put(cell, words[states[i]]);
      cell.className = `output ${states[i]}`;
      cell.dataset.output = output[i];
    });

    const told = (list) => list.map((i) => names[i]).join(words.and);
    const leaking = four.filter((i) => states[i] === "leaks"), blind = four.find((i) => !seen[i].includes(true));
    const low = sums.findIndex((sum) => sum < 0.995);
    if (blind !== undefined && apply === "large") return ["uniform", { row: names[blind] }];
    if (leaking.length) return ["leak", { rows: told(leaking), token: names[token] }];
    if (token !== null && seen.every((row) => row[token])) return ["open", { token: names[token] }];
    const early = four.filter((i) => i < token && token !== null && states[i] === "moves");
    if (early.length) return ["future", { rows: told(early), token: names[token] }];
    if (blind !== undefined && apply === "before") return ["empty", { row: names[blind] }];
    if (low >= 0) return ["short", { row: names[low], sum: sums[low].toFixed(2) }];
    if (token === null) return ["still", {}];
    return [!seen[token][token] && states[token] === "moves" ? "alone" : "closed", { token: names[token] }];
  };
});
