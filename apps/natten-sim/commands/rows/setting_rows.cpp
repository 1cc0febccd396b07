#include "commands/rows/setting_rows.hpp"

#include <cctype>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/names.hpp>
#include <natten_sim/core/workload_bounds.hpp>

#include "cli/context.hpp"
#include "cli/values.hpp"

namespace natten_sim::cli {

using study::Setting;
using study::StepRatio;

StepRatio OptionValue<StepRatio>::from_words(const std::string& name, const std::vector<std::string>& words,
                                             const About&) {
  const auto [part, whole] = parse_ratio(name, words.front(), 0, "K/N with 0 <= K <= N, N of 1 or more");
  return {part, whole};
}

bool OptionValue<StepRatio>::to_json(const StepRatio& value, Json& out) {
  out = std::to_string(value.part) + "/" + std::to_string(value.whole);
  return true;
}

Options<Setting> preset_rows() {
  Options<Setting> rows;
  rows.add("--preset", &Setting::preset,
           {.value = "NAME",
            .help = "Layout, heads, head dim and attention share of a known model (see list presets)",
            .echo = Echo::kWhenSet,
            .suggestions = preset_names});
  return rows.group("Problem");
}

Options<Setting> input_rows() {
  Options<Setting> rows;
  rows.add("-i,--input,--input-size", &Setting::input,
           {.value = "N", .help = "Token layout, one size an axis (30 48 80, 30x48x80 or 30,48,80)"});
  return rows.group("Problem");
}

Options<Setting> layout_rows() {
  Options<Setting> rows = preset_rows();
  rows.add("--device", &Setting::device,
           {.value = "NAME",
            .help = "Take the backend that suits a GPU (see list devices)",
            .echo = Echo::kWhenSet,
            .suggestions = device_names});
  rows.group("Kernel and device");
  return rows.include(input_rows());
}

Options<Setting> backend_rows(Echo echo) {
  Options<Setting> rows;
  rows.add("--backend", &Setting::backend,
           {.value = "NAME",
            .help = fmt::format("Take tile shapes and KV tiling from a backend (see list backends) [{}]",
                                study::kDefaultBackend),
            .echo = echo,
            .batch = true,
            .suggestions = backend_names});
  return rows.group("Kernel and device");
}

Options<Setting> workload_rows() {
  Options<Setting> rows;
  rows.add("--natten", &Setting::natten,
           {.value = "VERSION",
            .help = "Release of NATTEN whose rules and copies count, such as 0.21.6 [the newest]",
            .echo = Echo::kWhenSet,
            .suggestions = natten_versions});
  rows.group("Kernel and device");
  rows.add("--add-kv", &Setting::add_kv,
           {.value = "N",
            .help = "Extra KV tokens that every query attends to, reported apart [default]",
            .range = {.lo = 0},
            .within = "tokens"});
  rows.add("-b,--batch-size", &Setting::batch, {.value = "N", .help = "Batch size [default]", .range = {1, kMaxBatch}});
  rows.add("-n,--heads", &Setting::heads,
           {.value = "N",
            .help = fmt::format("Heads [the preset's, or {}]", study::kDefaultHeads),
            .range = {1, kMaxHeads}});
  rows.add("--heads-kv", &Setting::heads_kv,
           {.value = "N", .help = "KV heads, a divisor of the heads [heads]", .range = {1, kMaxHeads}});
  rows.add("-d,--dim,--head-dim", &Setting::head_dim,
           {.value = "D",
            .help = fmt::format("Head dim of Q and K [the preset's, or {}]", study::kDefaultHeadDim),
            .key = "head_dim"});
  rows.add("--dim-value", &Setting::head_dim_value,
           {.value = "D", .help = "Head dim of V [that of Q and K]"});
  rows.add("--dtype", &Setting::dtype,
           {.value = "TYPE", .help = fmt::format("Element type [{}]", to_string(study::kDefaultDtype))});
  rows.add("--attention-share", &Setting::attention_share,
           {.value = "P",
            .help = "Attention's share of the end-to-end time, 0..1, for end-to-end speedups",
            .interval = {0, 1},
            .accepted = "a fraction in 0..1",
            .echo = Echo::kWhenSet});
  rows.add("--dense-steps", &Setting::dense_steps,
           {.value = "K/N",
            .help = "K of N steps keep dense attention, for end-to-end speedups [none]",
            .echo = Echo::kWhenSet});
  return rows.group("Sizes and types");
}

namespace {

/// "wan2114b720p" for Wan2.1-14B-720p.
std::string letters_and_digits(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) result += static_cast<char>(std::tolower(letter));
  }
  return result;
}

}  // namespace

void note_preset(const study::Setting& asked, const Catalog& catalog, const Notes& notes) {
  if (!asked.preset) return;
  const std::string& taken = catalog.preset(*asked.preset).name;
  const std::string wanted = letters_and_digits(*asked.preset);
  if (letters_and_digits(taken) == wanted) return;
  std::vector<std::string> others;
  for (const Preset& preset : catalog.presets) {
    if (preset.name != taken && letters_and_digits(preset.name).starts_with(wanted))
      others.push_back(preset.name);
  }
  if (!others.empty())
    notes.note(
        fmt::format("preset {}: {} is also the beginning of {}", taken, *asked.preset, joined(others)));
}

}  // namespace natten_sim::cli
