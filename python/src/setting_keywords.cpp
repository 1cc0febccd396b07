#include "setting_keywords.hpp"

#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/report/default_text.hpp>

namespace natten_sim::python {

using study::Setting;

Keywords<Setting> preset_keywords() {
  Keywords<Setting> rows;
  return rows.add("preset", &Setting::preset,
                  "Layout, heads, head dim and attention share of a known model, see presets() [none]",
                  Echo::kWhenSet);
}

Keywords<Setting> input_keywords() {
  Keywords<Setting> rows;
  return rows.add("input", &Setting::input, "Token layout, one size an axis, outermost first [the preset's]");
}

Keywords<Setting> layout_keywords() {
  Keywords<Setting> rows = preset_keywords();
  rows.add("device", &Setting::device, "Take the backend that suits a GPU, see devices() [none]",
           Echo::kWhenSet);
  return rows.include(input_keywords());
}

Keywords<Setting> backend_keywords(Echo echo) {
  Keywords<Setting> rows;
  return rows.add("backend", &Setting::backend,
                  "Take tile shapes and KV tiling from a backend, see backends() " +
                      report::default_text(study::kDefaultBackend),
                  echo);
}

Keywords<Setting> workload_keywords() {
  Keywords<Setting> rows;
  rows.add("natten", &Setting::natten,
           "Release of NATTEN whose rules and copies count, such as 0.21.6 [the newest]", Echo::kWhenSet);
  rows.add("add_kv", &Setting::add_kv,
           "Extra KV tokens that every query attends to, reported apart [default]", Echo::kAlways, {.lo = 0});
  rows.add("batch_size", &Setting::batch, "Batch size [default]", Echo::kAlways, {.hi = kMaxBatch});
  rows.add("heads", &Setting::heads, "Heads " + report::default_text("the preset's", study::kDefaultHeads),
           Echo::kAlways, {.hi = kMaxHeads});
  rows.add("heads_kv", &Setting::heads_kv, "KV heads, a divisor of the heads [heads]", Echo::kAlways,
           {.hi = kMaxHeads});
  rows.add("head_dim", &Setting::head_dim,
           "Head dim of Q and K " + report::default_text("the preset's", study::kDefaultHeadDim));
  rows.add("dim_value", &Setting::head_dim_value, "Head dim of V [that of Q and K]");
  rows.add("dtype", &Setting::dtype, "Element type " + report::default_text(study::kDefaultDtype));
  rows.add("attention_share", &Setting::attention_share,
           "Attention's share of the end-to-end time, 0..1, for end-to-end speedups [the preset's]",
           Echo::kWhenSet);
  rows.add("dense_steps", &Setting::dense_steps,
           "k of n steps keep dense attention, for end-to-end speedups [none]", Echo::kWhenSet);
  return rows;
}

}  // namespace natten_sim::python
