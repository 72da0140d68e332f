// Everything is readable without this script: it adds sorting, filters, hover values and a choice of theme.
(() => {
  const make = (tag, options) => Object.assign(document.createElement(tag), options);
  const theme = make("button", { className: "tool", type: "button", textContent: "Light or dark" });
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.querySelector("header").append(theme);

  const number = (text) => {
    const found = /^~?\s*(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)/i.exec(text.trim());
    return found ? parseFloat(found[1].replaceAll(",", "")) : null;
  };
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    if (x !== null && y !== null) return x - y;
    if (x !== null || y !== null) return x !== null ? -1 : 1;
    return a.localeCompare(b);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, place) => {
      if (!head.textContent.trim()) return;
      const button = make("button", { type: "button", textContent: head.textContent });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compare(a.cells[place].textContent, b.cells[place].textContent));
        body.append(...(down ? rows.reverse() : rows));
      });
    });
    if (body.rows.length < 20) continue;
    const label = make("label", { className: "filter", textContent: "Show rows with: " });
    const input = make("input", { type: "search" });
    label.append(input);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(label);
  }

  const tip = make("div", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  for (const spot of document.querySelectorAll(".spot")) {
    const title = spot.querySelector("title");
    const text = title.textContent;
    title.remove(); // the browser's own hint would come late, beside this one
    const show = (event) => {
      tip.textContent = text;
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 4))}px`;
      tip.style.top = `${Math.max(4, event.clientY - box.height - 12)}px`;
    };
    spot.addEventListener("pointerenter", show);
    spot.addEventListener("pointerdown", show);
    spot.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
  for (const block of document.querySelectorAll("pre.copy")) {
    const button = make("button", { className: "tool", type: "button", textContent: "Copy" });
    button.addEventListener("click", () => navigator.clipboard.writeText(block.textContent).then(() => { button.textContent = "Copied"; }));
    block.after(button);
  }
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details.print")) one.open = true; });
})();
