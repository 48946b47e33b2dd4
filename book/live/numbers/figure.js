// Four tokens of six numbers are split into three heads and merged; three tests look for mistakes.
"use strict";

live("numbers", ({ stage, words, set }) => {
  const [tokens, heads, size] = [4, 3, 2], columns = heads * size, count = tokens * columns;
  const all = Array.from({ length: count }, (_, i) => i);
  const head = (n) => Math.floor(n % columns / size), token = (n) => Math.floor(n / columns);
  // What stands at each place of (heads, tokens, size), read row by row, as a place in (tokens, columns).
  const places = (column) => all.map((at) => {
    const [g, t, i] = [Math.floor(at / (tokens * size)), Math.floor(at / size) % tokens, at % size];
    return t * columns + column(g, i);
  });
  const right = places((g, i) => g * size + i);
  const ways = { right, wrong: all, turns: places((g, i) => i * heads + g) };
  const split = (x, how) => ways[how].map((from) => x[from]);
  const merge = (x, how) => {
    const merged = [...x];
    ways[how].forEach((to, from) => { merged[to] = x[from]; });
    return merged;
  };
  // A stand-in for causal attention, in each head apart: a running sum.
  const running = (x) => {
    const sums = [...x];
    for (let at = 0; at < count; at++) if (Math.floor(at / size) % tokens) sums[at] += sums[at - size];
    return sums;
  };
  // Which of the numbers that come out move when some that go in do.
  const moved = (x, through) => {
    const before = through(all.map(() => 0)), after = through(x);
    return all.map((at) => before[at] !== after[at]);
  };
  const some = (test) => all.map((n) => (test(n) ? n + 1 : 0));

  function tests(way) {
    const through = (mix) => (x) => merge(mix(split(x, way.split)), way.merge);
    const ts = [0, 1, 2, 3];
    return {
      exact: all.every((at) => split(all, way.split)[at] === right[at] && merge(right, way.merge)[at] === at),
      trip: all.every((n) => merge(split(all, way.split), way.merge)[n] === n),
      leak: ts.every((t) => {
        const out = moved(some((n) => token(n) === t), through(running));
        return all.every((n) => !out[n] || token(n) >= t);
      }),
    };
  }

  const narrow = matchMedia("(max-width: 48rem)");
  let cells, lamps, shown, passes, tested;
  function lay() {
    const tall = narrow.matches, [w, h] = [26, 26];
    const picture = drawn("svg", { viewBox: tall ? "0 0 300 434" : "0 0 560 174", role: "img", "aria-label": words.label });
    const corner = (place) => (tall ? { x: [72, 40, 72][place], y: [22, 152, 282][place] }
      : { x: [0, 182, 404][place], y: 30 });
    cells = [0, 1, 2].map((place) => all.map((at) => {
      const { x, y } = corner(place), g = Math.floor(at / (tokens * size));
      const [across, down] = place === 1
        ? [(g * size + at % size) * w + g * 18, Math.floor(at / size) % tokens * h]
        : [at % columns * w, token(at) * h];
      const cell = drawn("g", { transform: `translate(${x + across} ${y + down})` },
        drawn("rect", { width: w, height: h }), drawn("text", { x: w / 2, y: h / 2 + 1 }));
      const follow = () => set({ number: cell.dataset.number, explain: "none" });
      cell.addEventListener("click", follow);
      cell.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && follow());
      return cell;
    }));
    const titles = [[words.x], [0, 1, 2].map((g) => filled(words.head, { g })), [words.merged]];
    titles.forEach((names, place) => {
      const { x, y } = corner(place);
      names.forEach((name, g) => {
        const across = place === 1 ? g * (size * w + 18) + w : columns * w / 2;
        picture.append(drawn("text", { x: x + across, y: y - 13 }, name));
      });
      picture.append(...cells[place]);
    });
    lamps = ["exact", "trip", "leak"].map((name, i) => drawn("text", {
      class: "lamp", "data-test": name, x: tall ? [10, 160][i % 2] : [0, 190, 380][i],
      y: tall ? 400 + 22 * Math.floor(i / 2) : 162,
    }));
    for (const lamp of lamps) lamp.addEventListener("click", () => set({ explain: lamp.dataset.test }));
    picture.append(...lamps);
    stage.querySelector("svg")?.remove();
    stage.append(picture);
  }
  lay();
  narrow.addEventListener("change", () => { lay(); draw(shown); });

  function draw(state) {
    shown = state;
    const inside = split(all, state.split), out = merge(inside, state.merge);
    const way = `${state.split} ${state.merge}`;
    if (tested !== way) [passes, tested] = [tests(state), way];
    [all, inside, out].forEach((numbers, place) => numbers.forEach((n, at) => {
      const cell = cells[place][at], home = place === 1 ? right[at] : at,
        name = `cell head-${head(n)}${n === state.number ? " followed" : home === state.number ? " home" : ""}`;
      if (cell.getAttribute("class") !== name) cell.setAttribute("class", name);
      if (cell.dataset.number === String(n)) return;
      cell.dataset.number = n;
      put(cell.lastChild, String(n));
    }));
    for (const lamp of lamps) {
      const good = passes[lamp.dataset.test];
      put(lamp, `${good ? "✓" : "✗"} ${words[lamp.dataset.test]}`);
      lamp.setAttribute("class", `lamp ${good ? "passes" : "caught"}`);
    }
    const red = Object.keys(passes).filter((name) => !passes[name]).map((name) => words[name]);
    const caught = red.length > 1
      ? filled(words.and, { all: red.slice(0, -1).join(", "), last: red.at(-1) }) : red[0] ?? words.none;
    if (state.explain !== "none") return [state.explain, {}];
    const n = state.number, at = inside.indexOf(n);
    const fields = {
      n, token: token(n), head: head(n), found: Math.floor(at / (tokens * size)),
      row: Math.floor(at / size) % tokens, place: out.indexOf(n), caught,
    };
    const wrong = [state.split, state.merge].map((how) => how !== "right");
    if (wrong[0] && wrong[1]) return [fields.place === n ? "both" : "astray", fields];
    return [wrong[0] ? "split" : wrong[1] ? "merge" : "right", fields];
  }
  return draw;
});
