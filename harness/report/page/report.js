// A click on a heading sorts its table; without this script everything else works.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const value = (row, place) => {
    const text = row.cells[place].textContent.trim();
    const number = parseFloat(text.replace(/[, <]/g, ""));
    return Number.isNaN(number) ? text : number;
  };
  [...table.tHead.rows[0].cells].forEach((cell, place) => {
    if (cell.classList.contains("bars")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, place), value(b, place)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
}
