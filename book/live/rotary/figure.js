// A query and a key of four numbers are rotated by their positions: does their score see the offset only?
"use strict";

live("rotary", ({ stage, words, set }) => {
  const base = 100, most = 32, degrees = 180 / Math.PI, names = ["key", "query"];
  const unit = 84, planes = [{ pair: 1, x: 125, y: 130, r: unit }, { pair: 0, x: 360, y: 130, r: unit / 2 }];
  const left = 52, right = 466, top = 290, bottom = 390;
  const across = (s) => left + (right - left) * s / most, up = (score) => (top + bottom - (bottom - top) * score / 1.25) / 2;
  const frequency = (pair) => degrees * base ** (-pair / 2); // in degrees a position
  // The fast pair stays as it is, half as long.
  const bare = (angle, fast) => [[fast, 0.5], [angle, 1]]
    .flatMap(([a, length]) => [length * Math.cos(a / degrees), length * Math.sin(a / degrees)]);
  const fast = { query: 20, key: -40 };
  const sound = { way: 1, pairing: "interleaved" }, backward = { ...sound, way: -1 }, halves = { ...sound, pairing: "halves" };
  // How the query is rotated, and how the key.
  const hows = {
    none: [sound, sound], backward: [sound, backward], halves: [sound, halves],
    "backward-both": [backward, backward], "halves-both": [halves, halves],
  };
  // What stays is not laid out again.
  const put = (node, { text, ...about }) => {
    if (text !== undefined && node.textContent !== text) node.textContent = text;
    for (const [name, value] of Object.entries(about))
      if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  };
  const signed = (number, digits = 2) => number.toFixed(digits).replace("-", "−");

  const picture = drawn("svg", { viewBox: "0 0 480 426", role: "img", "aria-label": words.label });
  const ways = planes.map(({ pair, x, y, r }) => {
    const made = { between: drawn("path", { class: "between" }), before: {}, after: {}, said: {} };
    picture.append(drawn("circle", { class: "rim", cx: x, cy: y, r }), made.between,
      drawn("text", { x, y: 15 }, filled(words[pair ? "slow" : "fast"], { n: frequency(pair).toFixed(pair) })));
    for (const when of ["before", "after"])
      for (const name of names) picture.append(made[when][name] = drawn("path", { class: `${name} ${when}` }));
    names.forEach((name, i) => picture.append(made.said[name] = drawn("text", { class: name, x, y: 260 - 19 * i })));
    return made;
  });
  const [slow] = planes, grips = {}, turned = { before: () => 0 };
  for (const when of ["before", "after"])
    for (const name of names) {
      const grip = drawn("circle", { class: `${name} ${when} grip`, r: 20 });
      dragged(grip, (x, y) => {
        const angle = Math.atan2(slow.y - y, x - slow.x) * degrees - turned[when](name);
        set({ [name]: Math.round((angle + 900) % 360 - 180) });
      });
      // A finger on an arrow does not scroll the page; touch-action holds for whole pictures only.
      grip.addEventListener("touchstart", (event) => event.preventDefault());
      picture.append(grips[name + when] = grip);
    }
  const curve = drawn("path", { class: "curve" }), meant = drawn("path", { class: "right" });
  const dot = drawn("circle", { class: "dot", r: 7 }), score = drawn("text", { class: "score" });
  const axis = drawn("text", { x: (left + right) / 2, y: 419 });
  const plot = drawn("g", { class: "plot" },
    drawn("rect", { class: "back", x: left, y: top, width: right - left, height: bottom - top }),
    drawn("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}M${left} ${up(0)}H${right}` }), meant, curve, dot, score);
  picture.append(plot, axis, drawn("text", { x: left, y: 408 }, "0"), drawn("text", { x: right - 8, y: 408 }, String(most)),
    ...[-1, 0, 1].map((level) => drawn("text", { x: left - 14, y: up(level) + 5 }, signed(level, 0))),
    drawn("text", { transform: `translate(18 ${up(0)}) rotate(-90)` }, words.score));
  stage.append(picture);
  dragged(plot, (x) => set({ both: Math.round((x - left) / (right - left) * most) }));

  return ({ m, n, both, mistake, query, key }) => {
    const before = { query: bare(query, fast.query), key: bare(key, fast.key) };
    const how = { query: hows[mistake][0], key: hows[mistake][1] };
    const rotated = (name, position, { way, pairing } = how[name]) =>
      attnbook.rotary(before[name], way * position, { base, pairing });
    const scored = (s) => attnbook.dot(rotated("query", m + s), rotated("key", n + s));
    const at = { query: m + both, key: n + both };
    const after = { query: rotated("query", at.query), key: rotated("key", at.key) };
    const torn = (name) => how[name].pairing === "halves" && at[name] > 0;
    turned.after = (name) => how[name].way * at[name] * frequency(1);

    planes.forEach(({ pair, x, y }, which) => {
      const drawing = ways[which], angles = {};
      for (const name of names) {
        for (const [when, row] of Object.entries({ before: before[name], after: after[name] })) {
          const [a, b] = row.slice(2 * pair, 2 * pair + 2), long = unit * Math.hypot(a, b), head = Math.min(long, 11);
          const angle = angles[name] = Math.atan2(b, a);
          put(drawing[when][name], {
            d: `M0 0H${long - head}m0-5 ${head} 5-${head} 5z`, transform: `translate(${x} ${y}) rotate(${-angle * degrees})`,
          });
          // Off its circle it would not follow the hand.
          const display = when === "after" && torn(name) ? "none" : "inline";
          if (pair) put(grips[name + when], { cx: x + unit * a, cy: y - unit * b, display });
        }
        const by = signed(how[name].way * at[name] * frequency(pair), 0);
        put(drawing.said[name], { text: filled(words[torn(name) ? "torn" : "turned"], { who: words[name], p: at[name], n: by }) });
      }
      const open = Math.sin(angles.query - angles.key) > 0 ? 0 : 1;
      const ends = names.map((name) => `${x + 26 * Math.cos(angles[name])} ${y - 26 * Math.sin(angles[name])}`);
      put(drawing.between, { d: `M${x} ${y}L${ends[0]}A26 26 0 0 ${open} ${ends[1]}z` });
    });

    const here = scored(both);
    const good = attnbook.dot(rotated("query", m, sound), rotated("key", n, sound));
    const points = Array.from({ length: 4 * most + 1 }, (_, i) => `${across(i / 4)} ${up(scored(i / 4))}`);
    put(curve, { d: `M${points.join("L")}` });
    put(meant, { d: mistake === "none" ? "" : `M${left} ${up(good)}H${right}` });
    put(dot, { cx: across(both), cy: up(here), "data-score": here });
    put(score, { x: Math.min(Math.max(across(both), left + 24), right - 24), y: up(here) - 12, text: signed(here) });
    put(axis, { text: filled(words.axis, { k: signed(m - n, 0) }) });

    const fields = {
      m: at.query, n: at.key, k: signed(m - n, 0), s: both, sum: at.query + at.key, other: signed(n - m, 0),
      score: signed(here), right: signed(good), first: signed(scored(0)),
    };
    if (mistake === "none") return [both ? "moved" : m === n ? "same" : "apart", fields];
    const moves = !mistake.endsWith("both") && fields.first !== fields.score;
    return [moves ? `${mistake}-moved` : mistake, fields];
  };
});
