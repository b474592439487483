// Keeps the page up to date from /events. Names are players' words: they are
// only ever set as text.
"use strict";

const $ = (id) => document.getElementById(id);
const body = $("races").tBodies[0];
const races = new Map(); // id: {race, row}
let state = { at: Number($("state").dataset.at), started: Date.now(), trouble: "" };
let connected = false;

const left = (deadline) => {
  const s = Math.floor((deadline - Date.now()) / 1000);
  if (s <= 0) return "closed";
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, "0")}s`;
  return `${Math.floor(s / 3600)}h ${String(Math.floor(s / 60) % 60).padStart(2, "0")}m`;
};

const time = (at) => new Date(at).toISOString().slice(11, 16) + " UTC";

const labels = [...document.querySelectorAll("#races th")].map((th) => th.dataset.label ?? th.textContent);

function show(race, isNews) {
  let entry = races.get(race.id);
  if (!entry) {
    const row = document.createElement("tr");
    row.dataset.id = race.id;
    for (const label of labels) row.insertCell().dataset.label = label;
    row.lastChild.append(copyButton(race));
    entry = { row };
    races.set(race.id, entry);
  }
  entry.race = race;
  const texts = [left(race.deadline), race.name, race.fee, race.places, race.levels, race.type, race.length, race.hippodrome, race.tier];
  texts.forEach((text, i) => { entry.row.cells[i].textContent = text; });
  if (isNews) {
    entry.row.classList.remove("news");
    void entry.row.offsetWidth; // begin the animation anew
    entry.row.classList.add("news");
  }
}

// copyButton copies a command that lacks only the number of a horse. It is a dry run.
function copyButton(race) {
  const button = document.createElement("button"), command = `horseracing register --ledger register.ledger --race ${race.id} --horse `;
  button.type = "button";
  button.textContent = race.id;
  button.title = "Copy: " + command;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = race.id; }, 1500);
    } catch { // no clipboard: the page came over http from another machine
      prompt("Copy this:", command);
    }
  });
  return button;
}

const tokens = (race) => Number(race.units) / 1e18;
const isClosed = (race) => race.deadline <= Date.now();

const compare = {
  deadline: (a, b) => a.deadline - b.deadline,
  fee: (a, b) => { const x = BigInt(a.units), y = BigInt(b.units); return x < y ? -1 : x > y ? 1 : 0; },
  level: (a, b) => a.minLevel - b.minLevel,
  free: (a, b) => b.free - a.free,
};

function fits(race) {
  const level = $("level").valueAsNumber, fee = $("fee").valueAsNumber, hippodrome = $("hippodrome").value;
  return (Number.isNaN(level) || level >= race.minLevel && (race.maxLevel === 0 || level <= race.maxLevel)) &&
    (Number.isNaN(fee) || tokens(race) <= fee) && (hippodrome === "" || race.hippodrome === hippodrome);
}

let pending = false, closed = 0;
function arrange() { // once for many events
  if (pending) return;
  pending = true;
  setTimeout(() => {
    pending = false;
    const order = compare[$("sort").value] ?? compare.deadline;
    const shown = [...races.values()].filter((e) => fits(e.race))
      .sort((a, b) => isClosed(a.race) - isClosed(b.race) || order(a.race, b.race) || compare.deadline(a.race, b.race) || a.race.id - b.race.id);
    body.replaceChildren(...shown.map((e) => e.row));
    $("none").hidden = shown.length > 0 || !state.at;
    $("more").hidden = shown.length <= 10 || !$("races").classList.contains("first");
    $("more").textContent = `Show all ${shown.length} races`;
    hippodromes();
    const open = shown.filter((e) => !isClosed(e.race)).length;
    closed = [...races.values()].filter((e) => isClosed(e.race)).length;
    const all = races.size - closed, text = all === 1 ? "1 open race" : `${all} open races`;
    $("races").caption.textContent = !state.at ? "– open races" : open < all ? `${open} of ${text}` : text;
    if (shown.length > open) $("races").caption.textContent += `, and ${shown.length - open} closed`;
    count();
  }, 30);
}

function hippodromes() {
  const select = $("hippodrome"), names = [...new Set([...races.values()].map((e) => e.race.hippodrome))].sort();
  if (select.value && !names.includes(select.value)) names.push(select.value);
  if (names.join("\n") === [...select.options].slice(1).map((o) => o.value).join("\n")) return;
  const chosen = select.value;
  select.replaceChildren(select.options[0], ...names.map((name) => new Option(name, name)));
  select.value = chosen;
}

function count() {
  for (const { race, row } of races.values()) {
    const to = race.deadline - Date.now();
    row.cells[0].textContent = left(race.deadline);
    row.classList.toggle("soon", to > 0 && to < 60000);
    row.classList.toggle("closed", to <= 0 || race.free === 0);
  }
  if ([...races.values()].filter((e) => isClosed(e.race)).length !== closed) arrange();
}

function report() {
  const asOf = state.at ? `; as of ${time(state.at)}` : `; no data since ${time(state.started)}`;
  let text = state.at ? "Up to date" : "Waiting for the service";
  if (state.trouble) text = state.trouble + asOf;
  if (!connected) text = "This page has lost its connection" + asOf;
  if ($("state").textContent !== text) $("state").textContent = text; // a screen reader speaks what is set
  $("state").classList.toggle("trouble", state.trouble !== "" || !connected);
}

function showResults(list) {
  $("results").replaceChildren(...list.map((r) => {
    const item = document.createElement("li");
    item.dataset.id = r.id;
    for (const [tag, text] of [["time", r.began], ["b", r.name], ["span", r.text]]) {
      item.append(document.createElement(tag), " ");
      item.querySelector(tag).textContent = text;
    }
    return item;
  }));
}

let settled = false; // what is open when the page connects is no news
const source = new EventSource("/events");
const on = (event, handle) => source.addEventListener(event, (e) => handle(JSON.parse(e.data)));
on("reset", () => { races.clear(); settled = false; connected = true; setTimeout(() => { settled = true; }, 1000); arrange(); report(); });
on("opened", (race) => { show(race, settled); arrange(); });
on("updated", (race) => { show(race, true); arrange(); });
on("closed", (race) => { races.delete(race.id); arrange(); });
on("results", showResults);
on("state", (s) => { if (!state.at !== !s.at) arrange(); state = s; report(); });
source.onerror = () => { connected = false; report(); };

// The filters live in the address of the page, so that they survive a reload.
const filters = $("filters");
const saved = new URLSearchParams(location.search);
if (saved.get("hippodrome")) $("hippodrome").add(new Option(saved.get("hippodrome"))); // no race has named it yet
for (const field of filters.elements) field.value = saved.get(field.name) ?? field.value;
filters.addEventListener("input", () => {
  const set = [...new FormData(filters)].filter(([, value]) => value !== "");
  history.replaceState(null, "", "?" + new URLSearchParams(set));
  arrange();
});
filters.addEventListener("submit", (e) => e.preventDefault());
setInterval(count, 1000);

// On a narrow screen the next ten races come first, and then the results.
$("races").classList.add("first");
$("more").addEventListener("click", () => { $("races").classList.remove("first"); arrange(); });
