#include "count_keywords.hpp"

#include <natten_sim/report/default_text.hpp>
#include <natten_sim/study/time.hpp>

#include "setting_keywords.hpp"

namespace natten_sim::python {

using study::CountQuestion;

namespace {

Keywords<CountQuestion> tile_keywords() {
  using Q = CountQuestion;
  Keywords<Q> rows;
  rows.add("window", &Q::window, "Window, one size an axis [the whole axis: dense attention]");
  rows.add("stride", &Q::stride,
           "Stride, one an axis, at most the window " + report::axis_default(&AxisMask::stride));
  rows.add("dilation", &Q::dilation,
           "Dilation, one an axis; window times dilation fits the axis " +
               report::axis_default(&AxisMask::dilation));
  rows.add("causal", &Q::causal, "One an axis [False]");
  rows.add("cyclic", &Q::cyclic, "One an axis: whether its last token is next to its first [False]",
           Echo::kWhenSet);
  rows.add("q_tile", &Q::q_tile, "Q tile in tokens, one size an axis [NATTEN's default of the backend]");
  rows.add("kv_tile", &Q::kv_tile, "KV tile in tokens, one size an axis [NATTEN's default of the backend]");
  rows.add(
      "kv_tiling", &Q::kv_tiling,
      "KV tiles of the forward pass on a fixed grid (static) or from each Q tile's first key (dynamic) " +
          report::default_text("the chosen backend's", study::kDefaultKvTiling));
  rows.add("tiling", &Q::tiling,
           "Tiles as boxes of the layout (multi) or runs of the row-major sequence (single) [default]");
  return rows;
}

}  // namespace

Keywords<CountQuestion> many_keywords() {
  Keywords<CountQuestion> rows;
  rows.include(layout_keywords(), &CountQuestion::setting);
  rows.include(tile_keywords());
  return rows.include(backend_keywords(Echo::kAlways), &CountQuestion::setting)
      .add("head_dim", within(&CountQuestion::setting, &study::Setting::head_dim),
           "Head dim of Q and K, on which the backend's tiles depend " +
               report::default_text("the preset's", study::kDefaultHeadDim));
}

Keywords<CountQuestion> count_keywords() {
  using Q = CountQuestion;
  Keywords<Q> rows;
  rows.include(layout_keywords(), &Q::setting);
  rows.include(tile_keywords());
  rows.include(backend_keywords(Echo::kAlways), &Q::setting);
  rows.include(workload_keywords(), &Q::setting);
  rows.add(
      "kernel", &Q::kernel,
      "Kernel whose time is predicted: hopper-fna, blackwell-fna, cutlass-fna, flexattention, fmha or cudnn "
      "(dense) [what NATTEN runs on the device]",
      Echo::kWhenSet);
  rows.add("kernel_schedule", &Q::kernel_schedule,
           "How it takes Q tiles: cooperative (a grid) or pingpong (persistent) " +
               report::default_text(study::TimeQuestion{}.schedule),
           Echo::kWhenSet);
  rows.add("rest_ms", &Q::rest_ms,
           "Milliseconds of rest, or of lighter work, between one launch and the next; without it, longer "
           "than the "
           "GPU's power limit remembers",
           Echo::kWhenSet, {.least = 0, .most = 1e9});
  rows.add("backprop", &Q::backward, "Count the backward pass too: Q tiles walked per KV tile [default]",
           Echo::kNever);
  rows.add("backward_q_tile", &Q::backward_q_tile,
           "Q tile of the backward pass [NATTEN's default of the backend]", Echo::kWhenSet);
  rows.add("backward_kv_tile", &Q::backward_kv_tile,
           "KV tile of the backward pass [NATTEN's default of the backend]", Echo::kWhenSet);
  rows.add(
      "backward_q_tiling", &Q::backward_q_tiling,
      "Q tiles of the backward pass on a fixed grid (static) or from each KV tile's first query (dynamic) " +
          std::string("[") + to_string(study::kDefaultBackwardQTiling) + ", as in all of NATTEN's kernels]",
      Echo::kWhenSet);
  return rows;
}

}  // namespace natten_sim::python
