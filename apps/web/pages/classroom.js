// What the pages share: asking the library, controls whose values stand in the link, pictures, exercises.
// Plain scripts, not ES modules: browsers refuse modules to a page that is opened from a folder (file://).
"use strict";

const Classroom = (() => {
  let module = null;

  // One request as `natten-sim serve` takes it; the answer's `result`, or an Error with what the library says.
  function ask(command, options) {
    const text = JSON.stringify({ command, options });
    const size = module.lengthBytesUTF8(text) + 1;
    const place = module._malloc(size);
    module.stringToUTF8(text, place, size);
    const answer = JSON.parse(module.UTF8ToString(module._natten_sim_answer(place)));
    module._free(place);
    if (answer.error) {
      const hint = answer.error.hint ? ` Nearest: ${answer.error.hint}.` : "";
      throw new Error(answer.error.message + hint);
    }
    return answer.result;
  }

  function element(name, attributes = {}, ...children) {
    const space = ["svg", "g", "rect", "line", "path", "text", "circle", "title", "defs", "pattern"].includes(name)
      ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
    const made = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  const number = (value, digits = 3) => {
    if (value === null || value === undefined) return "–";
    if (Number.isInteger(value)) return value.toLocaleString("en-US");
    return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(+value.toPrecision(digits));
  };
  const bytes = (value) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
    return `${number(value)} ${units[unit]}`;
  };
  const time = (ns) => ns >= 1e9 ? `${number(ns / 1e9)} s` : ns >= 1e6 ? `${number(ns / 1e6)} ms` : ns >= 1e3 ? `${number(ns / 1e3)} µs` : `${number(ns)} ns`;

  // ---- State: numbers, texts, booleans and lists of numbers, by name; all of it stands in the link.

  function written(state) {
    const parts = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) parts.set(name, Array.isArray(value) ? value.join(".") : value);
    return parts.toString();
  }

  function read(defaults) {
    const state = structuredClone(defaults);
    for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
      if (!(name in defaults)) continue;
      const like = defaults[name];
      if (Array.isArray(like)) {
        const values = text.split(".").map(Number);
        if (values.length > 0 && values.every(Number.isFinite)) state[name] = values;
      } else if (typeof like === "number") {
        if (Number.isFinite(Number(text))) state[name] = Number(text);
      } else if (typeof like === "boolean") {
        state[name] = text === "true";
      } else {
        state[name] = text;
      }
    }
    return state;
  }

  // A slider stays while its value or its ends change: a hand may be on it.
  function slider(label, about, value, change) {
    const shown = element("output", {});
    const input = element("input", { type: "range", "aria-label": label, oninput: () => { shown.textContent = number(Number(input.value)); change(Number(input.value)); } });
    const set = (now, next) => {
      for (const name of ["min", "max", "step"]) input.setAttribute(name, now[name] ?? 1);
      if (Number(input.value) !== next) input.value = next;
      shown.textContent = number(next);
    };
    set(about, value);
    return { input, shown, set };
  }

  const structure = (about, state) => JSON.stringify([about.name, about.options, Array.isArray(state[about.name]) && state[about.name].length]);

  // {element, set(about, state)}: what a person operates, and how it follows the state.
  function control(about, state, change) {
    const value = state[about.name];
    const field = (...children) => element("div", { class: "control" }, ...children);
    if (about.options) {
      const select = element("select", { "aria-label": about.label, onchange: () => change(about.name, select.value) });
      for (const option of about.options) {
        const [name, text] = Array.isArray(option) ? option : [option, option];
        select.append(element("option", { value: name }, text));
      }
      select.value = value;
      return { element: field(element("label", {}, about.label), select), set: (now, next) => { select.value = next[now.name]; } };
    }
    if (typeof value === "boolean") {
      const box = element("input", { type: "checkbox", "aria-label": about.label, onchange: () => change(about.name, box.checked) });
      box.checked = value;
      return { element: field(element("label", {}, element("span", {}, about.label), box)), set: (now, next) => { box.checked = next[now.name]; } };
    }
    if (Array.isArray(value)) {
      const parts = value.map((each, axis) => slider(`${about.label}, axis ${axis}`, about.axis(axis, state), each, (next) => {
        const all = state[about.name].slice();
        all[axis] = next;
        change(about.name, all);
      }));
      const axes = element("div", { class: "axes" }, ...parts.map((part) => element("div", {}, part.shown, part.input)));
      return { element: field(element("span", {}, about.label), axes),
        set: (now, next) => parts.forEach((part, axis) => part.set(now.axis(axis, next), next[now.name][axis])) };
    }
    const part = slider(about.label, about, value, (next) => change(about.name, next));
    return { element: field(element("label", {}, element("span", {}, about.label), part.shown), part.input), set: (now, next) => part.set(now, next[now.name]) };
  }

  // A page: `defaults` of its state, `controls(state)` that are shown, `draw(state, place, change, keep)` (`keep()` puts
  // what it changed itself into the link), `repair(state)` after a change,
  // `exercises` of {text, answer(), unit, state, within}.
  function page(about) {
    let state = null;
    let timer = 0;
    const panel = document.querySelector("#controls");
    const place = document.querySelector("#result");
    const keep = () => history.replaceState(null, "", "#" + written(state));
    function draw() {
      timer = 0;
      place.replaceChildren();
      try {
        about.draw(state, place, change, keep);
      } catch (error) {
        place.append(element("p", { class: "problem", role: "alert" }, error.message));
      }
      keep();
      document.body.dataset.ready = String(Number(document.body.dataset.ready ?? 0) + 1);
    }
    let built = "", parts = [];
    function show() {
      const all = about.controls(state), structures = all.map((each) => structure(each, state)).join();
      if (structures === built) { parts.forEach((part, i) => part.set(all[i], state)); return; }
      const focus = document.activeElement?.getAttribute?.("aria-label");
      built = structures;
      parts = all.map((each) => control(each, state, change));
      panel.replaceChildren(...parts.map((part) => part.element));
      if (focus) panel.querySelector(`[aria-label="${CSS.escape(focus)}"]`)?.focus();
    }
    function change(name, value) {
      if (typeof name === "object") Object.assign(state, name); else state[name] = value;
      about.repair?.(state, typeof name === "object" ? null : name);
      show();
      timer ||= setTimeout(draw, 30);  // also while a slider is on its way
    }
    function load() {
      state = read(about.defaults);
      built = "";  // its controls change the state that they were made for
      about.repair?.(state, null);
      show();
      draw();
    }
    natten_sim_module().then((made) => {
      module = made;
      about.ready?.(change);
      load();
      addEventListener("hashchange", load);
      exercises(about.exercises ?? [], change);
    });
  }

  function exercises(all, change) {
    const list = document.querySelector("#exercises");
    for (const each of all) {
      const verdict = element("span", { class: "verdict", role: "status" });
      const input = element("input", { type: "number", step: "any", "aria-label": "your answer", required: true });
      const judge = (event) => {
        event.preventDefault();
        const right = each.answer(ask);
        const near = Math.abs(Number(input.value) - right) <= (each.within ?? 0) + 1e-9;
        verdict.textContent = near ? `Right: ${number(right)}${each.unit ?? ""}.` : "Not yet.";
      };
      const tell = () => {
        verdict.textContent = `${number(each.answer(ask))}${each.unit ?? ""}. ${each.why ?? ""}`;
        if (each.state) change(structuredClone(each.state));
      };
      list.append(element("li", {}, each.text, element("form", { onsubmit: judge }, input,
        element("button", { type: "submit" }, "Check"), element("button", { type: "button", onclick: tell }, "Show me"), verdict)));
    }
  }

  // ---- Pictures.

  const numbers = (pairs) => element("dl", { class: "numbers" },
    ...pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));

  const legend = (entries) => element("div", { class: "legend" },
    ...entries.map(([color, text]) => element("span", {}, element("i", { style: `background:${color}` }), text)));

  // Horizontal bars: [label, value, text]; one scale from 0.
  function bars(rows, color = "var(--blue)") {
    const width = Math.max(320, Math.min(560, document.querySelector("#result").clientWidth)), line = 24;
    const left = Math.min(Math.max(...rows.map((row) => row[0].length)) * 6.8 + 14, width * .56);
    const most = Math.max(...rows.map((row) => row[1]), 1e-9);
    const svg = element("svg", { viewBox: `0 0 ${width} ${rows.length * line + 4}`, width, role: "img", "aria-label": rows.map((row) => `${row[0]}: ${row[2]}`).join(", ") });
    rows.forEach(([label, value, text, own], i) => {
      const length = Math.max((width - left - 80) * value / most, 1);
      svg.append(element("text", { x: left - 8, y: i * line + 16, "text-anchor": "end" }, label),
        element("rect", { x: left, y: i * line + 4, width: length, height: line - 8, rx: 2, fill: own ?? color }),
        element("text", { x: left + length + 6, y: i * line + 16 }, text));
    });
    return svg;
  }

  function round_ticks(most, count = 6) {
    const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw);
    const ticks = [];
    for (let at = 0; at <= most * 1.0001; at += step) ticks.push(at);
    return ticks;
  }

  function table(heads, rows, chosen = -1) {
    return element("div", { class: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((each) => element("th", { scope: "col" }, each)))),
      element("tbody", {}, ...rows.map((row, i) => element("tr", { class: i === chosen ? "chosen" : null },
        ...row.map((cell) => element("td", {}, cell)))))));
  }

  return { ask, element, number, bytes, time, page, numbers, legend, bars, round_ticks, table };
})();
