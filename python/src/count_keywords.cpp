#include "count_keywords.hpp"

#include "described.hpp"

namespace natten_sim::python {

Walk PythonValue<Walk>::read(const std::string& name, nb::handle value, const Accepts&) {
  const std::string pass = text_of(name, value, "forward or backward");
  if (pass != "forward" && pass != "backward") throw UnknownName(name, pass, "", "forward, backward");
  return pass == "forward" ? Walk::kForward : Walk::kBackward;
}

bool PythonValue<Walk>::write(Walk pass, Json& out) {
  out = pass == Walk::kForward ? "forward" : "backward";
  return true;
}

Keywords<AskedTime> time_keywords() {
  const Keywords<study::CountQuestion> of_count = keywords_of<study::CountQuestion>();
  const auto take = [&](const std::vector<std::string>& names) { return of_count.only(names); };
  const auto setting = within(&AskedTime::count, &study::CountQuestion::setting);
  Keywords<AskedTime> rows;
  rows.add("kernel", within(&AskedTime::count, &study::CountQuestion::kernel),
           "hopper-fna, blackwell-fna, cutlass-fna, flexattention, or a dense kernel: hopper-fmha, cudnn, or "
           "fmha, that of the device's backend, its tiles are its own; or a kernel file [what NATTEN runs on the device]");
  rows.add("device", within(setting, &study::Setting::device), "A GPU, see kernels()");
  rows.add("input", within(setting, &study::Setting::input), "Token layout, one size per axis, 1 to 3 axes");
  rows.include(take({"window", "stride", "dilation", "causal", "cyclic", "q_tile", "kv_tile"}), &AskedTime::count);
  rows.add("phase", &AskedTime::pass, "forward or backward [default]");
  return rows.include(take({"kernel_schedule", "rest_ms", "mask_function", "mask_cost", "batch_size", "heads", "heads_kv", "head_dim", "dim_value",
                            "dtype", "add_kv", "natten"}),
                      &AskedTime::count);
}

Keywords<study::CountQuestion> tile_keywords() {
  return keywords_of<study::CountQuestion>().only({"preset", "device", "input", "window", "stride", "dilation",
                                                   "causal", "cyclic", "q_tile", "kv_tile", "kv_tiling", "tiling",
                                                   "backend", "head_dim"});
}

Keywords<AskedTime> many_keywords() {
  Keywords<AskedTime> rows;
  rows.include(tile_keywords(), &AskedTime::count);
  rows.include(keywords_of<study::CountQuestion>().only({"kernel", "kernel_schedule", "rest_ms", "mask_function", "mask_cost",
                                                         "batch_size", "heads", "heads_kv", "dim_value", "dtype", "add_kv",
                                                         "natten"}),
               &AskedTime::count);
  rows.choose("backprop", &AskedTime::pass, Walk::kBackward,
              "Count the backward pass instead: Q tiles walked per KV tile [default]", Echo::kNever);
  return rows;
}

}  // namespace natten_sim::python
