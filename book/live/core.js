// What attnbook computes, for figures that are touched: numbers as lists, matrices as lists of rows.
"use strict";

const attnbook = {
  dot: (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0),

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
    const output = weights.map((row) =>
      value[0].map((_, c) => row.reduce((sum, w, j) => sum + (w && w * value[j][c]), 0)));
    return { output, weights };
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
};

if (typeof module === "object") module.exports = attnbook;
