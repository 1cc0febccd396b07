"use strict";
{
  const { ask, element, number, time, page, numbers, legend, bars, table } = Classroom;
  let devices = [["h200", "h200"]];

  const controls = () => [
    { name: "warps", label: "Warps in flight", min: 1, max: 256 },
    { name: "updates", label: "Updates", min: 50, max: 2000, step: 50 },
    { name: "hot", label: "Of 100 updates, to one address", min: 0, max: 100 },
    { name: "changing", label: "Of 100 additions, change the word", min: 0, max: 100 },
    { name: "service", label: "An address takes, ns a request", min: 1, max: 50 },
    { name: "device", label: "A real device (below)", options: devices },
    { name: "dtype", label: "Type", options: ["fp32", "bf16", "fp16"] },
    { name: "distribution", label: "Rows", options: [["uniform", "uniform"], ["zipf:1.1", "Zipf 1.1"], ["zipf:1.5", "Zipf 1.5"], ["zipf:2", "Zipf 2"]] },
    { name: "kilo", label: "Updates there, in 1,024", min: 8, max: 256, step: 8 },
  ];
  const queue = (state, compare_and_swap) => ({ updates: state.updates, addresses: 16, hot: state.hot, warps: state.warps, "service-ns": state.service, changing: state.changing, "compare-and-swap": compare_and_swap });
  const scatter = (state) => ({ updates: state.kilo * 1024, distribution: state.distribution, dtype: state.dtype, device: state.device });

  // The queue of one address: a column is a request that it serves, a row a warp, and a line how many services it has waited.
  const SHOWN = 120;
  function picture(name, run, state) {
    const left = 26, top = 4, rows = Math.min(state.warps, state.updates);
    const room = Math.max(260, Math.min(640, document.querySelector("#result").clientWidth - left - 10));
    const cell = room / SHOWN, line = Math.max(1.5, Math.min(12, 150 / rows)), tall = rows * line;
    const served = run.first_requests;
    const svg = element("svg", { viewBox: `0 0 ${left + room + 6} ${top + tall + 22}`, width: left + room + 6, role: "img", class: "queue",
      "aria-label": `${name}: of the first ${served.length} requests that one address serves ${served.filter((each) => !each[4]).length} have to be repeated` });
    for (const warp of [0, rows - 1]) svg.append(element("text", { x: left - 5, y: top + warp * line + Math.max(line, 9), "text-anchor": "end", class: "soft" }, String(warp)));
    for (let at = 0; at < SHOWN; at += 20) svg.append(element("line", { class: "grid", x1: left + at * cell, x2: left + at * cell, y1: top, y2: top + tall }), element("text", { x: left + at * cell, y: top + tall + 16, class: "soft" }, number(at)));
    served.forEach(([warp, arrives, starts, ends, done], i) => {
      const waited = (starts - arrives) / (ends - starts), x = left + i * cell, y = top + warp * line;
      svg.append(element("rect", { x: x - Math.min(waited, i) * cell, y: y + line / 2 - .5, width: Math.min(waited, i) * cell, height: 1, fill: "var(--line)" }),
        element("rect", { x, y, width: Math.max(cell - .5, 1), height: Math.max(line - .5, 1), fill: done ? "var(--blue)" : "var(--orange)" },
          element("title", {}, `request ${i} of the address: warp ${warp}, arrives at ${number(arrives)} ns, waits ${number(starts - arrives)} ns, ${done ? "done" : "finds the word changed, tries again"}`)));
    });
    return element("figure", {}, element("figcaption", {}, name), svg);
  }

  function draw(state, place) {
    const listed = (compare_and_swap) => ask("queue", { ...queue(state, compare_and_swap), listed: SHOWN });
    const kinds = [["reduction (fp32)", listed(false), "var(--blue)"], ["compare-and-swap (bf16)", listed(true), "var(--orange)"]];
    place.append(element("h2", {}, "The queue of one address, request by request"),
      ...kinds.map(([name, run]) => picture(name, run, state)),
      element("p", { class: "axis-name" }, `Warps, over the first ${SHOWN} requests in the order in which the address serves them`),
      legend([["var(--line)", "waits for those before it"], ["var(--blue)", "served, done"], ["var(--orange)", "served, but finds the word changed: tries again"]]),
      element("h2", {}, "All updates"),
      bars(kinds.map(([name, run, color]) => [name, run.time_ns, time(run.time_ns), color])),
      table(["", "time", "time an update", "requests served", "retries", "waiting at once, most"], kinds.map(([name, run]) => [name, time(run.time_ns), time(run.time_ns / state.updates), number(run.requests), number(run.retries), number(run.most_waiting)])),
      element("h2", {}, "Warps in flight, and the time of the same updates"),
      table(["warps", ...kinds.map((kind) => kind[0]), "retries"], [1, 4, 16, 64, 256].map((warps) => {
        const runs = [false, true].map((each) => ask("queue", queue({ ...state, warps }, each)));
        return [String(warps), ...runs.map((run) => time(run.time_ns)), number(runs[1].retries)];
      })));
    const answer = ask("atomics", scatter(state));
    place.append(element("h2", {}, `PyTorch’s scatter_add on ${state.device}: 32,768 rows of 256 ${state.dtype}`),
      numbers([["time", time(answer.time_ns)], ["limited by", answer.bound.replaceAll("-", " ")], ["busiest row", `${number(answer.max_multiplicity)} updates`], ["retries", number(answer.cas_retries)], ["instruction", answer.instruction ?? "–"]]),
      element("h3", {}, "What would help"),
      bars(answer.remedies.slice(0, 9).map((each) => [each.name.replaceAll("-", " "), Math.log10(Math.max(each.time_ns, 10)) - 3 > 0 ? Math.log10(each.time_ns) - 3 : .01, time(each.time_ns), each.name === "as-is" ? "var(--orange)" : "var(--blue)"])),
      element("p", {}, "Bars are logarithmic: each unit of length is ten times the time, from 1 µs."));
  }

  const base = { warps: 32, updates: 400, hot: 100, changing: 100, service: 5, device: "h200", dtype: "bf16", distribution: "zipf:1.5", kilo: 256 };
  page({
    defaults: base, controls, draw,
    ready(change) {
      devices = ask("names", {}).devices.filter((each) => each.atomics).map((each) => [each.name, each.title]);
      for (const [text, state] of [["One hot address", base], ["Spread out", { ...base, hot: 0 }], ["A word that is full", { ...base, changing: 0 }], ["fp32 on the device", { ...base, dtype: "fp32" }]])
        document.querySelector("#presets").append(element("button", { type: "button", onclick: () => change(structuredClone(state)) }, text));
    },
    exercises: [
      { text: "400 updates of one address, 32 warps, 5 ns a request: how many requests does the address serve with reductions?", answer: (ask) => ask("queue", queue(base, false)).requests, state: base, why: "One each." },
      { text: "How many times does a compare-and-swap have to be repeated there?", answer: (ask) => ask("queue", queue(base, true)).retries, within: 0, state: base, why: "Each success sends the other warps back." },
      { text: "With one warp in flight, how many retries are there?", answer: (ask) => ask("queue", queue({ ...base, warps: 1 }, true)).retries, state: { ...base, warps: 1 }, why: "Nobody else changes the word." },
      { text: "The word is full: no addition changes it. How many retries now?", answer: (ask) => ask("queue", queue({ ...base, changing: 0 }, true)).retries, state: { ...base, changing: 0 }, why: "So a benchmark that adds a constant measures another program." },
    ],
  });
}
