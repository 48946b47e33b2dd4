// Within the page, before the first paint: or a dark page would flash white.
try { var theme = localStorage.getItem("attention-book-theme"); } catch (denied) {}
document.documentElement.dataset.theme =
  theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
// A long page that is opened afresh is laid out in parts; one that is to open at a place, at once.
if (document.documentElement.className === "long" && !location.hash
    && performance.getEntriesByType("navigation")[0]?.type === "navigate")
  document.documentElement.classList.add("in-parts");
// Early fonts keep the text from moving; a browser refuses such a request to a file.
if (location.protocol !== "file:") {
  const fonts = ["fonts/core/serif", "fonts/core/sans", "fonts/core/serif-italic"];
  if (document.documentElement.dataset.formulas === "first")
    fonts.push("katex/fonts/core/KaTeX_Main-Regular", "katex/fonts/core/KaTeX_Math-Italic");
  for (const font of fonts) {
    const early = document.createElement("link");
    Object.assign(early, {rel: "preload", as: "font", type: "font/woff2", crossOrigin: "",
      href: document.documentElement.dataset.content_root + "_static/" + font + ".woff2"});
    document.head.append(early);
  }
}
