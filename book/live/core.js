// What attnbook computes, for figures that are touched: numbers as lists, matrices as lists of rows.
"use strict";

const attnbook = {
  dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
    return sum;
  },

  // A row that is all -Infinity gives zeros.
  softmax(x) {
    const top = Math.max(...x);
    const e = x.map((one) => (top === -Infinity ? 0 : Math.exp(one - top)));
    const sum = e.reduce((a, b) => a + b, 0) || 1;
    return e.map((one) => one / sum);
  },

  // mask[i][j] is true where query i may attend to key j.
  attention(query, key, value, { scale = 1 / Math.sqrt(key[0].length), mask } = {}) {
    const { dot, softmax } = attnbook;
    const weights = query.map((q, i) =>
      softmax(key.map((k, j) => (mask && !mask[i][j] ? -Infinity : scale * dot(q, k)))));
    const output = weights.map((row) => {
      const sums = value[0].map(() => 0);
      for (let j = 0; j < row.length; j++)
        for (let c = 0; row[j] && c < sums.length; c++) sums[c] += row[j] * value[j][c];
      return sums;
    });
    return { output, weights };
  },

  // x @ w + b; without b, x @ w.
  linear: (x, w, b) => x.map((row) => {
    const sums = b ? [...b] : w[0].map(() => 0);
    // A row of w after the other, as they lie in memory.
    for (let i = 0; i < row.length; i++)
      for (let c = 0; c < sums.length; c++) sums[c] += row[i] * w[i][c];
    return sums;
  }),

  rmsNorm: (x, gain, eps = 1e-5) => x.map((row) => {
    const scale = 1 / Math.sqrt(attnbook.dot(row, row) / row.length + eps);
    return row.map((one, i) => one * scale * gain[i]);
  }),

  // A layer with as many key heads as query heads; weights[h] is head h's.
  multiHead(layer, query, memory, mask) {
    const { linear, attention } = attnbook, heads = layer.num_heads;
    const part = (x, h) => x.map((row) => row.slice(h * row.length / heads, (h + 1) * row.length / heads));
    const [q, k, v] = [[query, "q"], [memory, "k"], [memory, "v"]]
      .map(([x, letter]) => linear(x, layer[`w_${letter}`], layer[`b_${letter}`]));
    const each = Array.from({ length: heads }, (_, h) => attention(part(q, h), part(k, h), part(v, h), { mask }));
    const merged = query.map((_, i) => each.flatMap((head) => head.output[i]));
    return { output: linear(merged, layer.w_o, layer.b_o), weights: each.map((head) => head.weights) };
  },

  effectiveKeys: (weights) =>
    Math.exp(-weights.reduce((sum, w) => sum + (w && w * Math.log(w)), 0)),

  // One query or key, in RoFormer's direction: a negative position turns it the other way.
  rotary(x, position, { base = 10000, pairing = "interleaved" } = {}) {
    const rotated = [...x], half = x.length / 2;
    for (let j = 0; j < half; j++) {
      const [a, b] = pairing === "halves" ? [j, j + half] : [2 * j, 2 * j + 1];
      const angle = position * base ** (-j / half), c = Math.cos(angle), s = Math.sin(angle);
      [rotated[a], rotated[b]] = [x[a] * c - x[b] * s, x[a] * s + x[b] * c];
    }
    return rotated;
  },

  // Parameters by their dotted names, from numbers of 16 bits: a sign, 5 of exponent, 10 of fraction.
  unpack({ shapes, numbers }) {
    const bytes = Uint8Array.from(atob(numbers), (each) => each.charCodeAt(0)), bits = new DataView(bytes.buffer);
    let at = 0;
    const number = () => {
      const all = bits.getUint16(2 * at++, true), exponent = all >> 10 & 31, fraction = all & 1023;
      return (all >> 15 ? -1 : 1) * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
    };
    const array = (n, ...rest) => Array.from({ length: n }, () => (rest.length ? array(...rest) : number()));
    const model = {};
    for (const [name, shape] of Object.entries(shapes)) {
      const path = name.split("."), last = path.pop();
      path.reduce((holder, key) => (holder[key] ??= {}), model)[last] = array(...shape);
    }
    return model;
  },
};

if (typeof module === "object") module.exports = attnbook;
