// A query asks a clock: twelve keys on a circle, which are values, too.
"use strict";

live("clock", [
  { key: "hand", value: 3.5, min: 0.5, max: 12.5, step: 0.1, shown: (x) => x.toFixed(1) },
  { key: "temperature", value: 0.3, min: 0.02, max: 3, step: 0.01, shown: (x) => x.toFixed(2) },
  { key: "hour", value: 7, min: 1, max: 12, step: 1 },
  { key: "length", value: 1, min: 1, max: 4, step: 0.1, shown: (x) => `× ${x.toFixed(1)}` },
], ({ stage, words, set }) => {
  const on = (hour) => [Math.sin(hour * Math.PI / 6), Math.cos(hour * Math.PI / 6)];
  const hours = Array.from({ length: 12 }, (_, i) => i + 1), value = hours.map(on);
  const place = ([x, y], r = 1) => ({ x: 100 * r * x, y: -100 * r * y });
  const picture = drawn("svg", { viewBox: "-150 -140 300 280", role: "img", "aria-label": words.label });
  const dots = hours.map(() => drawn("circle", { class: "dot" }));
  const keys = hours.map(() => drawn("line", { class: "key", x1: 0, y1: 0 }));
  const hand = drawn("line", { class: "hand", x1: 0, y1: 0, "marker-end": "url(#hand)" });
  const answer = drawn("path", { class: "answer", d: "M0-9 9 0 0 9-9 0z" });
  picture.append(
    drawn("defs", {}, drawn("marker", { id: "hand", orient: "auto", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8 },
      drawn("path", { class: "tip", d: "M0 0 8 4 0 8z" }))),
    drawn("circle", { class: "rim", r: 100 }), ...keys, ...dots,
    ...hours.map((hour, i) => {
      const { x, y } = place(value[i], 1.28);
      return drawn("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central" }, String(hour));
    }), hand, answer);
  const shares = made("p", { className: "shares" });
  stage.append(picture, shares);
  dragged(picture, (x, y) => {
    const hour = Math.atan2(x, -y) * 6 / Math.PI;
    set({ hand: Math.round(10 * (hour < 0.5 ? hour + 12 : hour)) / 10 });
  });

  return ({ hand: time, temperature, hour, length }) => {
    const query = on(time);
    const key = value.map((row, i) => row.map((x) => (i === hour - 1 ? length * x : x)));
    const { output: [out], weights: [weights] } =
      attnbook.attention([query], key, value, { scale: 1 / temperature });
    weights.forEach((weight, i) => {
      const { x, y } = place(value[i]), tip = place(key[i], 0.3);
      for (const [name, it] of Object.entries({ cx: x, cy: y, r: Math.sqrt(6 + 700 * weight), "data-weight": weight }))
        dots[i].setAttribute(name, it);
      keys[i].setAttribute("x2", tip.x);
      keys[i].setAttribute("y2", tip.y);
      keys[i].classList.toggle("longer", i === hour - 1 && length > 1);
    });
    const end = place(query, 0.82), { x, y } = place(out);
    hand.setAttribute("x2", end.x);
    hand.setAttribute("y2", end.y);
    answer.setAttribute("transform", `translate(${x} ${y})`);
    answer.dataset.output = out;
    shares.textContent = filled(words.shares, { shares: weights.map((w, i) => `${i + 1}: ${w.toFixed(3)}`).join("  ") });

    const effective = attnbook.effectiveKeys(weights);
    const order = hours.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
    const percent = (w) => (100 * w).toFixed(0);
    const fields = {
      first: order[0] + 1, second: order[1] + 1, effective: effective.toFixed(1),
      radius: Math.hypot(...out).toFixed(2), share: percent(weights[order[0]]), hour, hand: time.toFixed(1),
    };
    if (length > 1) return ["longer", { ...fields, length: length.toFixed(1), share: percent(weights[hour - 1]) }];
    if (effective < 1.2) return ["choice", fields];
    if (weights[order[0]] + weights[order[1]] > 0.9)
      return ["between", { ...fields, share: percent(weights[order[0]] + weights[order[1]]) }];
    return [effective < 11.5 ? "spread" : "average", fields];
  };
});
