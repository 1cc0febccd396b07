#include <algorithm>
#include <span>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/scatter.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/remedy.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

#include "device_context.hpp"

namespace natten_sim::validate {
namespace {

namespace scatter = kernels::scatter_add;
using scatter::Path;

/// Launches before the median one of a timed point: three to warm up, and half of twenty.
constexpr std::int64_t kRunsBefore = 13;

Point read_remedy(const StrictObject& fields) {
  RemedyCase point;
  point.path = parse_name<Path>(fields.text("path"));
  point.dtype = parse_name<Dtype>(fields.text("dtype"));
  point.width = fields.integer("width", {1, 1 << 20});
  point.updates = fields.integer("updates", {1, kMaxUpdates});
  point.rows = fields.integer("rows", {1, kMaxRows});
  point.distribution = parse_index_distribution(fields.text("distribution"));
  require_valid(point.problem());
  return point;
}

/// What the model calls the remedy of a path; null where it has none.
const char* remedy_of(Path path) {
  switch (path) {
    case Path::kScalar:
      return kAsIs;
    case Path::kRed4:
      return "packed-x2";
    case Path::kRed16:
      return "vector";
    case Path::kAccumulator:
      return "fp32-accumulator";
    case Path::kPrivate:
      return "private-copies-8";
    case Path::kSorted:
      return "sort-pre-reduction";
    default:
      return nullptr;
  }
}

std::vector<std::int64_t> rows_of(const RemedyCase& point) {
  const std::int64_t row_bytes = point.width * element_bytes(point.dtype);
  const auto stream = generate_indices({point.distribution, point.updates, point.rows, row_bytes, 0});
  std::vector<std::int64_t> index(static_cast<std::size_t>(point.updates));
  std::size_t done = 0;
  while (done < index.size()) done += stream->read(std::span(index).subspan(done));
  return index;
}

}  // namespace

namespace cases {

/// Paths of this project's scatter-add.
CaseKind remedy();
CaseKind remedy() {
  return {"remedy", {"path", "dtype", "width", "updates", "rows", "distribution"}, read_remedy};
}

}  // namespace cases

std::string RemedyCase::key() const {
  return std::string("remedy ") + to_string(path) + " " + to_string(dtype) + " " + std::to_string(updates) +
         " x" + std::to_string(width) + " into " + std::to_string(rows) + " " + to_string(distribution);
}

std::string RemedyCase::group() const {
  return std::string("remedy ") + to_string(path) + (dtype == Dtype::kFp32 ? " fp32" : " half") +
         (std::holds_alternative<UniformRows>(distribution) ? " uniform" : " contended");
}

std::vector<Parameter> RemedyCase::parameters() const {
  return {{"kernel", "remedy"},
          {"path", to_string(path)},
          {"dtype", to_string(dtype)},
          {"width", width},
          {"updates", updates},
          {"rows", rows},
          {"distribution", to_string(distribution)}};
}

scatter::Problem RemedyCase::problem() const {
  scatter::Problem problem;
  problem.updates = updates;
  problem.rows = rows;
  problem.width = width;
  problem.dtype = dtype;
  problem.path = path;
  return problem;
}

std::vector<Prediction> RemedyCase::predict(const Device& device, Fidelity) const {
  const char* const name = remedy_of(path);
  if (name == nullptr || !missing_for_contention(device).empty()) return {};
  const study::Context context = context_on(device);
  study::ScatterQuestion question;
  question.updates = updates;
  question.rows = rows;
  question.width = width;
  question.source = distribution;
  question.dtype = dtype;
  question.construct = dtype == Dtype::kFp32   ? "cuda-atomicadd-float"
                       : dtype == Dtype::kFp16 ? "cuda-atomicadd-half"
                                               : "cuda-atomicadd-bfloat16";
  question.device = device.name;
  question.prior_runs = kRunsBefore;
  question.details.remedies = true;
  const study::ScatterAnswer answer = study::scatter(question, context);
  for (const Remedy& each : *answer.cost.remedies) {
    const double queued = each.time_ns - answer.cost.prediction.host_launch_ns;
    if (each.name == name) return {{std::string(kLaunchTime), "remedy, closed form", queued, false}};
  }
  return {};
}

Launch RemedyCase::prepare(Bench& bench, std::uint64_t seed) const {
  const auto buffers =
      std::make_shared<const scatter::Buffers>(scatter::make_buffers(problem(), rows_of(*this), seed));
  return [gpu = bench.gpu(), all = problem(), buffers] { scatter::launch(gpu, all, *buffers); };
}

CheckedPoint RemedyCase::check(Bench& bench, std::uint64_t seed) const {
  CheckedPoint checked;
  checked.ran = checked.passed = true;
  for (const auto kind : {scatter::CheckValues::kIntegers, scatter::CheckValues::kRandom}) {
    const scatter::Check one = scatter::check(bench.gpu(), problem(), rows_of(*this), kind, seed);
    checked.error = std::max(checked.error, one.error);
    checked.passed = checked.passed && one.passed;
  }
  return checked;
}

std::vector<Point> RemedyCase::to_check(CheckLengths) const {
  RemedyCase checked = *this;
  checked.updates = std::min<std::int64_t>(updates, 120);  // sums of integers stay exact in bf16
  checked.rows = std::min<std::int64_t>(rows, 64);
  if (const auto* hot = std::get_if<HotRows>(&distribution))
    checked.rows = std::max(checked.rows, hot->count);
  return {checked};
}

}  // namespace natten_sim::validate
