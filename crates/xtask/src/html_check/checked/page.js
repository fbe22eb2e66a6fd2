"use strict";
for (const table of document.querySelectorAll("table.sort")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.classList.contains("n") ? head.ariaSort !== "descending" : head.ariaSort === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.ariaSort = down ? "descending" : "ascending";
      const body = table.tBodies[0];
      const number = (text) => (/^[+-]?\d+$/.test(text) ? BigInt(text) : /^[+-]?\d+\.\d+$/.test(text) ? Number(text) : null);
      const rows = [...body.rows].map((row) => [row.cells[column]?.textContent.trim() ?? "", row]);
      const compare = (a, b) => {
        const [x, y] = [number(a), number(b)];
        if (x !== null && y !== null) return x < y ? -1 : x > y ? 1 : 0;
        if (x !== null || y !== null) return x === null ? -1 : 1;
        return a < b ? -1 : a > b ? 1 : 0;
      };
      rows.sort(([a], [b]) => (down ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
const kernels = [...document.querySelectorAll("details.kernel")];
const tools = document.querySelector(".tools");
if (tools) {
  const index = tools.nextElementSibling.querySelector("table.sort");
  if (index && tools.nextElementSibling.matches(".scroll")) {
    const label = document.createElement("label");
    const field = document.createElement("input");
    field.type = "search";
    label.append("Filter ", field);
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const row of index.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    tools.append(label);
  }
  if (kernels.length > 0) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Open or close all kernels";
    button.addEventListener("click", () => {
      const open = kernels.some((kernel) => !kernel.open);
      for (const kernel of kernels) kernel.open = open;
    });
    tools.append(button);
  }
}
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target) target.closest("details").open = true;
};
addEventListener("hashchange", reveal);
reveal();
