// Python, beside the page: it may take as long as it likes, and is ended from outside.
// ANSWER is the text of answer.py.
"use strict";

const tell = (printed) => postMessage({ printed });
let play;

// Where JupyterLite lies, Python is known; what failed is returned.
async function start(lite) {
  let found;
  try { found = await fetch(new URL("write/python.json", lite)); } catch (offline) { return "network"; }
  if (!found.ok) return "absent";
  try {
    const { pyodide, wheel } = await found.json();
    const packed = fetch(new URL(wheel, lite)).then((got) => got.arrayBuffer());
    packed.catch(() => {}); // awaited below
    importScripts(new URL(pyodide, lite));
    const python = await loadPyodide({ packages: ["numpy"], stdin: () => null });
    python.unpackArchive(await packed, "wheel");
    python.runPython(ANSWER);
    play = python.globals.get("play");
  } catch (failed) {
    console.warn(String(failed));
    return "network";
  }
  return "";
}

addEventListener("message", async ({ data }) => {
  if (data.lite) return postMessage({ started: true, failed: await start(data.lite) });
  let done;
  try {
    done = JSON.parse(play(data.text, data.earlier, data.name, data.function, tell));
  } catch (broken) { // Python itself, as by a recursion without end
    done = { kind: "broken" };
  }
  postMessage({ done });
});
