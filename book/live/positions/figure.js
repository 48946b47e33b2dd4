// Two positions on the clocks of the sinusoidal encoding, and the dot product of their rows.
"use strict";

live("positions", ({ stage, words, set }) => {
  const most = 64, left = 40, right = 470, top = 234, bottom = 306;
  const picture = drawn("svg", { viewBox: "0 0 480 330", role: "img", "aria-label": words.label });
  const clocks = drawn("g"), curve = drawn("path", { class: "curve" }), dot = drawn("circle", { class: "dot", r: 7 });
  const across = (k) => left + (right - left) * k / most;
  const up = (share) => bottom - (bottom - top) * (share + 0.75) / 1.75;
  const plot = drawn("g", { class: "plot" },
    drawn("rect", { class: "back", x: left, y: top - 10, width: right - left, height: bottom - top + 20 }),
    drawn("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}M${left} ${up(0)}H${right}` }),
    curve, dot);
  picture.append(clocks, plot,
    drawn("text", { x: (left + right) / 2, y: 326 }, words.axis),
    drawn("text", { x: left, y: 322 }, "0"), drawn("text", { x: right - 10, y: 322 }, String(most)),
    drawn("text", { transform: `translate(16 ${(top + bottom) / 2}) rotate(-90)` }, words.dot));
  const legend = ["here", "there"].map((name, i) => drawn("text", { class: name, x: 160 + 170 * i, y: 218 }));
  const levels = [0, 1].map((share) => drawn("text", { x: left - 10, y: up(share) + 5 }, "0"));
  picture.append(...legend, ...levels);
  stage.append(picture);
  dragged(plot, (x) => set({ offset: Math.round((x - left) / (right - left) * most) }));

  const encode = (position, speeds) => speeds.map((w) => [Math.sin(position * w), Math.cos(position * w)]);
  const product = (a, b) => a.reduce((sum, pair, i) => sum + attnbook.dot(pair, b[i]), 0);

  let built, speeds, hands;
  function build(base, columns) {
    const count = columns / 2, perRow = count > 8 ? 6 : 4, width = 480 / perRow;
    speeds = Array.from({ length: count }, (_, i) => base ** (-i / count));
    const places = speeds.map((_, i) =>
      ({ x: width * (i % perRow + 0.5), y: count > perRow ? 38 + 100 * Math.floor(i / perRow) : 88 }));
    hands = ["here", "there"].map((name) =>
      places.map(({ x, y }) => drawn("line", { class: name, x1: x, y1: y })));
    clocks.replaceChildren(...places.map(({ x, y }) => drawn("circle", { class: "rim", cx: x, cy: y, r: 33 })),
      ...hands.flat(), ...places.map(({ x, y }, i) => drawn("text", { x, y: y + 51 },
        filled(i % perRow ? "{j}: {n}" : words.wavelength, { j: i, n: rounded(2 * Math.PI / speeds[i]) }))));
    const start = encode(0, speeds);
    const shares = Array.from({ length: most + 1 }, (_, k) => product(start, encode(k, speeds)) / count);
    curve.setAttribute("d", "M" + shares.map((share, k) => `${across(k)} ${up(share)}`).join("L"));
    levels[1].textContent = count;
    built = `${base} ${columns}`;
  }

  return ({ position, offset, base, columns }) => {
    if (built !== `${base} ${columns}`) build(base, columns);
    const count = speeds.length;
    const here = encode(position, speeds), there = encode(position + offset, speeds);
    hands.forEach((row, which) => row.forEach((hand, i) => {
      const [sine, cosine] = [here, there][which][i];
      hand.setAttribute("x2", +hand.getAttribute("x1") + 28 * sine);
      hand.setAttribute("y2", hand.getAttribute("y1") - 28 * cosine);
    }));
    legend.forEach((text, i) => { put(text, filled(words.position, { n: position + i * offset })); });
    const alike = product(here, there);
    dot.setAttribute("cx", across(offset));
    dot.setAttribute("cy", up(alike / count));
    dot.dataset.product = alike;

    const fields = {
      p: position, q: position + offset, k: offset, dot: alike.toFixed(2), most: count,
      turns: (offset / (2 * Math.PI)).toFixed(1), slow: rounded(offset * speeds.at(-1) * 180 / Math.PI),
    };
    if (offset === 0) return ["same", fields];
    const round = offset * speeds.at(-1) > 2 * Math.PI; // the slowest hand, and so every other
    if (round && alike > 0.7 * count) return ["mistaken", fields];
    return [position ? "moved" : "apart", fields];
  };

  function rounded(x) {
    return x >= 10 ? Math.round(x).toLocaleString("en") : x.toFixed(x < 1 ? 2 : 1);
  }
});
