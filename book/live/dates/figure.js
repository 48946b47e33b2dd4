// A trained translator of dates in the page: which characters each digit reads, and what it writes without them.
"use strict";

withData("dates", (data) => {
  const { linear, rmsNorm, multiHead, softmax } = attnbook;
  const { characters } = data, model = attnbook.unpack(data), heads = 4, length = 10, start = characters.length;
  for (const each of [model.encoder.attention, model.decoder.attention, model.decoder.cross_attention])
    each.num_heads = heads;

  // ---- The translator, as in attnbook/toys/translator.py ----

  const named = (token) => characters[token] ?? "?"; // start and padding come after the characters
  const add = (a, b) => a.map((row, i) => row.map((x, c) => x + b[i][c]));
  const embedded = (tokens) => tokens.map((token, position) => model.embedding[token].map((x, c, { length: d }) =>
    x + [Math.sin, Math.cos][c % 2](position / 10000 ** ((c - c % 2) / d))));
  const fed = (x, layer) => {
    const hidden = linear(rmsNorm(x, layer.feed_forward_norm), layer.w_in, layer.b_in);
    return add(x, linear(hidden.map((row) => row.map((one) => Math.max(one, 0))), layer.w_out, layer.b_out));
  };

  function encode(tokens) {
    const x = embedded(tokens), normed = rmsNorm(x, model.encoder.attention_norm);
    return rmsNorm(fed(add(x, multiHead(model.encoder.attention, normed, normed).output), model.encoder), model.memory_norm);
  }

  // Write digit by digit, the decoder seeing of the memory what seen[j] says. The last character
  // alone is asked what comes next: with one layer, those before it give their keys and values only.
  function translate(tokens, seen) {
    const memory = encode(tokens), layer = model.decoder, written = [start], steps = [];
    while (steps.length < length) {
      const past = embedded(written), normed = rmsNorm(past, layer.attention_norm);
      let x = add(past.slice(-1), multiHead(layer.attention, normed.slice(-1), normed).output);
      const looked = multiHead(layer.cross_attention, rmsNorm(x, layer.cross_norm), memory, [seen]);
      x = rmsNorm(fed(add(x, looked.output), layer), model.final_norm);
      const probabilities = softmax(linear(x, model.output)[0]);
      const order = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]);
      written.push(order[0]);
      steps.push({ probabilities, order, weights: looked.weights.map(([row]) => row) });
    }
    return { steps, answer: written.slice(1).map(named).join("") };
  }

  // ---- The page ----

  const known = (char) => characters.includes(char);
  const read = (chars, hidden) => {
    const seen = chars.flatMap((char, i) => (known(char) ? [!hidden.includes(i)] : []));
    return seen.length ? translate(chars.filter(known).map((char) => characters.indexOf(char)), seen) : undefined;
  };

  live("dates", ({ stage, words, set }) => {
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
    const lines = drawn("svg", { "aria-hidden": true });
    stage.append(lines);
    const [source, target, guesses, acts, examples] = ["source", "target", "guesses", "acts", "examples"].map((name) => {
      const block = made(stage, "div", name);
      block.setAttribute("role", "group");
      block.setAttribute("aria-label", words[name]);
      return block;
    });
    const places = words.places.split("|"), percent = (share) => Math.round(100 * share);
    const digits = places.map((_, i) => {
      const digit = button(target, "digit", "", () => set({ digit: i + 1 }));
      digit.tabIndex = -1; // the slider does the same
      return { digit, old: made(digit, "s"), now: made(digit, "b"), sure: made(digit, "small") };
    });
    made(guesses, "p", "", words.guesses);
    const bars = [0, 1, 2].map(() => ({ name: made(guesses, "b"), bar: made(guesses, "i"), sure: made(guesses, "small") }));
    // The fewest characters that hold nine tenths of the attention.
    const looked = () => {
      let held = 0;
      return [...shares.keys()].sort((a, b) => shares[b] - shares[a])
        .filter((i) => held < 0.9 && (held += shares[i], true));
    };
    const cover = (inside) => {
      const there = looked();
      hide((i) => hidden.includes(i) || there.includes(i) === inside);
    };
    button(acts, "press", words.where, () => cover(true));
    button(acts, "press", words.rest, () => cover(false));
    button(acts, "press", words.all, () => hide(() => false));
    for (const example of words.dates.split("|")) button(examples, "press", example, () => set({ text: example, hidden: "" }));

    let chars = [], hidden = [], cells, plain, now, shares, next, ways;
    // The state is the text with a _ for each character that is hidden: it fits no other text.
    const hide = (which) => {
      const left = chars.map((char, i) => (known(char) && which(i) ? "_" : char)).join("");
      set({ hidden: left === chars.join("") ? "" : left });
    };

    function lay() {
      cells = chars.map((char, i) => {
        const cell = button(source, known(char) ? "char" : "char unknown", "", () => hide((j) => (j === i) !== hidden.includes(j)));
        cell.tabIndex = i ? -1 : 0; // one stop of the tab key: arrows go on from there
        return { cell, name: made(cell, "b", "", char === " " ? "\u00a0" : char), share: made(cell, "small") };
      });
      source.replaceChildren(...cells.map(({ cell }) => cell));
      ways = undefined;
    }
    new ResizeObserver(() => {
      ways = undefined;
      if (now) link(digits.findIndex(({ digit }) => digit.matches(".chosen")), cells.map(({ cell }) => cell.dataset.weight));
    }).observe(stage);

    // A line from the digit to each character, as thick as the weight.
    function link(chosen, row) {
      const ends = (block, each) => [block.offsetLeft + each.offsetLeft + each.offsetWidth / 2, block.offsetTop + each.offsetTop];
      ways ??= {
        from: digits.map(({ digit }) => ends(target, digit)),
        to: cells.map(({ cell }) => ends(source, cell).map((x, axis) => x + axis * cell.offsetHeight)),
      };
      const [x, y] = ways.from[chosen];
      lines.replaceChildren(...ways.to.flatMap(([to, up], i) => (row[i] < 0.02 ? [] : [drawn("path", {
        "stroke-width": 12 * row[i], d: `M${x} ${y}C${x} ${y - 24} ${to} ${up + 24} ${to} ${up}`,
      })])));
    }
    source.addEventListener("keydown", ({ key, target: from }) => {
      const at = cells.findIndex(({ cell }) => cell === from), to = cells[at + { ArrowLeft: -1, ArrowRight: 1 }[key]];
      if (to) to.cell.focus();
    });
    source.addEventListener("focusin", ({ target: at }) => cells.forEach(({ cell }) => { cell.tabIndex = cell === at ? 0 : -1; }));

    // Show where a digit looks, with those after it not yet written.
    function draw(chosen, head, last = length) {
      const { probabilities, order, weights } = now.steps[chosen];
      const row = head === "mean" ? weights[0].map((_, j) => weights.reduce((sum, each) => sum + each[j] / heads, 0)) : weights[head];
      let at = 0;
      const spread = chars.map((char) => (known(char) ? row[at++] : 0));
      cells.forEach(({ cell, share }, i) => {
        cell.dataset.weight = spread[i];
        cell.style.setProperty("--share", spread[i]);
        put(share, spread[i] > 0.045 ? String(percent(spread[i])) : "");
        cell.setAttribute("aria-pressed", hidden.includes(i));
        cell.setAttribute("aria-label", filled(words.char, { char: chars[i] === " " ? words.space : chars[i], weight: percent(spread[i]) }));
      });
      digits.forEach(({ digit, old, now: to, sure }, i) => {
        const before = plain.answer[i], after = now.answer[i], p = now.steps[i].probabilities[now.steps[i].order[0]];
        digit.className = `digit${i === chosen ? " chosen" : ""}${i > last ? " later" : ""}${before === after ? "" : " changed"}`;
        digit.dataset.probability = p;
        put(old, before === after ? "" : before);
        put(to, after);
        put(sure, String(percent(p)));
        digit.setAttribute("aria-label", filled(words.digit, { place: places[i], digit: after, sure: percent(p) }));
      });
      bars.forEach(({ name, bar, sure }, i) => {
        put(name, named(order[i]));
        bar.style.setProperty("--share", bar.dataset.probability = probabilities[order[i]]);
        put(sure, String(percent(probabilities[order[i]])));
      });
      link(chosen, spread);
      return spread;
    }

    function write(step, digit, head) {
      draw(step, head, step);
      next = setTimeout(() => (step < length - 1 ? write(step + 1, digit, head) : draw(digit, head)), 120);
    }

    return ({ text, digit, head, hidden: asked }) => {
      const before = now, typed = [...text.toLowerCase()], left = [...asked];
      const fits = left.length === typed.length && left.every((char, i) => char === "_" || char === typed[i]);
      if (asked && !fits) set({ hidden: "" }); // it was of another text
      const off = typed.flatMap((char, i) => (fits && left[i] === "_" && known(char) ? [i] : []));
      const fresh = !before || typed.join("") !== chars.join("");
      clearTimeout(next);
      if (fresh) {
        chars = typed;
        plain = read(chars, []);
        lay();
      }
      if (fresh || String(off) !== String(hidden)) now = off.length ? read(chars, off) : plain;
      hidden = off;
      stage.classList.toggle("blank", !now);
      if (!now) return ["empty", {}];
      shares = draw(digit - 1, head);
      const first = before ? [...now.answer].findIndex((char, i) => char !== before.answer[i]) : -1;
      if (fresh && first >= 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) write(first, digit - 1, head);

      const { probabilities, order } = now.steps[digit - 1];
      const fields = {
        answer: now.answer, head, place: places[digit - 1], old: plain.answer[digit - 1],
        digit: named(order[0]), sure: percent(probabilities[order[0]]),
      };
      const those = (which) => chars.map((char, i) => (which(i) ? char : "\n")).join("").trim().replace(/\n+/g, "…") || words.space;
      if (hidden.length) {
        const few = hidden.length > chars.length / 2 && hidden.length < chars.filter(known).length;
        const left = filled(words[few ? "only" : "without"], { those: those((i) => hidden.includes(i) !== few) });
        const changed = fields.digit === fields.old ? "still" : "gone";
        return [now.answer === plain.answer ? "stays" : changed, { ...fields, left }];
      }
      if (!chars.every(known)) return ["unknown", { ...fields, those: those((i) => !known(chars[i])) }];
      let at = 0;
      const pieces = chars.join("").match(/[a-z]+|\d+|./gsu).map((piece) => {
        const share = shares.slice(at, at += [...piece].length).reduce((a, b) => a + b);
        return { piece, share };
      }).sort((a, b) => b.share - a.share);
      const [{ piece, share }] = pieces;
      return [head === "mean" ? "looks" : "head", { ...fields, piece, share: percent(share) }];
    };
  });
});
