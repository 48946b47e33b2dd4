// A query asks a clock: twelve keys on a circle, which are values, too.
"use strict";

live("clock", ({ stage, words, set }) => {
  const on = (hour) => [Math.sin(hour * Math.PI / 6), Math.cos(hour * Math.PI / 6)];
  const hours = Array.from({ length: 12 }, (_, i) => i + 1), value = hours.map(on);
  const place = ([x, y], r) => ({ x: 100 * r * x, y: -100 * r * y });
  const picture = drawn("svg", { viewBox: "-150 -140 300 280", role: "img", "aria-label": words.label });
  const dots = value.map((at) => {
    const { x, y } = place(at, 1);
    return drawn("circle", { class: "dot", cx: x, cy: y });
  });
  const stretched = drawn("line", { class: "key" });
  const hand = drawn("line", { class: "hand", "marker-end": "url(#tip)" });
  const answer = drawn("path", { class: "answer", d: "M0-9 9 0 0 9-9 0z" });
  picture.append(
    drawn("defs", {}, drawn("marker", { id: "tip", viewBox: "0 0 8 8", orient: "auto", refX: 6, refY: 4, markerWidth: 5, markerHeight: 5 },
      drawn("path", { class: "tip", d: "M0 0 8 4 0 8z" }))),
    drawn("circle", { class: "rim", r: 100 }), ...dots, stretched,
    ...hours.map((hour, i) => drawn("text", place(value[i], 1.28), String(hour))), hand, answer);
  stage.append(picture);
  dragged(picture, (x, y) => {
    const hour = Math.atan2(x, -y) * 6 / Math.PI;
    set({ hand: hour < 0.5 ? hour + 12 : hour });
  });

  return ({ hand: time, temperature, hour, length }) => {
    const query = on(time);
    const key = value.map((row, i) => row.map((x) => (i === hour - 1 ? length * x : x)));
    const { output: [out], weights: [weights] } =
      attnbook.attention([query], key, value, { scale: 1 / temperature });
    weights.forEach((weight, i) => {
      dots[i].setAttribute("r", Math.sqrt(6 + 700 * weight));
      dots[i].dataset.weight = weight;
    });
    const long = length > 1, tip = place(value[hour - 1], long ? length / 4 : 0);
    stretched.setAttribute("x2", tip.x);
    stretched.setAttribute("y2", tip.y);
    const end = place(query, 0.6), { x, y } = place(out, 1);
    hand.setAttribute("x2", end.x);
    hand.setAttribute("y2", end.y);
    answer.setAttribute("transform", `translate(${x} ${y})`);
    answer.dataset.output = out;

    const effective = attnbook.effectiveKeys(weights);
    answer.dataset.effective = effective;
    const order = hours.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
    const [most, next] = order.map((i) => weights[i]);
    const percent = (w) => (100 * w).toFixed(0);
    const fields = {
      first: order[0] + 1, second: order[1] + 1, effective: effective.toFixed(1),
      radius: Math.hypot(...out).toFixed(2), share: percent(most), hour, hand: time.toFixed(1),
    };
    if (long) return ["longer", { ...fields, length: length.toFixed(1), share: percent(weights[hour - 1]) }];
    if (effective < 1.2) return ["choice", fields];
    if (most > 0.5 && most > 3 * next) return ["near", fields];
    if (most + next > 0.9) return ["between", { ...fields, share: percent(most + next) }];
    return [effective < 11.5 ? "spread" : "average", fields];
  };
});
