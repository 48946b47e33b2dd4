// What figures that are touched share: their place, controls, words, and their state in the address.
"use strict";

const drawn = (tag, about = {}, ...inside) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(about)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};
const made = (tag, about = {}, ...inside) => {
  const element = Object.assign(document.createElement(tag), about);
  element.append(...inside);
  return element;
};
const filled = (text, fields) => text.replace(/\{(\w+)\}/g, (_, name) => fields[name]);

// start({stage, words, data, state, set}) returns a function that draws the state and returns what
// the reader has just seen, as the name of a sentence and its fields. A control is a key of the
// state and how it is changed: {min, max, step, shown} for a slider, {choices} for a list.
function live(name, controls, start) {
  for (const place of document.querySelectorAll(`[data-live="${name}"]`)) {
    const { words, data } = JSON.parse(place.querySelector("script").textContent);
    const initial = Object.fromEntries(controls.map((each) => [each.key, each.value]));
    const state = { ...initial }, inputs = {}, shown = {};
    const stage = made("div", { className: "live-stage" });
    const panel = made("div", { className: "live-controls" });
    const said = made("p", { className: "live-said" });
    said.setAttribute("aria-live", "polite");
    let redraw, asked, telling;

    const set = (changes, keep = true) => {
      for (const { key, min, max, choices } of controls) {
        if (!(key in changes)) continue;
        const value = changes[key];
        if (choices ? choices.includes(value) : Number.isFinite(value))
          state[key] = choices ? value : Math.min(max, Math.max(min, value));
      }
      asked ??= requestAnimationFrame(() => { asked = undefined; show(keep); });
    };
    const show = (keep) => {
      for (const { key, shown: tell = String, choices } of controls) {
        if (inputs[key].type === "checkbox") inputs[key].checked = state[key];
        else inputs[key].value = state[key];
        if (!choices) shown[key].textContent = tell(state[key]);
        if (!choices) inputs[key].setAttribute("aria-valuetext", tell(state[key]));
      }
      const [sentence, fields] = redraw(state);
      // Read aloud once the hand rests, not at each step of a drag.
      clearTimeout(telling);
      telling = setTimeout(() => { said.textContent = filled(words[sentence], fields); }, keep ? 150 : 0);
      if (keep) remember();
    };
    const remember = () => {
      const address = new URL(location);
      const values = controls.map(({ key }) => state[key]);
      const same = values.every((value, i) => value === controls[i].value);
      if (same) address.searchParams.delete(name);
      else address.searchParams.set(name, values.join("_"));
      try { history.replaceState(history.state, "", address); } catch (fromDisk) { /* no address to keep */ }
    };

    for (const { key, min, max, step, choices } of controls) {
      const change = ({ target }) => set({
        [key]: target.type === "checkbox" ? target.checked : choices ? target.value : Number(target.value),
      });
      shown[key] = made("output");
      if (!choices) inputs[key] = made("input", { type: "range", min, max, step });
      else if (typeof choices[0] === "boolean") inputs[key] = made("input", { type: "checkbox" });
      else inputs[key] = made("select", {}, ...choices.map((value) =>
        made("option", { value, textContent: words[`${key}_${value}`] ?? value })));
      inputs[key].addEventListener("input", change);
      panel.append(made("label", {}, made("span", {}, words[key]), inputs[key], shown[key]));
    }
    const reset = made("button", { type: "button", className: "live-reset", textContent: words.reset });
    reset.addEventListener("click", () => set(initial));
    panel.append(reset);

    const given = new URLSearchParams(location.search).get(name)?.split("_") ?? [];
    const parsed = controls.slice(0, given.length).map(({ key, choices }, i) => [key,
      !choices ? Number(given[i]) : typeof choices[0] === "boolean" ? given[i] === "true" : given[i]]);

    redraw = start({ stage, words, data, set, state });
    const pictures = [...place.querySelectorAll("img")];
    pictures[0].before(made("p", { className: "live-try", textContent: words.try }), stage, panel, said);
    for (const picture of pictures) picture.classList.add("live-paper");
    place.classList.add("live");
    set(Object.fromEntries(parsed), false);
  }
}

// Hand on what is dragged, by mouse, finger or pen, in the coordinates of a picture.
function dragged(picture, move) {
  const at = (event) => {
    const spot = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    move(spot.x, spot.y);
  };
  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    event.preventDefault();
    at(event);
  });
  picture.addEventListener("pointermove", (event) => picture.hasPointerCapture(event.pointerId) && at(event));
}
