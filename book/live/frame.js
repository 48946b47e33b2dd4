// What figures that are touched share: controls, words, and their state in the address.
"use strict";

const drawn = (tag, about = {}, ...inside) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(about)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};
// What stays is not laid out anew; and a node that is new has the browser ask all :has() around it.
const put = (element, text) => {
  if (element.textContent === text) return;
  if (text && element.firstChild) element.firstChild.data = text;
  else element.textContent = text;
};
const filled = (text, fields) => text.replace(/\{(\w*)\}/g, (_, name) => fields[name]);

// The state of a figure is what its inputs hold: live() reads them all when the figure comes near
// the screen, calls start() once with the stage, and then the function that it returned with each
// new state. That draws, and returns what the reader has just seen: the name of a sentence in
// figure.toml, its fields, and, where a number of a control stands for something else, what a
// screen reader says for it.
function live(name, start) {
  near(name, (place) => {
    const texts = place.querySelector("script");
    if (!texts) return; // of a page that has been taken apart since
    const { sentences, words } = JSON.parse(texts.textContent);
    const inputs = [...place.querySelectorAll("[name]")];
    const stage = place.querySelector(".live-stage"), said = place.querySelector(".live-said");
    const value = (input) => (input.type === "checkbox" ? input.checked
      : input.type === "range" ? Number(input.value) : input.value);
    const give = (input, to) => { input[input.type === "checkbox" ? "checked" : "value"] = to; };
    const initial = inputs.map(value);
    let redraw, asked, resting;

    const show = () => {
      asked = undefined;
      for (const input of inputs) {
        const output = input.closest("label")?.querySelector("output");
        if (!output) continue;
        const text = filled(output.dataset.shown, { "": value(input).toFixed(output.dataset.digits) });
        put(output, text);
        input.setAttribute("aria-valuetext", text);
      }
      clearTimeout(resting);
      // What is not ready yet tells nothing, and calls set() when it is.
      const seen = redraw(Object.fromEntries(inputs.map((input) => [input.name, value(input)])));
      if (!seen) return place.classList.add("moving");
      const [sentence, fields, spoken = {}] = seen;
      for (const input of inputs)
        if (input.name in spoken) input.setAttribute("aria-valuetext", spoken[input.name]);
      // Told once the hand rests, not at each step of a drag.
      resting = setTimeout(() => {
        said.textContent = filled(sentences[sentence], fields);
        remember();
        place.classList.remove("moving");
      }, said.textContent && 150);
    };
    const changed = () => {
      place.classList.add("moving");
      asked ??= requestAnimationFrame(show);
    };
    const set = (changes) => {
      for (const input of inputs) if (input.name in changes) give(input, changes[input.name]);
      changed();
    };
    const remember = () => {
      const address = new URL(location);
      inputs.forEach((input, i) => {
        if (value(input) === initial[i]) address.searchParams.delete(`${name}.${input.name}`);
        else address.searchParams.set(`${name}.${input.name}`, value(input));
      });
      // Who follows the link comes to the figure.
      if (inputs.some((input, i) => value(input) !== initial[i])) address.hash = place.querySelector("figure").id;
      if (address.href !== location.href) history.replaceState(history.state, "", address);
    };

    place.querySelector(".live-reset").addEventListener("click", () => {
      inputs.forEach((input, i) => give(input, initial[i]));
      changed();
    });
    for (const input of inputs) {
      const given = new URLSearchParams(location.search).get(`${name}.${input.name}`);
      const known = input.type !== "select-one" || [...input.options].some((each) => each.value === given);
      // An address holds no more than a hand may type: what is computed of it takes a moment.
      const short = given?.length <= (input.maxLength > 0 ? input.maxLength : 100);
      if (short && known) give(input, input.type === "checkbox" ? given === "true" : given);
      input.addEventListener("input", changed);
    }
    redraw = start({ stage, words, set });
    place.classList.add("ready");
    show();
  });
}

// Call with each place of a figure once it comes near the screen: one far below takes no time.
function near(name, then) {
  const coming = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      coming.unobserve(target);
      then(target);
    }
  }, { rootMargin: "800px" });
  document.querySelectorAll(`[data-live="${name}"]`).forEach((place) => coming.observe(place));
}

// Call back with a figure's data, or without where they cannot be had.
const home = document.currentScript?.src;
function load(name, then) {
  const script = document.createElement("script"), given = () => then(window.liveData?.[name]);
  script.src = new URL(`live-${name}-data.js`, home);
  for (const end of ["load", "error"]) script.addEventListener(end, given);
  document.head.append(script);
}

// The same, once the figure comes near the screen.
function withData(name, start) {
  let asked = false;
  near(name, () => {
    if (!asked) load(name, (data) => data && start(data));
    asked = true;
  });
}

// Hand on where a picture is pressed or dragged, by mouse, finger or pen, in its own coordinates.
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
