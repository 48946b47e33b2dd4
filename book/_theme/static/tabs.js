// A library that is chosen once is chosen in all tabs of the page, and what was looked at stays put.
document.addEventListener("change", ({ target }) => {
  const title = target.closest(".tabs") && target.nextElementSibling.textContent;
  if (!title) return;
  const before = target.getBoundingClientRect().top;
  for (const label of document.querySelectorAll(".tabs > label"))
    if (label.textContent === title) label.control.checked = true;
  scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
});
