"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  // The rows are what the page is about, so only the first groups are shown at once.
  const GROUPS = 5;
  const MARKS = { w: "wrong", r: "right", u: "unsure" };
  // Where no number can be given there is no chance either, only an order.
  const closed = data.colour === "red";
  const state = { rows: [], at: -1, marks: load() };

  function el(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") node.className = value;
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value);
    }
    // Strings become text nodes, whatever is in them.
    node.append(...children);
    return node;
  }

  // ------------------------------------------------------------------ decisions

  // A page without an address of its own has no storage; decisions then last as long as it is open.
  function load() {
    try {
      return JSON.parse(localStorage.getItem(data.key)) || {};
    } catch {
      return {};
    }
  }

  function keep() {
    try {
      localStorage.setItem(data.key, JSON.stringify(state.marks));
    } catch {
      $("count").title = "this browser cannot save your decisions: export them before you close the page";
    }
  }

  function mark(row, decision) {
    if (decision === null) delete state.marks[row.name];
    else state.marks[row.name] = { decision, label: labelOf(row) };
    keep();
    showEntry(row);
    showRow();
    showCount();
  }

  const decisionOf = (row) => (state.marks[row.name] || {}).decision || "";
  function labelOf(row) {
    const kept = (state.marks[row.name] || {}).label;
    if (kept !== undefined) return kept;
    // A target has no second choice: what is right only a person knows.
    if (!data.labels) return "";
    // A row may be suspected though its own label is the likeliest; the right one is another then.
    if (row.predicted !== row.given) return row.predicted;
    return data.classes.length === 2 ? data.classes.find((one) => one !== row.given) : "";
  }

  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function csv() {
    const lines = [[data.counted, "decision", "given", "corrected"]];
    for (const row of data.rows) {
      const kept = state.marks[row.name];
      if (kept) {
        lines.push([row.name, kept.decision, row.given, kept.decision === "wrong" ? kept.label : ""]);
      }
    }
    return lines.map((line) => line.map((cell) => quote(String(cell))).join(",")).join("\n") + "\n";
  }

  function save() {
    const url = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    const link = el("a", { href: url, download: "decisions.csv" });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  // "line 12", and "patient 426" as it is.
  const called = (name) => (/^\d+$/.test(name) ? `${data.counted} ${name}` : name);
  const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  // ------------------------------------------------------------------ the list

  const percent = (part) => `${Math.round(100 * part)} %`;
  const arrow = (row) => (data.labels ? `${row.given} → ${row.predicted}` : `${row.given} (expected ${row.predicted})`);

  function entry(row) {
    const decision = decisionOf(row);
    const node = el(
      "div",
      {
        class: `entry${row.named ? " named" : ""}`,
        role: "option",
        id: `entry-${row.row}`,
        "aria-selected": "false",
        onclick: () => select(state.rows.indexOf(row)),
      },
      el("b", { title: row.name }, row.name),
      el("span", { class: "what", title: arrow(row) }, row.given === row.predicted ? row.given : arrow(row)),
      decision
        ? el("span", { class: `mark ${decision}` }, decision)
        : el("span", { class: "chance", title: "how likely it is to be wrong" }, closed ? "" : percent(1 - row.quality)),
    );
    return node;
  }

  function showEntry(row) {
    const old = $(`entry-${row.row}`);
    if (!old) return;
    const made = entry(row);
    made.setAttribute("aria-selected", old.getAttribute("aria-selected"));
    old.replaceWith(made);
  }

  function wanted(row) {
    const which = $("which").value;
    if (which === "named" && !row.named) return false;
    if (which === "open" && (decisionOf(row) || !row.named)) return false;
    if (["wrong", "right", "unsure"].includes(which) && decisionOf(row) !== which) return false;
    if ($("class").value !== "" && row.given !== $("class").value) return false;
    if ($("group").value !== "" && String(row.group) !== $("group").value) return false;
    const text = $("search").value.trim().toLowerCase();
    if (!text) return true;
    const all = [row.name, row.given, row.predicted, row.reason, ...row.values.map((v) => `${v.name} ${v.value}`)];
    return all.join("\n").toLowerCase().includes(text);
  }

  const order = new Intl.Collator(undefined, { numeric: true });
  const sorts = {
    quality: (a, b) => a.quality - b.quality,
    row: (a, b) => order.compare(a.name, b.name),
    given: (a, b) => order.compare(a.given, b.given) || a.quality - b.quality,
  };

  function showList() {
    const chosen = state.rows[state.at];
    state.rows = data.rows.filter(wanted).sort(sorts[$("sort").value]);
    const list = $("list");
    list.replaceChildren(...state.rows.map(entry));
    if (!state.rows.length) list.append(el("p", { class: "none" }, "No rows match."));
    const shown = `${state.rows.length} of the ${data.rows.length} rows on this page`;
    $("found").textContent = data.total > data.rows.length ? `${shown} (the table has ${data.total})` : shown;
    select(Math.max(state.rows.indexOf(chosen), state.rows.length ? 0 : -1), false);
  }

  function showCount() {
    const kinds = Object.values(MARKS).map((kind) => {
      const many = data.rows.filter((row) => decisionOf(row) === kind).length;
      return `${many} ${kind}`;
    });
    const total = data.rows.filter((row) => decisionOf(row)).length;
    $("count").textContent = total ? `decided: ${kinds.join(", ")}` : "no decisions yet";
    $("export").disabled = $("clear").disabled = total === 0;
    $("clear").textContent = "clear decisions";
  }

  function select(k, scroll = true) {
    const before = state.rows[state.at];
    if (before && $(`entry-${before.row}`)) $(`entry-${before.row}`).setAttribute("aria-selected", "false");
    for (const node of document.querySelectorAll('.entry[aria-selected="true"]')) {
      node.setAttribute("aria-selected", "false");
    }
    state.at = k;
    const row = state.rows[k];
    if (row) {
      const node = $(`entry-${row.row}`);
      node.setAttribute("aria-selected", "true");
      $("list").setAttribute("aria-activedescendant", node.id);
      if (scroll) node.scrollIntoView({ block: "nearest" });
    }
    showRow();
  }

  // ------------------------------------------------------------------ one row

  function decideButtons(row) {
    const now = decisionOf(row);
    const buttons = Object.entries(MARKS).map(([key, kind]) =>
      el(
        "button",
        { type: "button", "aria-pressed": String(now === kind), "data-kind": kind, onclick: () => mark(row, now === kind ? null : kind) },
        `${kind} (${key})`,
      ),
    );
    const label = el("input", { type: "text", id: "corrected", value: labelOf(row), "aria-label": "the right label" });
    label.addEventListener("change", () => {
      state.marks[row.name] = { decision: "wrong", label: label.value };
      keep();
      showEntry(row);
      showRow();
      showCount();
    });
    return el("div", { id: "decide" }, ...buttons, el("label", {}, data.labels ? "right label " : "right value ", label));
  }

  function strip(value) {
    if (value.place === undefined) return "";
    const mark_ = el("i");
    mark_.style.left = `${100 * value.place}%`;
    return el("span", { class: "strip", title: `${percent(value.place)} of the rows compared with are lower` }, mark_);
  }

  function valuesTable(row) {
    const beside = row.beside.map((one) => el("th", { class: "plain" }, called(one.name), el("br"), el("span", { class: "small" }, one.label)));
    const head = el("tr", {}, el("th", { class: "plain" }, "column"), el("th", { class: "plain" }, "this row", el("br"), el("span", { class: "small" }, row.given)), el("th", { class: "plain" }, data.labels ? `among all ${row.given}` : "among all rows"), ...beside);
    const body = row.values.map((value) =>
      el("tr", { class: value.rare ? "rare" : "" },
        el("td", { title: value.name }, value.name),
        el("td", { class: "mine", title: value.value }, value.value),
        el("td", { class: "among" }, strip(value), value.unusual || ""),
        ...value.beside.map((other) => el("td", { title: other }, other))),
    );
    return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
  }

  function showRow() {
    const row = state.rows[state.at];
    const box = $("row");
    if (!row) {
      box.replaceChildren(el("p", { class: "none" }, "Pick a row from the list."));
      return;
    }
    const title = data.labels
      ? `${called(row.name)}: labelled ${row.given}` + (row.given === row.predicted ? "" : `, looks like ${row.predicted}`)
      : `${called(row.name)}: ${row.given}, expected about ${row.predicted}`;
    const parts = [
      el("h2", {}, sentence(title)),
      el("p", { class: "why" }, `${closed ? "" : `${percent(1 - row.quality)} likely to be wrong. `}${sentence(row.reason)}.`),
    ];
    if (row.group >= 0) parts.push(el("p", { class: "why" }, `Group ${row.group}: ${data.groups[row.group]}.`));
    parts.push(decideButtons(row));
    if (row.values.length) {
      const whose = data.labels ? "Values that argue against the label come first, next to those of the nearest rows with another label." : "Values unlike those of the nearest rows come first.";
      parts.push(el("p", { class: "small" }, whose), valuesTable(row));
      if (row.more) parts.push(el("p", { class: "small" }, `and ${row.more} more columns`));
    }
    box.replaceChildren(...parts);
  }

  // ------------------------------------------------------------------ keys

  function onKey(event) {
    const at = event.target;
    const typing = at instanceof HTMLInputElement || at instanceof HTMLSelectElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = state.rows[state.at];
    if (event.key === "ArrowDown" || event.key === "j") select(Math.min(state.at + 1, state.rows.length - 1));
    else if (event.key === "ArrowUp" || event.key === "k") select(Math.max(state.at - 1, 0));
    else if (event.key in MARKS && row) {
      mark(row, MARKS[event.key]);
      select(Math.min(state.at + 1, state.rows.length - 1));
    } else if (event.key === "x" && row) mark(row, null);
    else return;
    event.preventDefault();
  }

  // ------------------------------------------------------------------ begin

  function choices(select_, pairs) {
    select_.append(...pairs.map(([value, text]) => el("option", { value }, text)));
  }

  $("sentence").textContent = data.sentence;
  $("trust").textContent = data.trust;
  $("trust").classList.add(data.colour);
  const named = data.rows.filter((row) => row.named).length;
  choices($("which"), [
    ["named", `flagged (${named})`],
    ["all", `all (${data.rows.length})`],
    ["open", "flagged, undecided"],
    ["wrong", "decided: wrong"],
    ["right", "decided: right"],
    ["unsure", "decided: unsure"],
  ]);
  if (!named) $("which").value = "all";
  choices($("class"), [["", "all"], ...data.classes.map((one) => [one, one])]);
  choices($("group"), [["", "all"], ...data.groups.map((_, k) => [String(k), `group ${k}`])]);
  $("class-label").hidden = !data.labels;
  $("group-label").hidden = data.groups.length === 0;
  $("sort").options[1].textContent = data.counted;
  if (!data.labels) $("sort").options[2].textContent = "value";
  if (data.groups.length) {
    const items = data.groups.map((text, k) =>
      el("li", {}, el("button", { type: "button", class: "link", onclick: () => {
        $("group").value = String(k);
        $("which").value = "all";
        showList();
      } }, `Group ${k}`), `: ${text}`));
    $("groups").append(el("h2", {}, "Rows that look wrong together"), el("ul", {}, ...items.slice(0, GROUPS)));
    if (items.length > GROUPS) {
      const more = items.slice(GROUPS);
      const what = more.length === 1 ? "1 more group" : `${more.length} more groups`;
      $("groups").append(el("details", {}, el("summary", {}, what), el("ul", {}, ...more)));
    }
  }
  for (const id of ["which", "class", "group", "sort"]) $(id).addEventListener("change", showList);
  $("search").addEventListener("input", showList);
  $("export").addEventListener("click", save);
  $("apply").textContent = data.apply;
  $("clear").addEventListener("click", () => {
    // Asked twice: hours of work are gone with one click.
    if ($("clear").textContent === "clear decisions") {
      $("clear").textContent = "really clear all?";
      return;
    }
    state.marks = {};
    keep();
    showList();
    showCount();
  });
  document.addEventListener("keydown", onKey);
  const relied = Object.entries(data.relied).map(([name, share]) => `${name} ${percent(share)}`);
  $("notes").append(
    ...data.notes.map((note) => el("p", {}, note)),
    el("p", {}, `Weight of each model: ${relied.join(", ")}.`),
  );
  showList();
  showCount();
})();
