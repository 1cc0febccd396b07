"use strict";
{
  const { ask, element, number, page, numbers, bars, table } = Classroom;
  let devices = [], presets = [];
  const axis = (low, high) => ({ axis: (at, state) => ({ min: low, max: high(at, state) }) });

  const controls = (state) => [
    { name: "device", label: "Device", options: devices.map((each) => [each.name, each.title]) },
    { name: "preset", label: "Model", options: presets.map((each) => [each.name, each.name]) },
    { name: "tiles", label: "Tiles", options: [["default", "the kernel's default"], ...pairs(state).map((each) => [each, `published: Q ${each.replace("-", ", KV ").replaceAll(".", "×")}`])] },
    { name: "window", label: "Window", ...axis(2, (at) => layout(state)[at]) },
    { name: "stride", label: "Stride", ...axis(1, (at, now) => now.window[at]) },
  ];
  const layout = (state) => (presets.find((each) => each.name === state.preset) ?? presets[0]).input;
  const pairs = (state) => [...new Set((presets.find((each) => each.name === state.preset)?.ladders ?? []).map((each) => `${each.q_tile.join(".")}-${each.kv_tile.join(".")}`))];
  function question(state) {
    const [q_tile, kv_tile] = state.tiles === "default" ? [] : state.tiles.split("-").map((tile) => tile.split(".").map(Number));
    return { preset: state.preset, device: state.device, window: state.window, stride: state.stride, ...(q_tile ? { "q-tile": q_tile, "kv-tile": kv_tile } : {}) };
  }

  function repair(state, changed) {
    if (!presets.some((each) => each.name === state.preset)) state.preset = presets[0].name;
    if (!devices.some((each) => each.name === state.device)) state.device = devices[0].name;
    if (!pairs(state).includes(state.tiles)) state.tiles = "default";
    const input = layout(state);
    if (changed === "preset" || state.window.length !== input.length || state.stride.length !== input.length) {
      state.window = input.map((each) => Math.max(2, Math.floor(each / 2)));
      state.stride = input.map(() => 1);
    }
    input.forEach((each, at) => {
      state.window[at] = Math.min(state.window[at], each);
      state.stride[at] = Math.min(state.stride[at], state.window[at]);
    });
  }

  // Rates in TFLOP/s over FLOP a byte of Q, K, V and O, both logarithmic.
  function roofline(device, points) {
    const left = 52, top = 14, inner = Math.max(220, Math.min(520, document.querySelector("#result").clientWidth - left - 40)), tall = 250;
    const low = [1, 1], high = [1e5, 1e4];
    const x = (value) => left + Math.log10(Math.max(value, low[0]) / low[0]) / Math.log10(high[0] / low[0]) * inner;
    const y = (value) => top + tall - Math.log10(Math.max(value, low[1]) / low[1]) / Math.log10(high[1] / low[1]) * tall;
    const peak = device.flops_per_s / 1e12, bandwidth = device.dram_bytes_per_s / 1e12, ridge = peak / bandwidth;
    const svg = element("svg", { viewBox: `0 0 ${left + inner + 36} ${top + tall + 44}`, width: left + inner + 36, role: "img", "aria-label": `Roofline of ${device.title}` });
    for (let at = low[0]; at <= high[0]; at *= 10) svg.append(element("line", { class: "grid", x1: x(at), x2: x(at), y1: top, y2: top + tall }), element("text", { x: x(at), y: top + tall + 16, "text-anchor": "middle", class: "soft" }, number(at)));
    for (let at = low[1]; at <= high[1]; at *= 10) svg.append(element("line", { class: "grid", x1: left, x2: left + inner, y1: y(at), y2: y(at) }), element("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end", class: "soft" }, number(at)));
    svg.append(element("path", { d: `M ${x(low[0])} ${y(bandwidth * low[0])} L ${x(ridge)} ${y(peak)} H ${x(high[0])}`, fill: "none", stroke: "var(--ink)", "stroke-width": 2 }),
      element("text", { x: x(ridge) - 8, y: y(peak) - 6, "text-anchor": "end", class: "soft" }, `${number(peak)} TFLOP/s, ${number(bandwidth)} TB/s`),
      element("text", { x: left + inner / 2, y: top + tall + 36, "text-anchor": "middle", class: "soft" }, "FLOP per byte of Q, K, V and O"), element("text", { x: left + 6, y: top + 12, class: "soft" }, "TFLOP/s"));
    points.forEach(([name, intensity, rate, color, square]) => {
      const mark = square ? element("rect", { x: x(intensity) - 6, y: y(rate) - 6, width: 12, height: 12, fill: color }) : element("circle", { cx: x(intensity), cy: y(rate), r: 7, fill: color });
      mark.append(element("title", {}, `${name}: ${number(intensity)} FLOP/byte, ${number(rate)} TFLOP/s`));
      svg.append(mark, element("text", { x: x(intensity) + (square ? -12 : 12), y: y(rate) + 4, "text-anchor": square ? "end" : "start" }, name));
    });
    return svg;
  }

  const KINDS = { tiles: "multiplying tiles", masking: "masking them", prologue: "starting CTAs", tail: "a wave that is not full", launch: "the launch", power: "lower clocks (power)", copies: "copies" };
  function draw(state, place) {
    const count = ask("count", question(state));
    const device = devices.find((each) => each.name === state.device);
    const preset = presets.find((each) => each.name === state.preset);
    place.append(element("p", {}, `${state.preset}: ${preset.input.join("×")} tokens, ${preset.heads} heads of ${preset.head_dim}`));
    const ms = count.time_ms;
    if (!ms) {
      place.append(element("p", { class: "problem" }, `${count.time_missing ?? "No time is known for this device"}: take another device.`));
      return;
    }
    const tokens = preset.input.reduce((all, each) => all * each, 1);
    const traffic = 4 * 2 * tokens * preset.heads * preset.head_dim;
    const useful = count.flops.attended, done = count.flops.mma;
    place.append(numbers([["time", `${number(ms.total)} ms`], ["from", `${number(ms.low)} to ${number(ms.high)} ms`], ["kernel", count.kernel.name], ["over dense", count.speedup_time ? `${number(count.speedup_time)}×` : "–"],
      ["sparsity", `${(count.sparsity * 100).toFixed(1)}%`], ["wasted FLOPs", `${(count.wasted_flop_share * 100).toFixed(0)}%`]]),
      element("div", { class: "scroll" }, roofline(device, [["multiplied", done / traffic, done / ms.kernel / 1e9, "var(--blue)"], ["useful", useful / traffic, useful / ms.kernel / 1e9, "var(--orange)", true]])));
    const parts = { ...count.time.parts_ms, copies: ms.permutation };
    place.append(element("h2", {}, "Where the time goes"), bars(Object.entries(parts).filter((each) => each[1] !== null).map(([name, value]) => [KINDS[name] ?? name, value, `${number(value)} ms`])));
    const costs = count.time.costs;
    place.append(element("p", {}, `Costs of ${costs.runs} measured runs, off by ${(costs.left_out_mean_error * 100).toFixed(1)}% on runs left out of the fit. ${costs.source[0].toUpperCase()}${costs.source.slice(1)}.`));
    const closer = [["as chosen", state.stride], ...[[1, 1, 1], [2, 4, 4], [4, 8, 8], [16, 8, 8]].map((each) => [null, each.slice(3 - preset.input.length)])].map(([name, stride]) => [name, stride.map((each, at) => Math.min(each, state.window[at]))]);
    place.append(element("h2", {}, "What a stride moves"), table(["stride", "time", "busiest Q tile", "wasted FLOPs", "block-sparse"], closer.map(([name, stride]) => {
      const other = ask("count", { ...question(state), stride });
      return [name ?? stride.join("×"), `${number(other.time_ms?.total)} ms`, number(other.max_tiles_per_q_tile), `${(other.wasted_flop_share * 100).toFixed(0)}%`, other.fully_block_sparse ? "yes" : "no"];
    })));
  }

  const base = { device: "b200", preset: "hunyuan-video", tiles: "4.8.8-2.8.8", window: [18, 24, 24], stride: [1, 1, 1] };
  const total = (state) => (ask) => Math.round(ask("count", question(state)).time_ms.total * 10) / 10;
  page({
    defaults: base, controls, repair, draw,
    ready(change) {
      const names = ask("names", {});
      presets = names.presets.filter((each) => each.input.length <= 3);
      devices = names.devices.filter((each) => each.flops_per_s && each.dram_bytes_per_s);
      for (const [text, state] of [["Hunyuan, stride 1", base], ["Hunyuan, stride 16×8×8", { ...base, stride: [16, 8, 8] }], ["Dense", { ...base, window: [30, 48, 80] }]])
        document.querySelector("#presets").append(element("button", { type: "button", onclick: () => change(structuredClone(state)) }, text));
    },
    exercises: [
      { text: "Hunyuan Video, window 18×24×24, stride 1, tiles 4×8×8 and 2×8×8, on a B200: how many milliseconds, to one decimal?", answer: total(base), unit: " ms", within: .11, state: base, why: "The kernel masks every tile that it visits." },
      { text: "And with stride 16×8×8?", answer: total({ ...base, stride: [16, 8, 8] }), unit: " ms", within: .11, state: { ...base, stride: [16, 8, 8] }, why: "No masking, and half the tiles." },
      { text: "What share of the multiplied pairs is wasted with stride 1, in per cent?", answer: (ask) => Math.round(ask("count", question(base)).wasted_flop_share * 100), unit: "%", within: .6, state: base, why: "Partial tiles are multiplied whole." },
    ],
  });
}
