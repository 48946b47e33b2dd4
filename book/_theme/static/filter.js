// A field that filters the tables below it. Where a row has links into the page, each is an entry
// by itself, found by its own words and by those of the section that it leads to.
"use strict";

for (const box of document.querySelectorAll(".filter")) {
  const field = box.querySelector("input"), told = box.querySelector("output");
  // All of the tables is read when the field is first used.
  let tables, rows, texts;
  function begin() {
    if (rows) return;
    layRows(document);
    tables = [...document.querySelectorAll("article .table-box")];
    rows = tables.flatMap((table) => [...table.querySelectorAll("tbody tr")]).map((row) => {
      const cell = row.cells[row.cells.length - 1];
      const links = [...cell.querySelectorAll("a[href^='#']")];
      return { row, cell, entries: links.length > 1 ? links : [row] };
    });
  }
  const prose = (link) => {
    const place = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    return [...place?.closest("section")?.querySelectorAll(":scope > p") ?? []].map((p) => p.textContent).join(" ");
  };
  const read = () => new Map(rows.flatMap(({ row, entries }) => entries.map((entry) => [entry,
    (entry === row ? row.textContent : `${row.cells[0].textContent} ${entry.textContent} ${prose(entry)}`).toLowerCase()])));

  function filter() {
    begin();
    texts ??= read();
    const asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (entry) => asked.every((word) => texts.get(entry).includes(word));
    let left = 0;
    for (const { row, cell, entries } of rows) {
      const found = entries.filter(fits);
      left += found.length;
      row.hidden = !found.length;
      if (entries[0] !== row && found.length)
        cell.firstElementChild.replaceChildren(...found.flatMap((link, i) => (i ? [" · ", link] : [link])));
    }
    for (const table of tables) {
      table.hidden = !table.querySelector("tbody tr:not([hidden])");
      const folded = table.closest("details");
      if (folded) folded.open = asked.length > 0;
    }
    // What led to a table goes with it.
    for (const section of document.querySelectorAll("article section section")) {
      const inside = [...section.querySelectorAll(".table-box")];
      section.hidden = inside.length > 0 && !section.contains(box) && inside.every((table) => table.hidden);
    }
    told.textContent = asked.length
      ? told.dataset.shown.replace("{left}", left).replace("{all}", texts.size) : "";
  }

  field.addEventListener("focus", begin);
  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && field.value) {
      field.value = "";
      filter();
    }
  });
  box.hidden = false;
  if (field.value) filter(); // as the browser kept it
}
