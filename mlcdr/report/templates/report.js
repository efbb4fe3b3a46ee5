"use strict";
// Sorting by column, and what is folded away opened where it is wanted. The page is whole without it.
(() => {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const leading = /^[-+−]?\d+(\.\d+)?(e[-+]?\d+)?(?=$|\s|%)/i;

  const textOf = (row, column) => row.cells[column].textContent.trim();
  const numberOf = (text) => parseFloat(text.replace("−", "-"));

  // A column of numbers is compared as numbers (the mean of "0.204 ± 0.001"), any other as text.
  function comparer(rows, column) {
    const known = rows.filter((row) => textOf(row, column) !== "–");
    const numeric = known.length > 0 && known.every((row) => leading.test(textOf(row, column)));
    return numeric
      ? (a, b) => numberOf(textOf(a, column)) - numberOf(textOf(b, column))
      : (a, b) => collator.compare(textOf(a, column), textOf(b, column));
  }

  // Rows of a data set stay together, and data sets in their order, unless it is they that are sorted.
  function groupsOf(table, original, column) {
    const heading = table.tHead.rows[0].cells[0].textContent.trim();
    if (column === 0 || !/^data ?set/i.test(heading)) return () => 0;
    const names = [...new Set(original.map((row) => textOf(row, 0)))];
    return (row) => names.indexOf(textOf(row, 0));
  }

  function sortBy(table, original, column, direction) {
    const body = table.tBodies[0];
    table.classList.toggle("sorted", direction !== "none");
    let rows = original;
    if (direction !== "none") {
      const compare = comparer(original, column);
      const sign = direction === "ascending" ? 1 : -1;
      const missing = (row) => textOf(row, column) === "–"; // last, whichever way
      const group = groupsOf(table, original, column);
      rows = [...original].sort((a, b) => group(a) - group(b) || missing(a) - missing(b) || (missing(a) ? 0 : sign * compare(a, b)));
    }
    body.append(...rows);
  }

  const next = { none: "ascending", ascending: "descending", descending: "none" };

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const original = [...table.tBodies[0].rows];
    if (original.length < 2) continue;
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const direction = next[head.getAttribute("aria-sort") || "none"];
        for (const each of heads) each.removeAttribute("aria-sort");
        if (direction !== "none") head.setAttribute("aria-sort", direction);
        sortBy(table, original, column, direction);
      });
    });
    const hint = document.createElement("span");
    hint.className = "unseen";
    hint.textContent = " (the buttons in the heads sort)";
    table.caption.firstElementChild.append(hint);
  }

  // A table that is wider than its box says that it scrolls there.
  const watch = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
    }
  });
  for (const box of document.querySelectorAll(".scroll")) {
    const remark = document.createElement("p");
    remark.className = "scrolls";
    remark.textContent = "Scrolls sideways →";
    remark.hidden = true;
    box.before(remark);
    watch.observe(box);
  }

  // A link to something folded away opens it.
  function reveal() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    const own = target.querySelector(":scope > details");
    if (own) own.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  reveal();

  // On paper nothing is folded away.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const box of opened) box.open = true;
  });
  addEventListener("afterprint", () => {
    for (const box of opened) box.open = false;
  });
})();
