"use strict";
{
  const { ask, element, number, bytes, page, numbers, legend, round_ticks, table } = Classroom;
  let devices = [["h200", "h200"]];

  // As many as the walk has: with a causal mask a Q tile reads its own share of the KV tiles and those before it.
  function accesses(state) {
    let all = 0;
    for (let q = 0; q < state.q; ++q) all += state.causal ? Math.min(state.kv, Math.ceil((q + 1) * state.kv / state.q)) : state.kv;
    return all;
  }
  const repair = (state) => { state.at = Math.max(0, Math.min(state.at, accesses(state) - 1)); };

  const controls = (state) => [
    { name: "order", label: "Order of KV tiles", options: ["cyclic", "sawtooth", "descending"] },
    { name: "causal", label: "Causal mask" },
    { name: "kv", label: "KV tiles", min: 2, max: 40 },
    { name: "q", label: "Q tiles", min: 1, max: 40 },
    { name: "capacity", label: "Capacity, in KV tiles", min: 1, max: 40 },
    { name: "ctas", label: "CTAs at a time", min: 1, max: 12 },
    { name: "drift", label: "Each starts so many steps late", min: 0, max: 30 },
    { name: "at", label: "Access to look at", min: 0, max: accesses(state) - 1 },
    { name: "device", label: "A real device (below)", options: devices },
    { name: "kilotokens", label: "Its sequence, in 1,024 tokens", min: 4, max: 128, step: 4 },
  ];
  const small = (state) => ({ "kv-tiles": state.kv, "q-tiles": state.q, ctas: state.ctas, drift: state.drift, "capacity-tiles": state.capacity, order: state.order, causal: state.causal });

  const hits = (state, distance) => distance !== null && distance <= state.capacity;
  const said = (state, distance) => distance === null ? "first access" : `stack distance ${distance}, ${hits(state, distance) ? "hit" : "miss"}`;

  // Steps across, KV tiles down; a click looks at an access.
  function picture(state, result, change) {
    const shown = result.walk.slice(0, 1200);
    const steps = Math.max(...shown.map((each) => each[0])) + 1;
    const left = 30, top = 8, room = Math.min(740, document.querySelector("#result").clientWidth), cell = Math.max(3, Math.min(14, (room - left - 6) / steps)), line = Math.max(7, Math.min(14, 300 / state.kv));
    const width = left + steps * cell + 6, height = top + state.kv * line + 26;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `${number(result.accesses)} accesses, ${number(result.misses)} of them miss` });
    for (let tile = 0; tile < state.kv; tile += Math.ceil(state.kv / 8)) svg.append(element("text", { x: left - 6, y: top + tile * line + line - 2, "text-anchor": "end", class: "soft" }, String(tile)));
    for (const tick of round_ticks(steps, 8)) if (tick < steps) svg.append(element("text", { x: left + tick * cell, y: height - 8, class: "soft" }, String(tick)));
    shown.forEach(([step, cta, q_tile, kv_tile, distance], at) => {
      svg.append(element("rect", { x: left + step * cell + .7, y: top + kv_tile * line + .7, width: Math.max(cell - 1.4, 1.4), height: line - 1.4,
        fill: hits(state, distance) ? "var(--blue)" : distance === null ? "var(--line)" : "var(--orange)",
        stroke: at === state.at ? "var(--ink)" : "none", "stroke-width": 2, onclick: () => change("at", at) },
        element("title", {}, `step ${step}, CTA ${cta}, Q tile ${q_tile}, KV tile ${kv_tile}: ${said(state, distance)}`)));
    });
    return svg;
  }

  // The tiles that were read before one access, the latest first: how far down the list its own stands is its stack distance.
  function moment(state, result) {
    const [step, cta, q_tile, kv_tile, distance] = result.walk[state.at];
    const stack = [];
    for (const [, , , read] of result.walk.slice(0, state.at)) {
      if (stack.includes(read)) stack.splice(stack.indexOf(read), 1);
      stack.unshift(read);
    }
    const tiles = stack.map((tile, i) => element("li", { class: i < state.capacity ? "kept" : "gone", "aria-current": tile === kv_tile ? "true" : null }, String(tile)));
    return element("div", { class: "moment" }, element("h3", {}, `Access ${state.at}: step ${step}, CTA ${cta}, Q tile ${q_tile} reads KV tile ${kv_tile}`),
      element("p", {}, `${distance === null ? "First access: nobody has read it yet." : `Stack distance ${distance}: it is number ${distance} of the tiles by their last use. The cache keeps ${state.capacity}: ${hits(state, distance) ? "a hit" : "a miss"}.`}`),
      element("ol", { "aria-label": "KV tiles by last use, latest first; crossed out: no longer in the cache" }, ...tiles));
  }

  // Misses over the capacity, with a line at the chosen one.
  function curve(state, result) {
    const left = 56, top = 10, inner = Math.max(220, Math.min(460, document.querySelector("#result").clientWidth - 80)), tall = 150, most = Math.max(...result.misses_of_capacity, 1), last = result.misses_of_capacity.length - 1;
    const x = (capacity) => left + capacity / Math.max(last, state.capacity) * inner, y = (misses) => top + tall - misses / most * tall;
    const svg = element("svg", { viewBox: `0 0 ${left + inner + 20} ${top + tall + 40}`, width: left + inner + 20, role: "img", "aria-label": "misses over capacity" });
    for (const tick of round_ticks(most, 4)) if (tick <= most) svg.append(element("line", { class: "grid", x1: left, x2: left + inner, y1: y(tick), y2: y(tick) }), element("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "soft" }, number(tick)));
    for (const tick of round_ticks(Math.max(last, state.capacity), 8)) svg.append(element("text", { x: x(tick), y: top + tall + 16, "text-anchor": "middle", class: "soft" }, String(tick)));
    let path = "";
    result.misses_of_capacity.forEach((misses, capacity) => { path += `${capacity ? ` H ${x(capacity)} V ${y(misses)}` : `M ${x(0)} ${y(misses)}`}`; });
    svg.append(element("path", { d: path + ` H ${x(Math.max(last, state.capacity))}`, fill: "none", stroke: "var(--blue)", "stroke-width": 2.2 }),
      element("line", { x1: x(state.capacity), x2: x(state.capacity), y1: top, y2: top + tall, stroke: "var(--orange)", "stroke-width": 2, "stroke-dasharray": "5 4" }),
      element("text", { x: left + inner / 2, y: top + tall + 34, "text-anchor": "middle", class: "soft" }, "misses, over the capacity in KV tiles"));
    return svg;
  }

  // Rows of `reuse` on a real device; the last one, in time, on demand.
  function real(state) {
    const tokens = state.kilotokens * 1024;
    const asked = { seqlen: [tokens], "head-dim": 128, dtype: "bf16", device: state.device };
    const row = (name, options) => {
      try {
        const result = ask("reuse", { ...asked, ...options });
        return [name, number(result.sectors.total), number(result.cold_sectors), number(result.miss_sectors), bytes(result.dram_read_bytes), `${(result.hit_rate * 100).toFixed(1)}%`];
      } catch (error) { return [`${name}: ${error.message}`, "", "", "", "", ""]; }
    };
    const heads = ["mask and order", "sectors", "at least", "missed", "DRAM read", "hits"];
    const rows = [row("full, cyclic, in step", { order: "cyclic" }), row("full, sawtooth, in step", { order: "sawtooth" }), row("causal, cyclic, in step", { order: "cyclic", causal: true, fidelity: "lru" })];
    const shown = element("div", {}, table(heads, rows));
    const run = () => shown.replaceChildren(table(heads, [...rows, row("causal, FlashAttention-2, in time", { kernel: "fa2", causal: true, fidelity: "timed" })]));
    return element("div", {}, element("h2", {}, `One head of ${number(tokens)} tokens, head dim 128, on ${state.device}`), shown,
      element("p", {}, element("button", { type: "button", onclick: run }, "Let the CTAs of FlashAttention-2 run in time (takes seconds)")));
  }

  function draw(state, place, change) {
    const result = ask("accesses", small(state));
    place.append(numbers([["accesses", number(result.accesses)], ["first accesses", number(result.cold)], ["misses", number(result.misses)], ["hits", `${((1 - result.misses / result.accesses) * 100).toFixed(1)}%`], ["misses over first accesses", `${number(result.misses / result.cold)}×`]]),
      element("div", { class: "scroll" }, picture(state, result, change)),
      legend([["var(--line)", "first access"], ["var(--blue)", "hit"], ["var(--orange)", "miss: read again"], ["transparent; outline:2px solid var(--ink)", "the access below"]]),
      moment(state, result),
      element("h2", {}, "Misses at every capacity, from the same stack distances"), element("div", { class: "scroll" }, curve(state, result)), real(state));
  }

  const base = { order: "cyclic", causal: false, kv: 16, q: 6, capacity: 12, ctas: 1, drift: 0, at: 20, device: "h200", kilotokens: 64 };
  const misses = (state) => (ask) => ask("accesses", small(state)).misses;
  const drifting = { ...base, q: 8, ctas: 4, drift: 2 };
  page({
    defaults: base, controls, repair, draw,
    ready(change) {
      devices = ask("names", {}).devices.filter((each) => each.l2_bytes).map((each) => [each.name, each.title]);
      for (const [text, state] of [["Cyclic", base], ["Sawtooth", { ...base, order: "sawtooth" }], ["CTAs in step", { ...drifting, drift: 0 }], ["CTAs apart", { ...drifting, drift: 14 }], ["Causal", { ...base, causal: true, kv: 24, q: 24, ctas: 6, capacity: 8 }]])
        document.querySelector("#presets").append(element("button", { type: "button", onclick: () => change(structuredClone(state)) }, text));
    },
    exercises: [
      { text: "16 KV tiles, 6 Q tiles, one CTA, cyclic order, room for 12 tiles: how many of the 96 accesses miss?", answer: misses(base), state: base, why: "All: LRU throws out each tile just before it returns." },
      { text: "What is the stack distance of access 20 there?", answer: (ask) => ask("accesses", small(base)).walk[20][4], state: { ...base, at: 20 }, why: "All 16 tiles have been read since, its own included." },
      { text: "How many of the 96 miss in sawtooth order?", answer: misses({ ...base, order: "sawtooth" }), state: { ...base, order: "sawtooth" }, why: "16 + 5·(16 − 12): a pass keeps the last 12." },
      { text: "With cyclic order, which capacity brings the misses down to the first accesses?", answer: (ask) => ask("accesses", small(base)).misses_of_capacity.findIndex((each) => each === 16), state: { ...base, capacity: 16 }, why: "All or nothing." },
      { text: "4 CTAs, 8 Q tiles, 16 KV tiles, room for 12. What is the largest lag between neighbours (0 to 30 steps) at which misses are no more than in step?", answer: (ask) => { const in_step = misses({ ...drifting, drift: 0 })(ask); let last = 0; for (let drift = 0; drift <= 30; ++drift) if (misses({ ...drifting, drift })(ask) <= in_step) last = drift; return last; }, state: drifting, why: "The cache still spans the lag." },
    ],
  });
}
