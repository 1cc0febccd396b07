#include <algorithm>
#include <cmath>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/study/calibrate.hpp>
#include <natten_sim/study/cell_costs.hpp>
#include <natten_sim/validate/cases/timed_run.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "registry/point_fields.hpp"

namespace natten_sim::validate {
namespace {

constexpr double kNsOfMs = 1e6, kUsOfMs = 1e3;

std::string pass_name(Walk pass) { return pass == Walk::kForward ? "forward" : "backward"; }

std::string causal_text(const PerAxis<bool>& causal) {
  std::string text;
  for (std::size_t axis = 0; axis < causal.rank(); ++axis)
    text += std::string(axis == 0 ? "" : "x") + (causal[axis] ? "1" : "0");
  return text;
}

/// The catalog that ships, made once.
const study::Context& context() {
  static const study::Context made = study::default_context();
  return made;
}

/// Costs of this kernel on this device: measured, or of the program that was measured at another head dim.
bool judged(const CostEvidence& evidence) {
  return evidence.origin == CostOrigin::kMeasured || evidence.transfer == to_string(TransferKind::kSameProgram);
}

const std::vector<KernelRun>& builtin_runs() {
  static const std::vector<KernelRun> made = builtin_kernel_runs();
  return made;
}

std::optional<study::PassTime> predicted_time(const KernelRun& run, const study::Context& with) {
  const study::TimeAnswer answer = study::time(study::time_question(run), with);
  const auto* time = std::get_if<study::PassTime>(&answer);
  if (time == nullptr) return std::nullopt;
  return *time;
}

}  // namespace

std::string TimedRunCase::key() const {
  const std::string kernel = family == "flex" ? "" : run.kernel + " ";
  return family + " " + kernel + key_of_run(run);
}

std::string TimedRunCase::group() const {
  return run.kernel + " " + pass_name(run.pass) + " " + std::to_string(run.input.rank()) + "-D";
}

std::vector<Parameter> TimedRunCase::parameters() const {
  std::vector<Parameter> all = {{"kernel", family}};
  if (family != "flex") all.push_back({"runs", run.kernel});
  if (run.batch != 1) all.push_back({"batch", run.batch});
  all.push_back({"heads", run.heads});
  if (run.heads_kv > 0) all.push_back({"heads_kv", run.heads_kv});
  all.insert(all.end(), {{"head_dim", run.head_dim},
                         {"dtype", to_string(run.dtype)},
                         {"input", to_string(run.input)},
                         {"window", to_string(run.window)},
                         {"stride", to_string(run.stride)},
                         {"dilation", to_string(run.dilation)},
                         {"causal", causal_text(run.causal)},
                         {"q_tile", to_string(run.q_tile)},
                         {"kv_tile", to_string(run.kv_tile)},
                         {"pass", pass_name(run.pass)}});
  if (run.schedule != KernelSchedule::kCooperative) all.push_back({"schedule", to_string(run.schedule)});
  if (run.rest_ms) all.push_back({"rest_us", std::llround(kUsOfMs * *run.rest_ms)});
  return all;
}

std::vector<Prediction> TimedRunCase::predict(const Device& device, Fidelity) const {
  KernelRun asked = run;
  asked.device = device.name;
  const auto tokens = [](const Extents& tile) { return product(tile, "tile"); };
  study::CostCell cell{asked.kernel, device.name, asked.head_dim, asked.dtype, asked.pass, {}, {}};
  if (asked.kernel.starts_with("cutlass-"))  // a kernel for each size of tiles
    cell.q_tile_tokens = tokens(asked.q_tile), cell.kv_tile_tokens = tokens(asked.kv_tile);
  const auto found = study::costs_of_cell(cell, context().catalog);
  const auto* costs = std::get_if<KernelCosts>(&found);
  const PassCosts* pass = costs == nullptr ? nullptr : costs->costs_of(asked.pass);
  if (pass == nullptr || !judged(pass->evidence)) return {};
  KernelRun named = asked;  // a dense kernel's tiles are its own, whatever the point says
  if (run.input.rank() == 1 && run.window == run.input) {
    named.q_tile = {pass->q_tile_tokens};
    named.kv_tile = {pass->kv_tile_tokens};
  }
  const std::string key = key_of_run(named);
  const std::vector<std::string>& fitted = pass->evidence.fitted;
  const bool is_fitted = std::find(fitted.begin(), fitted.end(), key) != fitted.end();
  std::vector<Prediction> predictions;
  const auto add = [&](const std::string& model, const std::optional<study::PassTime>& time, bool on_it) {
    if (!time) return;
    predictions.push_back({std::string(kLaunchTime), model, time->kernel_ms * kNsOfMs, on_it,
                           PredictedInterval{time->kernel_low_ms * kNsOfMs, time->kernel_high_ms * kNsOfMs, "time",
                                             run.kernel + " " + pass_name(run.pass) + ", head dim " +
                                                 std::to_string(run.head_dim) +
                                                 (length_of(time->kernel_ms) == LaunchLength::kShort ? ", short" : "")}});
  };
  add("tile costs", predicted_time(asked, context()), is_fitted);
  if (!is_fitted) return predictions;
  study::CalibrateQuestion others;
  others.suggestions = 0;
  const std::vector<KernelRun>& runs = builtin_runs();
  const auto is_this = [&](const KernelRun& other) { return other.kernel == asked.kernel && key_of_run(other) == key; };
  if (std::none_of(runs.begin(), runs.end(), is_this)) return predictions;  // fitted to a recording
  for (const KernelRun& other : runs) {
    if (other.device == asked.device && other.pass == asked.pass && other.head_dim == asked.head_dim &&
        !is_this(other))
      others.runs.push_back(other);
  }
  const bool of_kernel = std::any_of(others.runs.begin(), others.runs.end(),
                                     [&](const KernelRun& other) { return other.kernel == asked.kernel; });
  if (!of_kernel) return predictions;
  study::Context without = context();
  without.catalog.physics = {};  // times of runs alone
  without.catalog.kernel_costs = study::calibrate(others, context()).entries;
  add("tile costs, without this run", predicted_time(asked, without), false);
  return predictions;
}

std::vector<std::string> timed_run_parameters() {
  return {"batch",    "heads",  "heads_kv", "head_dim", "dtype", "input",    "window", "stride",
          "dilation", "causal", "q_tile",   "kv_tile",  "pass",  "schedule", "rest_us"};
}

KernelRun read_timed_run(const StrictObject& fields, const std::string& kernel) {
  KernelRun run{.kernel = kernel, .device = ""};
  run.batch = fields.integer_or("batch", 1, {1, 1 << 16});
  run.heads = fields.integer_or("heads", 1, {1, 1 << 16});
  run.heads_kv = fields.integer_or("heads_kv", 0, {0, 1 << 16});
  run.head_dim = fields.integer_or("head_dim", 128, {16, 1024});
  run.dtype = parse_name<Dtype>(fields.text_or("dtype", "bf16"));
  run.input = read_extents(fields, "input");
  const std::size_t rank = run.input.rank();
  run.window = read_extents(fields, "window");
  run.stride = fields.has("stride") ? read_extents(fields, "stride") : ones(rank);
  run.dilation = fields.has("dilation") ? read_extents(fields, "dilation") : ones(rank);
  run.causal = read_causal(fields, rank);
  run.q_tile = read_extents(fields, "q_tile");
  run.kv_tile = read_extents(fields, "kv_tile");
  run.schedule = parse_name<KernelSchedule>(fields.text_or("schedule", "cooperative"));
  if (fields.has("rest_us"))
    run.rest_ms = static_cast<double>(fields.integer("rest_us", {0, 1'000'000'000})) / kUsOfMs;
  const std::string pass = fields.text_or("pass", "forward");
  if (pass != "forward" && pass != "backward") fields.fail("pass", "forward, backward");
  run.pass = pass == "forward" ? Walk::kForward : Walk::kBackward;
  require_valid(make_mask(run.input, run.window, run.stride, run.dilation, run.causal));
  // A dense kernel has tiles of tokens in a row, whatever the layout.
  require_extents("q_tile", run.q_tile, run.q_tile.rank(), 1, 1 << 20);
  require_extents("kv_tile", run.kv_tile, run.kv_tile.rank(), 1, 1 << 20);
  return run;
}

}  // namespace natten_sim::validate
