// Pages in files: click on the head of a column to sort by it, type to filter a list. Without this they are as they are.
"use strict";

for (const field of document.querySelectorAll("[data-filter]")) {
  const items = [...document.getElementById(field.dataset.filter).children];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const item of items) {
      const text = item.textContent.toLowerCase();
      item.hidden = !words.every(word => text.includes(word));
    }
  });
}

const value = cell => {
  const text = cell?.textContent.trim() ?? "";
  return text === "" || isNaN(text.replaceAll(",", "")) ? text : Number(text.replaceAll(",", ""));
};

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "head";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending" || (head.dataset.sort === "down" && !head.ariaSort);
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((one, other) => {
        const [a, b] = [value(one.cells[column]), value(other.cells[column])];
        const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
}
