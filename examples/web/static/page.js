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

const time = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

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
  entry.row.cells[2].title = race.fee;
  if (isNews) {
    entry.row.classList.remove("news");
    void entry.row.offsetWidth; // begin the animation anew
    entry.row.classList.add("news");
  }
}

// copyButton copies a command that lacks only the number of a horse. It is a dry run.
function copyButton(race) {
  const button = document.createElement("button"), command = `horseracing register -ledger register.ledger -race ${race.id} -horse `;
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
    const open = shown.map((e) => e.race).filter((race) => !isClosed(race));
    closed = [...races.values()].filter((e) => isClosed(e.race)).length;
    $("races").caption.textContent = !state.at ? "– open races" : open.length === 1 ? "1 open race" : `${open.length} open races`;
    if (shown.length > open.length) $("races").caption.textContent += `, and ${shown.length - open.length} closed`;
    chart(open);
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

function chart(list) {
  const fees = list.map(tokens).sort((a, b) => a - b);
  const svg = "http://www.w3.org/2000/svg", highest = fees.at(-1) || 1, width = 320 / Math.max(fees.length, 1);
  $("chart").replaceChildren(...fees.map((fee, i) => {
    const bar = document.createElementNS(svg, "rect"), height = 4 + 84 * Math.log1p(fee) / Math.log1p(highest);
    for (const [name, value] of Object.entries({ x: i * width + 0.5, y: 90 - height, width: Math.max(width - 1, 0.5), height })) bar.setAttribute(name, value);
    return bar;
  }));
  const text = (fee) => fee.toLocaleString("en", { maximumFractionDigits: 4 });
  $("scale").textContent = fees.length ? `${text(fees[0])} to ${text(fees.at(-1))} tokens, half of them up to ${text(fees[Math.floor((fees.length - 1) / 2)])}` : "";
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
    const item = document.createElement("li"), name = document.createElement("b"), rest = document.createElement("span");
    item.dataset.id = r.id;
    name.textContent = r.name;
    rest.textContent = `${time(r.start)} · ` + (r.winner ? `horse ${r.winner} won, ${r.total} · ` : "") + `${r.horses} horses · ${r.length} furlongs`;
    item.append(name, rest);
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
