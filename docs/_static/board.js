"use strict";
// The board: the table of one group of data sets at a time, and the methods of one family. The page is whole without it.
(() => {
  const groups = [...document.querySelectorAll(".board-group")];
  if (groups.length === 0) return;
  const rows = groups.flatMap((group) => [...group.querySelectorAll("tbody tr")]);
  const familyOf = (row) => row.cells[1].textContent.trim();
  const bar = document.createElement("p");
  bar.className = "board-filters";

  function addSelect(title, options, choose) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    for (const each of options) select.add(new Option(each));
    select.addEventListener("change", () => choose(select.selectedIndex));
    label.append(`${title} `, select);
    bar.append(label);
  }

  function showGroup(chosen) {
    groups.forEach((group, k) => {
      group.hidden = k !== chosen;
      if (k === chosen) group.open = true;
    });
  }

  const names = groups.map((group) => {
    const summary = group.querySelector(":scope > summary");
    if (!summary) return group.dataset.name;
    summary.hidden = true; // the select says the same
    return summary.textContent;
  });
  const families = [...new Set(rows.map(familyOf))].sort();
  if (groups.length > 1) addSelect("Data sets", names, showGroup);
  addSelect("Family", ["all", ...families], (chosen) => {
    for (const row of rows) row.hidden = chosen > 0 && familyOf(row) !== families[chosen - 1];
  });
  groups[0].before(bar);
  showGroup(0);
})();
