"use strict";
{
  const { ask, element, number, page, numbers, legend, round_ticks, table } = Classroom;
  const COLORS = ["--blue", "--orange", "--teal", "--magenta", "--gold", "--sky", "--violet", "--red"].map((name) => `var(${name})`);
  let algorithms = [["ascending", "ascending"]];

  const controls = () => [
    { name: "left", label: "Order on the left", options: algorithms },
    { name: "right", label: "Order on the right", options: algorithms },
    { name: "mask", label: "Mask", options: [["causal", "causal"], ["full", "full"], ["window:2,0", "window of 3 tiles"], ["window:1,1", "window of 3 tiles, centred"]] },
    { name: "tiles", label: "Q and KV tiles", min: 2, max: 16 },
    { name: "heads", label: "Heads", min: 1, max: 6 },
    { name: "workers", label: "Workers", min: 1, max: 16 },
    { name: "compute", label: "Compute a task", min: 1, max: 10 },
    { name: "reduce", label: "Add up a task", min: 0, max: 10 },
    { name: "handoff", label: "Hand-off to another worker", min: 0, max: 10, step: .5 },
    { name: "release", label: "A turn is passed on", options: [["at-once", "at once"], ["after-next", "after taking the next (FA4, sm_100)"]] },
  ];
  const asked = (state) => ({ "q-tiles": state.tiles, heads: state.heads, workers: state.workers, mask: state.mask,
    compute: state.compute, reduce: state.reduce, handoff: state.handoff, release: state.release });
  const costs = (state) => ({ workers: state.workers, compute: state.compute, reduce: state.reduce, handoff: state.handoff, release: state.release });

  function picture(result, span) {
    const room = document.querySelector("#result").clientWidth, narrow = innerWidth < 740;
    const left = 26, right = 12, line = 24, inner = Math.max(260, Math.min(520, (narrow ? room : room / 2) - left - right - 14));
    const workers = result.passes[0].workers;
    const scale = inner / Math.max(span, 1e-9);
    const height = workers * line + 30, width = left + inner + right;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `Gantt chart: ${workers} workers until ${number(result.makespan)}` });
    for (const tick of round_ticks(span)) {
      const x = left + tick * scale;
      svg.append(element("line", { class: "grid", x1: x, x2: x, y1: 0, y2: workers * line }), element("text", { x, y: workers * line + 16, "text-anchor": "middle", class: "soft" }, number(tick)));
    }
    for (let worker = 0; worker < workers; ++worker) svg.append(element("text", { x: left - 6, y: worker * line + 16, "text-anchor": "end", class: "soft" }, String(worker)));
    for (const pass of result.passes) {
      for (const [index, q_tile, reduces, start, end, critical] of pass.steps) {
        if (end <= start) continue;
        const chain = pass.chains[index];
        const x = left + (pass.offset + start) * scale, y = chain.worker * line + 3, length = (end - start) * scale;
        const color = COLORS[chain.head % COLORS.length];
        svg.append(element("rect", { x: x + .3, y, width: Math.max(length - .6, .5), height: line - 6, fill: color, "fill-opacity": reduces ? 1 : .42,
          stroke: critical ? "var(--ink)" : "none", "stroke-width": 1.6 }, element("title", {}, `head ${chain.head}, KV tile ${chain.kv_tile}, Q tile ${q_tile}: ${reduces ? "adds up" : "computes"} from ${number(start)} to ${number(end)}${critical ? ", on the critical path" : ""}`)));
        if (!reduces && length > 15) svg.append(element("text", { x: x + length / 2, y: y + 13, "text-anchor": "middle", "pointer-events": "none", style: "font-size:10px" }, `${chain.kv_tile}·${q_tile}`));
      }
    }
    return svg;
  }

  function panel(name, result, span) {
    const facts = result;
    const part = element("section", {}, element("h3", {}, name));
    if (facts.not_applicable) part.append(element("p", { class: "problem" }, `Does not apply here: ${facts.not_applicable}`));
    else if (facts.deadlock) part.append(element("p", { class: "problem" }, "It hangs."), element("ol", {}, ...String(facts.deadlock).replace("deadlock: ", "").split(", which is ").map((each) => element("li", {}, each))));
    else part.append(numbers([["makespan", number(facts.makespan)], ["lower bound", number(facts.lower_bound)], ["gap", `${(facts.optimality_gap * 100).toFixed(1)}%`], ["busy", `${(facts.utilization * 100).toFixed(0)}%`],
      ["waits: start / turn / end", [facts.bubble.startup, facts.bubble.wait_for_turn, facts.bubble.tail].map((each) => number(each)).join(" / ")]]),
      element("div", { class: "scroll" }, picture(result, span)));
    return part;
  }

  const gantt = (state, algorithm) => ask("gantt", { ...asked(state), algorithm });
  const makespan = (result) => result.makespan ?? 0;

  // ---- Beat the scheduler: chains as chips on lanes; one order of chains a worker, dQ added up in the order of turns.

  // {key, lanes: [[chain]], table, chosen: has the focus, taken: by a tap, text: as the link has it}
  let own = null;
  function start(state, key) {
    const base = ask("gantt", { ...asked(state), algorithm: "ascending" });
    const table = JSON.parse(base.table);
    const lanes = Array.from({ length: state.workers }, () => []);
    base.passes[0].chains.forEach((chain, i) => lanes[chain.worker].push({ ...table.chains[i] }));
    own = { key, lanes, table, chosen: null, taken: null, text: "" };
    restore(state);
  }

  // In the link: lanes apart by ~, chains by _, each HEAD.KV_TILE.Q_TILE.Q_TILE...
  const lanes_text = (lanes) => lanes.map((lane) => lane.map((chain) => [chain.head, chain.kv_tile, ...chain.q_order].join(".")).join("_")).join("~");
  const sorted_chains = (lanes) => lanes.flat().map((chain) => [chain.head, chain.kv_tile, ...chain.q_order.slice().sort((a, b) => a - b)].join(".")).sort().join();
  function restore(state) {
    const lanes = state.own.split("~").map((lane) => lane.split("_").filter(Boolean).map((text) => {
      const [head, kv_tile, ...q_order] = text.split(".").map(Number);
      return { head, kv_tile, q_order };
    }));
    if (lanes.length === own.lanes.length && sorted_chains(lanes) === sorted_chains(own.lanes)) Object.assign(own, { lanes, text: state.own });
    else state.own = "";  // of other settings
  }

  // When a task's turn comes on its worker: its place among the worker's tasks.
  function own_table() {
    const table = { ...own.table, dispatch: "static", workers: own.lanes.length, chains: [] };
    const turns = new Map();
    own.lanes.forEach((lane, worker) => {
      let place = 0;
      for (const chain of lane) {
        table.chains.push({ head: chain.head, kv_tile: chain.kv_tile, worker, q_order: chain.q_order });
        for (const q_tile of chain.q_order) {
          const dq = `${chain.head}.${q_tile}`;
          if (!turns.has(dq)) turns.set(dq, []);
          turns.get(dq).push([place++, worker, chain.kv_tile]);
        }
      }
    });
    table.dq_order = own.table.dq_order.map(({ head, q_tile }) => ({ head, q_tile,
      kv_order: turns.get(`${head}.${q_tile}`).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((turn) => turn[2]) }));
    return JSON.stringify(table);
  }

  function move(from, to, before) {
    const [chain] = own.lanes[from[0]].splice(from[1], 1);
    if (from[0] === to && before > from[1]) --before;
    own.lanes[to].splice(before, 0, chain);
    own.chosen = chain;
  }

  // What an order made by hand is worth beside those of the library: `all` are [name, answer].
  function verdict(mine, all) {
    if (!mine.makespan) return "";
    const [name, best] = all.filter((each) => each[1].ordered).reduce((least, each) => (each[1].makespan ?? Infinity) < (least[1].makespan ?? Infinity) ? each : least);
    if (!best.makespan) return "No order above ends; yours does.";
    const apart = mine.makespan - best.makespan;
    if (apart < -1e-9) return `You beat the scheduler: ${number(-apart)} shorter than ${name}, the shortest order above.`;
    const optimal = mine.makespan <= mine.lower_bound ? " No order can be shorter." : "";
    return apart < 1e-9 ? `As short as ${name}, the shortest order above.${optimal}` : `${number(apart)} longer than ${name}, the shortest order above.`;
  }

  function game(state, place, keep, all) {
    const key = JSON.stringify([state.mask, state.tiles, state.heads, state.workers]);
    if (own?.key !== key || own.text !== state.own) start(state, key);
    const board = element("div", {}), score = element("div", { class: "game" });
    const redraw = () => {
      own.text = state.own = lanes_text(own.lanes);
      keep();
      show();
      draw();
      board.querySelector("[data-chosen=true]")?.focus();
    };
    // Where fingers do not drag: a tap takes a chip, a tap on a lane or on another chip puts it there.
    const tap = (worker, at) => {
      const from = own.lanes.map((lane, i) => [i, lane.indexOf(own.taken)]).find(([, place]) => place >= 0);
      const chain = own.lanes[worker][at];
      if (from && chain !== own.taken) move(from, worker, at ?? own.lanes[worker].length);
      else own.chosen = chain;
      own.taken = from ? null : chain;
      redraw();
    };
    function show() {
      board.replaceChildren(...own.lanes.map((lane, worker) => {
        const chips = lane.map((chain, at) => element("button", { type: "button", class: "chip", draggable: "true", "aria-pressed": String(chain === own.taken), "data-chosen": String(chain === own.chosen),
          style: `border-left-color:${COLORS[chain.head % COLORS.length]}`, title: `visits Q tiles ${chain.q_order.join(" ")}`,
          "aria-label": `head ${chain.head}, KV tile ${chain.kv_tile}, on worker ${worker}`,
          onclick: (event) => { event.stopPropagation(); tap(worker, at); },
          ondragstart: (event) => event.dataTransfer.setData("text/plain", `${worker} ${at}`),
          ondragover: (event) => event.preventDefault(),
          ondrop: (event) => { event.preventDefault(); event.stopPropagation(); const from = event.dataTransfer.getData("text/plain").split(" ").map(Number); move(from, worker, at); redraw(); },
          onkeydown: (event) => {
            const steps = { ArrowLeft: [worker, at - 1], ArrowRight: [worker, at + 2], ArrowUp: [worker - 1, Infinity], ArrowDown: [worker + 1, Infinity] };
            own.chosen = chain;
            if (event.key === " " || event.key === "r") chain.q_order = [...chain.q_order.slice(1), chain.q_order[0]];
            else if (event.key === "v") chain.q_order = chain.q_order.slice().reverse();
            else if (steps[event.key]) {
              const [to, before] = steps[event.key];
              if (to < 0 || to >= own.lanes.length || before < 0) return;
              move([worker, at], to, Math.min(before, own.lanes[to].length));
            } else return;
            event.preventDefault();
            redraw();
          } }, `${chain.head}.${chain.kv_tile}: ${chain.q_order.join(" ")}`));
        return element("div", { class: "lane", onclick: () => tap(worker), ondragover: (event) => event.preventDefault(),
          ondrop: (event) => { event.preventDefault(); const from = event.dataTransfer.getData("text/plain").split(" ").map(Number); move(from, worker, own.lanes[worker].length); redraw(); } },
          element("span", {}, `worker ${worker}`), ...chips);
      }));
    }
    function draw() {
      try {
        const result = ask("gantt", { ...costs(state), "table-text": own_table() });
        score.replaceChildren(element("p", { role: "status", class: "verdict" }, verdict(result, all)), panel("Your order", result, makespan(result)));
      } catch (error) { score.replaceChildren(element("p", { class: "problem" }, error.message)); }
    }
    place.append(element("h2", {}, "Beat the scheduler"),
      element("p", {}, "A chip is a chain: head.KV tile, and the Q tiles in the order it visits them. Drag chips between workers, or tap a chip and then its new place. By keyboard: Tab to a chip, arrows move it, R rotates its Q tiles, V turns them round. dQ is added up in the order of turns."), board, score,
      element("button", { type: "button", onclick: () => { state.own = ""; start(state, key); keep(); show(); draw(); } }, "Start again"));
    show();
    draw();
  }

  function draw(state, place, change, keep) {
    const results = [state.left, state.right].map((name) => gantt(state, name));
    const span = Math.max(...results.map(makespan), 1);
    place.append(element("div", { class: "pair" }, panel(state.left, results[0], span), panel(state.right, results[1], span)),
      legend([["color-mix(in srgb, var(--blue) 42%, transparent)", "computes (KV tile · Q tile)"], ["var(--blue)", "adds up dQ"], ["var(--ground)", "gap: waits"]].concat([["transparent; outline:2px solid var(--ink)", "on the critical path"]])));
    const all = algorithms.map(([name]) => [name, name === state.left ? results[0] : name === state.right ? results[1] : gantt(state, name)]);
    const rows = all.map(([name, facts]) => {
      const end = facts.not_applicable ? "does not apply" : facts.deadlock ? "hangs" : number(facts.makespan);
      return [facts.ordered ? name : `${name} *`, end, facts.makespan ? `${(facts.optimality_gap * 100).toFixed(1)}%` : "", facts.makespan ? `${(facts.utilization * 100).toFixed(0)}%` : "", facts.hang_free === "any_workers" ? "any number" : facts.hang_free ? "these workers" : ""];
    });
    place.append(element("h2", {}, "All orders"), table(["order", "makespan", "gap to its bound", "busy", "finishes on"], rows), element("p", { class: "axis-name" }, "* no prescribed dQ order in one pass; its bound is that of its own work"));
    if (state.tiles * state.heads <= 48) game(state, place, keep, all);
  }

  const base = { left: "ascending", right: "descending", mask: "causal", tiles: 8, heads: 2, workers: 8, compute: 7, reduce: 2, handoff: 0, release: "at-once", own: "" };
  const one = (state, algorithm) => (ask) => ask("schedule", { ...asked(state), algorithm }).makespan;
  page({
    defaults: base, controls, draw,
    ready(change) {
      algorithms = ask("names", {}).algorithms.map((name) => [name, name]);
      const bar = document.querySelector("#presets");
      for (const [text, state] of [["Causal: wait or not", base], ["Full: shift is perfect", { ...base, mask: "full", left: "ascending", right: "shift" }],
        ["Causal: symmetric shift", { ...base, left: "descending", right: "symmetric-shift" }], ["An order that hangs", { ...base, mask: "full", left: "ascending", right: "shift", release: "after-next" }],
        ["Hand-offs cost", { ...base, mask: "full", left: "ascending", right: "shift", handoff: 4 }], ["A small game", { ...base, tiles: 4, heads: 1, workers: 2, right: "best" }]])
        bar.append(element("button", { type: "button", onclick: () => change(structuredClone(state)) }, text));
    },
    exercises: [
      { text: "Causal, 8 tiles, 2 heads, 8 workers, compute 7, add 2: how long does the ascending order take?", answer: one(base, "ascending"), state: base, why: "m·n·(c + r) + (n − 1)·r: as long as without the mask." },
      { text: "And the descending order, which costs a kernel nothing to adopt?", answer: one(base, "descending"), state: base, why: "m·(n + 1)·(c + r)/2 + (n − 1)·r." },
      { text: "What does symmetric-shift take? No order can be faster.", answer: one(base, "symmetric-shift"), state: { ...base, right: "symmetric-shift" }, why: "It meets the lower bound: all workers are busy until the end." },
      { text: "Full mask, shift: what is the largest hand-off (0 to 10) that costs nothing?", answer: (ask) => { const ends = Array.from({ length: 11 }, (_, handoff) => one({ ...base, mask: "full", handoff }, "shift")(ask)); return ends.findLastIndex((end) => end === ends[0]); }, state: { ...base, mask: "full", left: "ascending", right: "shift", handoff: 7 }, why: "As long as a task computes: that is how long each addition comes before the next worker needs it." },
      { text: "Four tiles, one head, two workers: beat the ascending order by hand. How short can it be?", answer: one({ ...base, tiles: 4, heads: 1, workers: 2 }, "best"), state: { ...base, tiles: 4, heads: 1, workers: 2, right: "best" }, why: "Found by the library’s search." },
    ],
  });
}
