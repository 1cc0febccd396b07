#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/scatter.hpp>
#include <natten_sim/validate/compare/bounds.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "device_context.hpp"

namespace natten_sim::validate {
namespace {

constexpr std::int64_t kContendedRows = 256;

Point read_scatter(const StrictObject& fields) {
  ScatterCase point;
  point.construct = fields.text_or("construct", point.construct);
  point.dtype = parse_name<Dtype>(fields.text("dtype"));
  point.width = fields.integer("width", {1, 1 << 20});
  point.updates = fields.integer("updates", {1, kMaxUpdates});
  point.rows = fields.integer("rows", {1, kMaxRows});
  point.distribution = parse_index_distribution(fields.text("distribution"));
  point.seed = fields.integer_or("seed", point.seed);
  point.queued = fields.boolean_or("queued", point.queued);
  point.fitted = fields.boolean_or("fitted", point.fitted);
  return point;
}

}  // namespace

namespace cases {

/// PyTorch's scatter_add: "construct" names the row of the lowering table.
CaseKind scatter();
CaseKind scatter() {
  return {"scatter",
          {"construct", "dtype", "width", "updates", "rows", "distribution", "seed", "queued", "fitted"},
          read_scatter};
}

}  // namespace cases

std::string ScatterCase::key() const {
  return "scatter " + construct + " " + to_string(dtype) + " " + std::to_string(updates) + " x" +
         std::to_string(width) + " into " + std::to_string(rows) + " " + to_string(distribution) +
         (seed == 0 ? "" : " seed " + std::to_string(seed)) + (queued ? " queued" : "");
}

std::string ScatterCase::regime() const {
  const bool spread = std::holds_alternative<UniformRows>(distribution) && rows > kContendedRows;
  return std::string("scatter ") + (dtype == Dtype::kFp32 ? "fp32" : "half") + (spread ? " uniform" : " contended");
}

std::string ScatterCase::group() const { return regime() + (fitted ? ", fitted" : ", predicted"); }

std::vector<Parameter> ScatterCase::parameters() const {
  std::vector<Parameter> all = {{"kernel", "scatter"},
                                {"construct", construct},
                                {"dtype", to_string(dtype)},
                                {"width", width},
                                {"updates", updates},
                                {"rows", rows},
                                {"distribution", to_string(distribution)}};
  if (seed != 0) all.push_back({"seed", seed});
  if (queued) all.push_back({"queued", queued});
  all.push_back({"fitted", fitted});
  return all;
}

study::ScatterQuestion ScatterCase::question(const std::string& device) const {
  study::ScatterQuestion question;
  question.updates = updates;
  question.rows = rows;
  question.width = width;
  question.source = distribution;
  question.dtype = dtype;
  question.seed = static_cast<std::uint64_t>(seed);
  question.construct = construct;
  question.device = device;
  return question;
}

std::vector<Prediction> ScatterCase::predict(const Device& device, Fidelity) const {
  if (!missing_for_contention(device).empty()) return {};
  const study::Context context = context_on(device);
  study::ScatterQuestion third = question(device.name);
  third.details.calibration = true;
  const study::ScatterAnswer timed = study::scatter(third, context);
  third.prior_runs = 0;  // counters are those of the first run
  const ContentionPrediction counted = study::scatter(third, context).cost.prediction;
  constexpr const char* kModel = "contention, closed form";
  std::vector<Prediction> predictions;
  const ContentionPrediction& time = timed.cost.prediction;
  const double host_ns = queued ? time.host_launch_ns : 0;
  std::optional<PredictedInterval> interval;
  if (timed.calibration && timed.calibration->interval)
    interval = {timed.calibration->interval->least_ns - host_ns, timed.calibration->interval->most_ns - host_ns,
                "scatter", regime()};
  predictions.push_back({std::string(kLaunchTime), kModel, time.time_ns - host_ns, fitted, interval});
  if (timed.cost.load.path == InstructionPath::kRed) {
    predictions.push_back(
        {"l1_reduction_sectors", kModel, static_cast<double>(counted.red_sectors), fitted});
  } else {
    predictions.push_back({"l1_atomic_sectors", kModel, static_cast<double>(counted.atom_sectors), fitted});
  }
  predictions.push_back(
      {std::string(kExecutedPath), kModel, static_cast<double>(timed.cost.load.path), fitted});
  predictions.push_back({std::string(kBound), kModel, static_cast<double>(time.bound), fitted});
  return predictions;
}

}  // namespace natten_sim::validate
