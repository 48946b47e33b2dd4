// The storyteller, a word at a time, as attnbook/decoder.py computes it: runs in a worker, beside core.js.
"use strict";

if (typeof require === "function") globalThis.attnbook = require("../core.js");

// NumPy's default_rng(seed): a SeedSequence fills the state of PCG64. Returns random().
function defaultRng(seed) {
  const low = (x) => BigInt.asUintN(32, x), wide = (x) => BigInt.asUintN(128, x), mixed = (x) => x ^ x >> 16n;
  const hashing = (by, factor) => (x) => {
    x ^= by;
    by = low(by * factor);
    return mixed(low(x * by));
  };
  let hash = hashing(0x43b0d7e5n, 0x931e8875n);
  const pool = [BigInt(seed), 0n, 0n, 0n].map((x) => hash(x));
  for (let from = 0; from < 4; from++)
    for (let to = 0; to < 4; to++)
      if (from !== to) pool[to] = mixed(low(0xca01f9ddn * pool[to] - 0x4973f715n * hash(pool[from])));
  hash = hashing(0x8b51f9ddn, 0x58f38dedn);
  const words = Array.from({ length: 8 }, (_, i) => hash(pool[i % 4]));
  const two = (i) => words[i] | words[i + 1] << 32n, start = two(0) << 64n | two(2);
  const step = wide((two(4) << 64n | two(6)) << 1n | 1n);
  const next = (state) => wide(state * 0x2360ed051fc65da44385df649fccf645n + step);
  let state = next(wide(step + start));
  return () => {
    state = next(state);
    const x = BigInt.asUintN(64, state >> 64n ^ state), by = state >> 122n;
    return Number(BigInt.asUintN(64, x >> by | x << 64n - by) >> 11n) / 2 ** 53;
  };
}

// The likeliest word, or one drawn from the fewest whose shares reach topP.
function choose(logits, random, temperature, topP) {
  const shares = attnbook.softmax(logits.map((one) => one / (temperature || 1)));
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a]);
  if (!temperature) return { token: order[0], shares, kept: order.slice(0, 1) };
  let sum = 0;
  const sums = order.map((i) => (sum += shares[i]));
  const kept = order.slice(0, sums.findIndex((each) => each >= topP) + 1 || order.length);
  const drawn = random() * sums[kept.length - 1];
  return { token: kept[sums.findIndex((each) => each > drawn)], shares, kept };
}

// Go on from tokens until a word is stop, or there are most. Each word is told with the logits it was
// chosen by and, for each layer and head, what the word before it gives to those so far.
function write(model, { tokens, most, stop, temperature, topP, seed, mistake }, tell) {
  const { linear, rmsNorm, rotary, attention } = attnbook;
  const group = 2, kvHeads = 2, head_dim = 16, random = defaultRng(seed); // group: query heads that share a KV head
  const layers = Object.values(model).filter((each) => each.w_q), cache = layers.map(() => ({ keys: [], values: [] }));
  const add = (a, b) => a.map((one, i) => one + b[i]);
  const split = ([x]) => Array.from({ length: x.length / head_dim }, (_, h) => x.slice(h * head_dim, (h + 1) * head_dim));
  const seen = [...tokens];
  for (let at = 0; at + 1 < most; at++) {
    const place = mistake === "restart" && at >= tokens.length ? 0 : mistake === "backward" ? -at : at;
    const turn = (row) => (mistake === "unrotated" ? row
      : rotary(row, place, { pairing: mistake === "halves" ? "halves" : "interleaved" }));
    const weights = [];
    let x = model.embedding[seen[at]];
    layers.forEach((layer, number) => {
      const normed = rmsNorm([x], layer.attention_norm), { keys, values } = cache[number];
      const queries = split(linear(normed, layer.w_q)).map(turn);
      keys.push(split(linear(normed, layer.w_k)).map(turn));
      values.push(split(linear(normed, layer.w_v)));
      const merged = queries.flatMap((query, h) => {
        const kv = mistake === "tiled" ? h % kvHeads : Math.floor(h / group);
        const of = (kept) => kept.map((each) => each[kv]);
        const looked = attention([query], of(keys), of(values), mistake === "unscaled" ? { scale: 1 } : {});
        weights.push(...looked.weights[0]);
        return looked.output[0];
      });
      x = add(x, linear([merged], layer.w_o)[0]);
      const fed = rmsNorm([x], layer.feed_forward_norm), [up] = linear(fed, layer.w_up);
      const gated = linear(fed, layer.w_gate)[0].map((gate, i) => gate / (1 + Math.exp(-gate)) * up[i]);
      x = add(x, linear([gated], layer.w_down)[0]);
    });
    const [last] = rmsNorm([x], model.final_norm), logits = model.embedding.map((row) => attnbook.dot(last, row));
    const given = at + 1 < tokens.length; // the prompt is read: no number is drawn for it
    const { token, shares, kept } = choose(logits, given ? () => 0 : random, temperature, topP);
    seen[at + 1] = given ? seen[at + 1] : token;
    tell({ token: seen[at + 1], shares, kept, logits, weights: Float32Array.from(weights) });
    if (!given && token === stop) return;
  }
}

// How many answers, from a place on, follow from what was told before them; and where the first stands.
function judged(words, from) {
  const facts = {}, count = { right: 0, all: 0 }, men = ["Tom", "Sam", "Ben", "Max", "Leo", "Jim"];
  const pronoun = (name) => (men.includes(name) ? "he" : "she");
  let pair = [], begun = 1;
  words.forEach((word, at) => {
    if (word !== ".") return;
    const said = words.slice(begun, at), [a, b, c, d, e, last] = said, asked = said.indexOf("?");
    begun = at + 1;
    if (asked > 0) {
      if (at - 1 < from) return;
      count.first ??= at - 1;
      count.all++;
      count.right += facts[said.slice(0, asked).join(" ")] === said.at(-1) ? 1 : 0;
    } else if (b === "gives") {
      pair = [a, last];
      facts[`who has the ${d}`] = last;
    } else if (b === "goes" || b === "is" && c === "in") {
      const who = ["he", "she"].includes(a) ? pair.find((name) => pronoun(name) === a) : a;
      facts[`where is ${who}`] = e;
    } else if (a === "the" && d === "with") facts[`who has the ${b}`] = e;
    else if (a === "the" && c === "is") facts[`what colour is the ${b}`] = d;
  });
  return count;
}

if (typeof module === "object") module.exports = { ...attnbook, defaultRng, choose, write, judged };
else {
  let model;
  onmessage = ({ data: { parameters, job, vocabulary, ...asked } }) => {
    if (parameters) return void (model = attnbook.unpack(parameters));
    const words = asked.tokens.map((token) => vocabulary[token]).slice(0, 1), begun = performance.now();
    write(model, asked, (step) => {
      words.push(vocabulary[step.token]);
      postMessage({ job, step });
    });
    const rate = 1000 * (words.length - 1) / (performance.now() - begun);
    postMessage({ job, rate, answers: judged(words, asked.tokens.length) });
  };
}
