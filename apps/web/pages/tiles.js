"use strict";
{
  const { ask, element, number, page, numbers, legend, bars, table } = Classroom;
  const LONGEST = [0, 256, 96, 96];
  const whole = (state) => ({ input: state.input, window: state.window, stride: state.stride, dilation: state.dilation,
    causal: state.causal.map(Boolean), "q-tile": state.q_tile, "kv-tile": state.kv_tile });
  const NAMES = ["input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile"];
  const START = {
    1: { input: [64], window: [16], stride: [1], dilation: [1], causal: [0], q_tile: [8], kv_tile: [4], at: [3] },
    2: { input: [48, 48], window: [16, 16], stride: [1, 1], dilation: [1, 1], causal: [0, 0], q_tile: [8, 8], kv_tile: [8, 8], at: [2, 2] },
    3: { input: [30, 48, 80], window: [18, 24, 24], stride: [1, 1, 1], dilation: [1, 1, 1], causal: [0, 0, 0], q_tile: [4, 8, 8], kv_tile: [2, 8, 8], at: [3, 3, 5] },
  };
  const at_most = (state, axis) => Math.max(Math.ceil(Math.ceil(state.input[axis] / state.dilation[axis]) / state.q_tile[axis]) - 1, 0);

  function controls(state) {
    const rank = Number(state.rank);
    const list = [
      { name: "rank", label: "Axes", options: [["1", "1-D: a sequence"], ["2", "2-D: an image"], ["3", "3-D: a video"]] },
      { name: "input", label: "Length", axis: () => ({ min: 4, max: LONGEST[rank] }) },
      { name: "window", label: "Window", axis: (axis, now) => ({ min: 1, max: Math.floor(now.input[axis] / now.dilation[axis]) }) },
      { name: "stride", label: "Stride", axis: (axis, now) => ({ min: 1, max: now.window[axis] }) },
      { name: "dilation", label: "Dilation", axis: (axis, now) => ({ min: 1, max: Math.max(1, Math.min(8, Math.floor(now.input[axis] / now.window[axis]))) }) },
      { name: "causal", label: "Causal (0 or 1)", axis: () => ({ min: 0, max: 1 }) },
      { name: "q_tile", label: "Q tile", axis: () => ({ min: 1, max: rank === 1 ? 64 : 16 }) },
      { name: "kv_tile", label: "KV tile", axis: () => ({ min: 1, max: rank === 1 ? 64 : 16 }) },
    ];
    if (rank > 1) list.push({ name: "at", label: "Q tile that is shown", axis: (axis, now) => ({ min: 0, max: at_most(now, axis) }) });
    return list;
  }

  // What a slider makes impossible gives way: the window fits its axis, the stride its window.
  function repair(state, changed) {
    if (!START[state.rank]) state.rank = "1";
    const rank = Number(state.rank);
    if (changed === "rank" || NAMES.some((name) => state[name].length !== rank)) {
      Object.assign(state, structuredClone(START[rank]));
    }
    for (let axis = 0; axis < rank; ++axis) {
      state.dilation[axis] = Math.min(state.dilation[axis], state.input[axis]);
      if (changed === "dilation") state.window[axis] = Math.min(state.window[axis], Math.floor(state.input[axis] / state.dilation[axis]));
      state.window[axis] = Math.min(state.window[axis], state.input[axis]);
      state.dilation[axis] = Math.min(state.dilation[axis], Math.floor(state.input[axis] / state.window[axis]));
      state.stride[axis] = Math.min(state.stride[axis], state.window[axis]);
      state.at[axis] = Math.min(state.at[axis] ?? 0, at_most(state, axis));
    }
  }

  const pattern = () => element("defs", {}, element("pattern", { id: "partly", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    element("rect", { width: 6, height: 6, fill: "var(--blue-soft)" }), element("rect", { width: 2, height: 6, fill: "var(--blue)" })));

  function grid(svg, seen, scale_x, scale_y, left, top) {
    for (let x = 0; x <= seen.width; x += seen.tile_width) svg.append(element("line", { class: "grid", x1: left + x * scale_x, x2: left + x * scale_x, y1: top, y2: top + seen.height * scale_y }));
    for (let y = 0; y <= seen.height; y += seen.tile_height) svg.append(element("line", { class: "grid", x1: left, x2: left + seen.width * scale_x, y1: top + y * scale_y, y2: top + y * scale_y }));
  }

  function fill(svg, tiles, scale_x, scale_y, left, top) {
    for (const [, x, y, width, height, full] of tiles)
      svg.append(element("rect", { x: left + x * scale_x + .5, y: top + y * scale_y + .5, width: Math.max(width * scale_x - 1, .8), height: Math.max(height * scale_y - 1, .8), fill: full ? "var(--blue)" : "url(#partly)" }));
  }

  // One axis: Q tiles down, KV tokens across.
  function matrix(seen) {
    const left = 46, top = 24, scale_x = Math.min(8, (Math.min(700, document.querySelector("#result").clientWidth) - left - 10) / seen.width), scale_y = Math.min(26, Math.max(4, 420 / seen.height));
    const width = left + seen.width * scale_x + 10, height = top + seen.height * scale_y + 8;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": "KV tiles that each Q tile visits" }, pattern(),
      element("text", { x: left, y: 14, class: "soft" }, "KV tokens →"), element("text", { x: 0, y: top + 14, class: "soft" }, "Q tile"));
    grid(svg, seen, scale_x, scale_y, left, top);
    fill(svg, seen.tiles, scale_x, scale_y, left, top);
    const every = Math.ceil(14 / scale_y);
    for (let y = every; y < seen.height; y += every) svg.append(element("text", { x: left - 6, y: top + (y + .5) * scale_y + 4, "text-anchor": "end", class: "soft" }, String(y)));
    return svg;
  }

  function slices(seen, state, change) {
    const three = seen.length.length === 3;
    const scale = three ? Math.min(3, 180 / seen.width) : Math.min(10, 460 / Math.max(seen.width, seen.height));
    const all = element("div", { class: "slices" });
    seen.slice_origins.forEach((origin, slice) => {
      const width = seen.width * scale + 2, height = seen.height * scale + 2;
      const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": `slice from ${origin}`, style: "cursor:pointer",
        onclick: (event) => {
          const box = svg.getBoundingClientRect();
          const at = state.at.slice();
          const rank = at.length;
          at[rank - 1] = Math.min(Math.floor((event.clientX - box.x) / box.width * seen.width / seen.q_tile[rank - 1]), at_most(state, rank - 1));
          at[rank - 2] = Math.min(Math.floor((event.clientY - box.y) / box.height * seen.height / seen.q_tile[rank - 2]), at_most(state, rank - 2));
          if (three) at[0] = Math.min(Math.floor(origin / seen.q_tile[0]), at_most(state, 0));
          change({ at });
        } }, pattern());
      grid(svg, seen, scale, scale, 1, 1);
      fill(svg, seen.tiles.filter((tile) => tile[0] === slice), scale, scale, 1, 1);
      const place = seen.place;
      if (place && slice >= place.first_slice && slice < place.first_slice + place.slices)
        svg.append(element("rect", { x: 1 + place.x * scale, y: 1 + place.y * scale, width: place.width * scale, height: place.height * scale, fill: "none", stroke: "var(--orange)", "stroke-width": 2.5 }));
      all.append(element("figure", {}, svg, three ? element("figcaption", {}, `axis 0 from ${origin}`) : ""));
    });
    return all;
  }

  function ladder(state, change) {
    const same = (a, b) => a.join() === b.join();
    for (const preset of presets) {
      for (const each of preset.ladders) {
        if (!same(preset.input, state.input) || !same(each.window, state.window) || !same(each.q_tile, state.q_tile) || !same(each.kv_tile, state.kv_tile)) continue;
        const counts = each.strides.map((stride) => ask("count", { ...whole(state), stride }));
        const rows = each.strides.map((stride, i) => [element("button", { type: "button", onclick: () => change({ stride: stride.slice() }) }, stride.join("×")),
          counts[i].speedup_worst.toFixed(2) + "×", counts[i].speedup_mean.toFixed(2) + "×", counts[i].speedup_work.toFixed(2) + "×", counts[i].fully_block_sparse ? "yes" : "no"]);
        return element("div", {}, element("h2", {}, `The published stride ladder of ${preset.name}`), element("p", {}, each.source),
          table(["stride", "worst", "mean", "work", "block-sparse"], rows, each.strides.findIndex((stride) => same(stride, state.stride))));
      }
    }
    return "";
  }

  let presets = [];
  function draw(state, place, change) {
    const rank = Number(state.rank);
    const options = whole(state);
    const seen = ask("visited", rank > 1 ? { ...options, "at-q-tile": state.at } : options);
    const count = seen.count;
    place.append(
      numbers([["visited tiles", `${number(count.visited_tiles)} of ${number(count.dense_tiles)}`], ["full / partial", `${number(count.full_tiles)} / ${number(count.partial_tiles)}`],
        ["busiest Q tile", `${number(count.max_tiles_per_q_tile)} of ${number(count.kv_tiles)}`], ["mean", number(count.visited_tiles / count.q_tiles)],
        ["sparsity", `${(count.sparsity * 100).toFixed(1)}%`], ["wasted FLOPs", `${(count.wasted_flop_share * 100).toFixed(0)}%`], ["block-sparse", count.fully_block_sparse ? "yes" : "no"]]),
      rank === 1 ? element("div", { class: "scroll" }, matrix(seen)) : slices(seen, state, change),
      legend([["var(--blue)", "full: every pair attends"], ["repeating-linear-gradient(45deg, var(--blue) 0 2px, var(--blue-soft) 2px 6px)", "partial: some pairs are masked"], ["var(--ground)", "skipped"]].concat(rank > 1 ? [["var(--orange)", "the Q tile; click elsewhere to move it"]] : [])),
      element("h2", {}, "Speedup over dense attention, by four definitions"),
      bars([["flop: pairs that attend", count.speedup_flop, number(count.speedup_flop) + "×"], ["mean: tiles visited", count.speedup_mean, number(count.speedup_mean) + "×"],
        ["worst: the busiest Q tile", count.speedup_worst, number(count.speedup_worst) + "×"], ["work: pairs multiplied", count.speedup_work, number(count.speedup_work) + "×"]]),
      ladder(state, change));
  }

  const figure = (stride) => ({ rank: "1", ...structuredClone(START[1]), stride: [stride] });
  const hunyuan = (stride) => ({ rank: "3", ...structuredClone(START[3]), stride });
  page({
    defaults: { rank: "1", ...structuredClone(START[1]) },
    controls, repair, draw,
    ready(change) {
      presets = ask("names", {}).presets.filter((preset) => preset.ladders.length > 0 && preset.input.length <= 3);
      const bar = document.querySelector("#presets");
      const add = (text, state) => bar.append(element("button", { type: "button", onclick: () => change(structuredClone(state)) }, text));
      add("One axis, stride 1", figure(1));
      add("One axis, stride 8", figure(8));
      for (const preset of presets) {
        preset.ladders.forEach((each) => {
          const rank = preset.input.length, ones = Array(rank).fill(1);
          add(`${preset.name} ${each.window.join("×")}`, { rank: String(rank), input: preset.input, window: each.window, stride: each.strides[0], dilation: ones, causal: Array(rank).fill(0),
            q_tile: each.q_tile, kv_tile: each.kv_tile, at: preset.input.map((length, axis) => Math.floor(length / each.q_tile[axis] / 2)) });
        });
      }
    },
    exercises: [
      { text: "64 tokens, window 16, Q tile 8, KV tile 4, no stride: how many of the 128 tiles are visited?", answer: (ask) => ask("count", { input: [64], window: [16], "q-tile": [8], "kv-tile": [4] }).visited_tiles, state: figure(1), why: "Look at how far a row of queries reaches in all." },
      { text: "Which is the smallest stride that brings that down to 32 tiles?", answer: (ask) => { for (let stride = 1; ; ++stride) if (ask("count", { input: [64], window: [16], stride: [stride], "q-tile": [8], "kv-tile": [4] }).visited_tiles === 32) return stride; }, state: figure(8), why: "Only then do all queries of a Q tile share one window, and its ends meet the KV tiles." },
      { text: "Hunyuan Video (30×48×80, window 18×24×24, tiles 4×8×8 and 2×8×8) drops 91% of the pairs. What is the speedup by its busiest Q tile, to one decimal?", answer: (ask) => Math.round(ask("count", { input: [30, 48, 80], window: [18, 24, 24], "q-tile": [4, 8, 8], "kv-tile": [2, 8, 8] }).speedup_worst * 10) / 10, within: .051, state: hunyuan([1, 1, 1]), why: "A third of what the mask promises." },
      { text: "With stride 16×8×8 it becomes fully block-sparse. What is the speedup then, to one decimal?", answer: (ask) => Math.round(ask("count", { input: [30, 48, 80], window: [18, 24, 24], stride: [16, 8, 8], "q-tile": [4, 8, 8], "kv-tile": [2, 8, 8] }).speedup_worst * 10) / 10, within: .051, state: hunyuan([16, 8, 8]), why: "No visited tile is partly masked, so pairs, tiles and the busiest Q tile agree. Work alone is behind: 30 frames are padded to 32." },
    ],
  });
}
