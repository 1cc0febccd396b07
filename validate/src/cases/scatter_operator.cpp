#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/remedy.hpp>
#include <natten_sim/validate/cases/scatter.hpp>
#include <natten_sim/validate/cases/scatter_operator.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "device_context.hpp"

namespace natten_sim::validate {
namespace {

bool is_torch(const std::string& operation) {
  return operation == "scatter_add" || operation == "index_add" || operation == "embedding";
}

Point read_scatter_operator(const StrictObject& fields) {
  ScatterOperatorCase point;
  point.operation = fields.text("operator");
  if (!is_torch(point.operation))
    (void)parse_name<kernels::scatter_add::Path>(point.operation);  // throws for one that is no path
  point.dtype = parse_name<Dtype>(fields.text("dtype"));
  point.width = fields.integer("width", {1, 1 << 20});
  point.updates = fields.integer("updates", {1, kMaxUpdates});
  point.rows = fields.integer("rows", {1, kMaxRows});
  point.distribution = parse_index_distribution(fields.text("distribution"));
  return point;
}

/// Time of an operator that is queued after other work, without the host's launch.
std::vector<Prediction> index_add_time(const ScatterOperatorCase& point, const Device& device) {
  if (!missing_for_contention(device).empty()) return {};
  study::ScatterQuestion question;
  question.updates = point.updates;
  question.rows = point.rows;
  question.width = point.width;
  question.source = point.distribution;
  question.dtype = point.dtype;
  question.construct = "torch-index-add";
  question.device = device.name;
  const ContentionPrediction time = study::scatter(question, context_on(device)).cost.prediction;
  return {{std::string(kLaunchTime), "contention, closed form", time.time_ns - time.host_launch_ns, false}};
}

}  // namespace

namespace cases {

/// Operators that scatter, beside each other.
CaseKind scatter_operator();
CaseKind scatter_operator() {
  return {"scatter-operator",
          {"operator", "dtype", "width", "updates", "rows", "distribution"},
          read_scatter_operator};
}

}  // namespace cases

std::string ScatterOperatorCase::load() const {
  return std::string(to_string(dtype)) + " x" + std::to_string(width) + " " + to_string(distribution);
}

std::string ScatterOperatorCase::key() const {
  return "scatter-operator " + operation + " " + to_string(dtype) + " " + std::to_string(updates) + " x" +
         std::to_string(width) + " into " + std::to_string(rows) + " " + to_string(distribution);
}

std::string ScatterOperatorCase::group() const {
  return "scatter-operator " + operation + (dtype == Dtype::kFp32 ? " fp32" : " half");
}

std::vector<Parameter> ScatterOperatorCase::parameters() const {
  return {{"kernel", "scatter-operator"},
          {"operator", operation},
          {"dtype", to_string(dtype)},
          {"width", width},
          {"updates", updates},
          {"rows", rows},
          {"distribution", to_string(distribution)}};
}

std::vector<Prediction> ScatterOperatorCase::predict(const Device& device, Fidelity fidelity) const {
  if (operation == "scatter_add") {
    ScatterCase point;
    point.dtype = dtype;
    point.width = width;
    point.updates = updates;
    point.rows = rows;
    point.distribution = distribution;
    point.queued = true;
    return point.predict(device, fidelity);
  }
  if (operation == "index_add") return index_add_time(*this, device);
  if (is_torch(operation)) return {};
  RemedyCase point;
  point.path = parse_name<kernels::scatter_add::Path>(operation);
  point.dtype = dtype;
  point.width = width;
  point.updates = updates;
  point.rows = rows;
  point.distribution = distribution;
  return point.predict(device, fidelity);
}

}  // namespace natten_sim::validate
