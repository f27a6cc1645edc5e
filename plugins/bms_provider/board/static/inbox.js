"use strict";
// Pages of an inbox and of a drop: upload, corrections, submission, progress.

const page = () => document.querySelector("#inbox");
const say = (text) => {
  for (const each of document.querySelectorAll(".status")) each.textContent = text;
};

// Post to the board; show the server's error in the language of the page. Returns null after an error.
const post = async (address, body, headers = {}) => {
  say(page().dataset.working ?? "");
  try {
    const answer = await fetch(address, { method: "POST", body, headers: { "X-BMS-Board": "1", ...headers } });
    if (answer.ok) return answer.status === 204 ? {} : await answer.json();
    const error = (await answer.json()).error;
    say((document.documentElement.lang === "fr" && error.FR) || error.EN);
  } catch {
    say(page().dataset.failed ?? "");
  }
  return null;
};
const postJson = (address, content) => post(address, JSON.stringify(content), { "Content-Type": "application/json" });

// Replace the content with the server's current one, but neither a message to the user nor the lines that they choose.
const choosing = () => document.querySelector("main input:checked");
const current = async () => {
  const answer = await fetch(location.href);
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
};
const refresh = async () => {
  const found = await current();
  if (!found) return location.reload();
  if (choosing()) return;
  const said = document.querySelector(".status")?.textContent ?? "";
  for (const each of found.querySelectorAll(".status")) each.textContent = said;
  for (const each of ["header", "main"]) {
    const [old, now] = [document.querySelector(each), found.querySelector(each)];
    if (old.innerHTML !== now.innerHTML) old.replaceWith(now);
  }
};

const upload = async ([file, ...more]) => {
  const address = document.querySelector("[data-upload]")?.dataset.upload;
  if (!file || !address) return;
  if (more.length) return say(page().dataset.single);
  const found = await post(address, file, { "X-File-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" });
  if (found) location.assign(found.page);
};

const changed = () => [...document.querySelectorAll("[data-place]")].filter((each) => each.value !== each.defaultValue);
// What is typed into cells that are about to be replaced would be lost.
const freeze = (on) => {
  for (const each of document.querySelectorAll("#inbox section, .column")) each.inert = on;
};
// Send all corrected cells and headers, since the page is shown anew.
const correct = async (headers = {}) => {
  const cells = {};
  for (const { value, dataset } of changed()) {
    (cells[dataset.line] ??= {})[dataset.place] = value;
    if ("added" in dataset) headers[dataset.place] = dataset.header;
  }
  const { digest } = document.querySelector("[data-digest]").dataset;
  freeze(true);
  try {
    if (!(await postJson(page().dataset.cells, { cells, headers, digest }))) return;
    await refresh();
  } finally {
    freeze(false);
  }
  say(page().dataset.checked);
  (document.querySelector("[aria-invalid]") ?? document.querySelector("[data-submit] [type=submit]"))?.focus();
};

// What was decided on lines, and by whom.
const decisions = (lines) => lines.map((line) => document.querySelector(`[data-decided="${line}"]`)).filter(Boolean)
  .map(({ cells: [line, what, who] }) => `${line.dataset.name} ${line.innerText} (${what.innerText}, ${who.innerText})`);
// Trigger the DAG with a decision on lines, as Airflow's own form does; the user needs that right.
const decide = async (decision, lines) => {
  const { trigger, drop, working, sent, failed, taken } = page().dataset;
  say(working);
  // Another user may have decided since the page was shown.
  const now = await current().catch(() => null);
  const gone = now ? lines.filter((line) => !now.querySelector(`main input[value="${line}"]`)) : [];
  if (gone.length) {
    for (const each of document.querySelectorAll("main :checked")) each.checked = false;
    await refresh();
    return say([taken, ...decisions(gone)].join(" "));
  }
  const conf = { drop: Number(drop), line: lines.join(", "), decision };
  const body = JSON.stringify({ logical_date: null, conf });
  const answer = lines.length
    ? await fetch(trigger, { method: "POST", body, headers: { "Content-Type": "application/json" } }).catch(() => null)
    : null;
  say(answer?.ok ? sent : failed);
  if (!answer?.ok) return;
  for (const each of document.querySelectorAll("main :checked")) each.checked = false;
  sentLines = lines;
  followUntil = Date.now() + 120_000; // until the run has the drop
};
let [followUntil, sentLines] = [0, []];
setInterval(async () => {
  const follows = page()?.dataset.follow !== undefined || Date.now() < followUntil;
  if (!follows || document.hidden || choosing()) return;
  await refresh();
  const found = decisions(sentLines);
  if (!found.length) return;
  sentLines = [];
  say(found.join(" ")); // another user's, if that was first
}, 3000);

addEventListener("change", async ({ target }) => {
  if (!target.matches("[type=file]")) return;
  await upload(target.files);
  target.value = ""; // so that the same file can be chosen again
});
addEventListener("beforeunload", (event) => {
  if (changed().length) event.preventDefault();
});
addEventListener("input", ({ target }) => {
  if (!target.matches("[data-line]")) return;
  document.querySelector("[data-check]").disabled = !changed().length;
});
// A second click on what is being sent would send it twice.
const once = (handle) => {
  let working = false;
  return async (event) => {
    if (working) return;
    working = true;
    await handle(event).finally(() => { working = false; });
  };
};
addEventListener("click", once(async ({ target }) => {
  if (target.matches("[data-check]")) await correct();
  const boxes = [...document.querySelectorAll("main input[type=checkbox]")];
  if (target.matches("[data-all]")) for (const each of boxes) each.checked = true;
  if (target.matches("[data-decision]")) {
    const { decision, line } = target.dataset;
    await decide(decision, line ? [line] : boxes.filter((each) => each.checked).map((each) => each.value));
  }
  if (target.matches("[data-accept]")) {
    const place = target.dataset.accept;
    const header = document.querySelector(`select[data-column="${place}"]`).value || null;
    await correct({ [place]: header });
  }
  if (target.matches("[data-post]")) {
    const found = await postJson(target.dataset.post, {});
    if (!found) return;
    for (const each of changed()) each.value = each.defaultValue; // discarded
    location.assign(found.page);
  }
}));
const send = once(async ({ target }) => {
  if (changed().length) return say(page().dataset.unsaved);
  const { submit, digest } = target.dataset;
  const found = await postJson(submit, { digest });
  if (found) location.assign(found.page);
});
addEventListener("submit", (event) => {
  event.preventDefault();
  send(event);
});
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault(); // no page but this one opens it
    document.querySelector("[data-upload]")?.classList.toggle("over", kind === "dragover");
    if (kind === "drop") upload(event.dataTransfer.files);
  });
}
addEventListener("dragleave", () => document.querySelector("[data-upload]")?.classList.remove("over"));
