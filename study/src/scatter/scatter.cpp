#include <algorithm>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/lowering_data.hpp>
#include <natten_sim/models/scatter/swept_contention.hpp>
#include <natten_sim/sim/scatter/index_stream.hpp>
#include <natten_sim/study/scatter.hpp>

#include "scatter/scatter_device.hpp"

namespace natten_sim::study {
namespace {

/// The first `updates` rows of a stream, which must have as many.
class FirstUpdates final : public IndexStream {
 public:
  FirstUpdates(const GivenRows& given, std::int64_t rows, std::int64_t updates)
      : stream_(given.open(rows)), updates_(updates), left_(updates) {}
  std::size_t read(std::span<std::int64_t> rows) override {
    const std::size_t wanted = std::min(rows.size(), static_cast<std::size_t>(left_));
    const std::size_t got = wanted == 0 ? 0 : stream_->read(rows.first(wanted));
    if (wanted > 0 && got == 0) {
      throw InvalidParameter("updates", std::to_string(updates_),
                             "at most the " + std::to_string(updates_ - left_) + " rows of the file",
                             std::to_string(updates_ - left_));
    }
    left_ -= static_cast<std::int64_t>(got);
    return got;
  }

 private:
  std::unique_ptr<IndexStream> stream_;
  std::int64_t updates_, left_;
};

std::unique_ptr<IndexStream> open_rows(const ScatterQuestion& question) {
  if (const auto* given = std::get_if<GivenRows>(&question.source)) {
    if (!question.updates) return given->open(question.rows);
    return std::make_unique<FirstUpdates>(*given, question.rows, *question.updates);
  }
  const std::int64_t row_bytes = checked_multiply(question.width, element_bytes(question.dtype), "row_bytes");
  return generate_indices({std::get<IndexDistribution>(question.source),
                           question.updates.value_or(kGeneratedUpdates), question.rows, row_bytes,
                           question.seed});
}

CollisionCount count_rows(const ScatterQuestion& question, const Context& context) {
  const std::unique_ptr<IndexStream> stream = open_rows(question);
  const auto* given = std::get_if<GivenRows>(&question.source);
  // Of rows without a known number there are no more than this.
  const auto expected =
      static_cast<double>(question.updates.value_or(given == nullptr ? kGeneratedUpdates : kMaxUpdates));
  CollisionCount count = count_collisions(*stream, question.rows, [&](std::int64_t done) {
    if (context.progress)
      context.progress(stream->share_read().value_or(static_cast<double>(done) / expected));
  });
  if (given != nullptr && !question.updates && count.updates == 0)
    throw InvalidParameter("distribution", given->name, "one row number or more");
  return count;
}

/// Path and vector width: the lowering's, or as forced.
void choose_path(std::optional<InstructionPath> forced, const Lowering& lowering, ScatterLoad& load) {
  load.path = forced.value_or(lowering.path);
  load.vector_width = lowering.vector_width;
  const bool native = load.path != InstructionPath::kCas;
  // There is no scalar native form of 16 bits; a loop adds one element a lane.
  if (native && lowering.path == InstructionPath::kCas) load.vector_width = load.type == Dtype::kFp32 ? 1 : 2;
  if (!native && lowering.path != InstructionPath::kCas) load.vector_width = 1;
  if (load.width % load.vector_width == 0) return;
  throw InvalidParameter(
      "width", std::to_string(load.width),
      "a multiple of " + std::to_string(load.vector_width) + ", which a lane of this construct adds at once",
      std::to_string(std::max(load.width / load.vector_width, std::int64_t{1}) * load.vector_width));
}

/// The question's additions by a construct, before rows are counted.
ScatterLoad load_of(const ScatterQuestion& question, const Lowering& lowering, const ContentionProfile& profile) {
  ScatterLoad load;
  load.width = question.width;
  load.type = question.dtype;
  load.values = question.values;
  load.prior_runs = question.prior_runs;
  choose_path(question.path, lowering, load);
  if (const auto* distribution = std::get_if<IndexDistribution>(&question.source)) {
    if (const auto* hot = std::get_if<HotRows>(distribution)) load.turn_rows = hot->count;
  }
  if (lowering.issue == IssueCost::kBare) load.issue_ns = profile.issue_bare_ns;
  if (lowering.issue_cycles) {
    load.issue_ns = *lowering.issue_cycles * profile.cycle_ns;
    load.steady_issue = true;
  }
  return load;
}

/// Fills in what depends on the rows.
void count_into(const CollisionCount& collisions, const Lowering& lowering, ScatterLoad& load) {
  describe_collisions(collisions, load);
  const std::int64_t element = element_bytes(load.type);
  load.sent_sectors = static_cast<double>(
      sent_sectors(collisions, load.width * element, kWarpLanes * load.vector_width * element));
  const double elements = static_cast<double>(load.updates) * static_cast<double>(load.width);
  load.streamed_bytes =
      elements * static_cast<double>(element) + index_bytes(lowering.index, load.updates, load.width);
}

/// The same additions by other constructs.
std::vector<OtherConstruct> others_of(const ScatterQuestion& question, const Lowering& lowering,
                                      const CollisionCount& collisions, const ContentionProfile& profile) {
  ScatterQuestion free = question;
  free.path.reset();
  std::vector<OtherConstruct> others;
  for (const OtherLowering& other : other_lowerings(lowering, question.width)) {
    ScatterLoad load = load_of(free, *other.lowering, profile);
    count_into(collisions, *other.lowering, load);
    others.push_back({other.remedy, other.effort, other.lowering->construct, load});
  }
  return others;
}

/// The score of a remedy; null if it was not judged on this device, or on loads such as this one.
const BlindScore* score_of(const std::string& remedy, const ScatterLoad& load, const ContentionProfile& profile) {
  const auto score = remedy_scores().find(remedy);
  if (score == remedy_scores().end() || score->second.device != profile.device) return nullptr;
  return profile.sweep && outside_sweep(load, *profile.sweep).empty() ? &score->second : nullptr;
}

TimeInterval interval_of(double time_ns, const BlindScore& score) {
  return {time_ns / score.interval_ratio, time_ns * score.interval_ratio};
}

/// The error of answers of this kind.
CalibrationError error_of(const ScatterAnswer& answer) {
  const ContentionProfile& profile = answer.profile;
  if (!profile.sweep) return calibration_error(profile, contention_points());
  const ScatterLoad& load = answer.cost.load;
  const ContentionPrediction& prediction = answer.cost.prediction;
  const char* const remedy = remedy_of_construct(answer.question.construct);
  const bool other = answer.question.construct != profile.sweep->construct || answer.question.path;
  const BlindScore* const score =
      remedy != nullptr && !answer.question.path ? score_of(remedy, load, profile) : nullptr;
  if (score == nullptr) return calibration_error(profile, load, prediction, other);
  CalibrationError error;
  error.kind = kind_of(load, prediction);
  error.unfitted_points = score->points;
  error.unfitted_worst_ratio = score->worst_ratio;
  error.unfitted_mean_ratio = score->mean_ratio;
  error.interval = interval_of(prediction.time_ns, *score);
  return error;
}

/// The remedies, with the answer's interval for as-is and those of remedies that were judged.
std::vector<Remedy> remedies_of(const ScatterAnswer& answer, const Lowering& lowering, const ScatterDevice& device) {
  const ScatterLoad& load = answer.cost.load;
  std::vector<Remedy> remedies =
      compare_remedies(load, answer.question.rows, answer.profile,
                       others_of(answer.question, lowering, answer.collisions, answer.profile),
                       device.pre_reduction);
  for (Remedy& remedy : remedies) {
    if (remedy.name == kAsIs && answer.calibration) remedy.interval = answer.calibration->interval;
    const BlindScore* const score = score_of(remedy.name, load, answer.profile);
    if (score == nullptr) continue;
    remedy.blind = *score;
    remedy.interval = interval_of(remedy.time_ns, *score);
  }
  return remedies;
}

/// The operator's row for a release. The operator is the first one that adds by the question's construct.
const OperatorRelease& release_of(const std::string& construct, const std::string& release) {
  const std::vector<OperatorRelease>& all = builtin_operators();
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&](const OperatorRelease& row) { return row.construct == construct; });
  if (known == all.end())
    throw InvalidParameter("compare", release, "left out: " + construct + " is no operator of a framework");
  std::vector<std::string> releases;
  for (const OperatorRelease& row : all) {
    if (row.operator_name != known->operator_name) continue;
    if (row.release == release) return row;
    releases.push_back(row.release);
  }
  throw UnknownName("compare", release, closest_name(release, releases),
                    joined(releases) + " of " + known->operator_name);
}

ReleaseCost cost_in(const std::string& release, const ScatterAnswer& answer, const ScatterDevice& device) {
  ScatterQuestion question = answer.question;
  question.path.reset();
  ReleaseCost cost{.release = release_of(question.construct, release)};
  question.construct = *cost.release.construct;
  const Lowering& lowering =
      find_lowering(builtin_lowerings(), question.construct, device.device->architecture, question.dtype);
  ScatterAnswer other{.question = question, .profile = answer.profile};
  other.cost.load = load_of(question, lowering, device.profile);
  count_into(answer.collisions, lowering, other.cost.load);
  predict_cost(answer.collisions, {}, device, other.cost);
  cost.instruction = lowering.instruction;
  cost.path = lowering.path;
  cost.prediction = other.cost.prediction;
  if (answer.question.details.calibration) cost.interval = error_of(other).interval;
  return cost;
}

}  // namespace

ScatterAnswer scatter(const ScatterQuestion& question, const Context& context) {
  const ScatterDevice device = scatter_device(question.device, context);
  const Lowering& lowering =
      find_lowering(builtin_lowerings(), question.construct, device.device->architecture, question.dtype);
  ScatterAnswer answer{.question = question, .profile = device.profile};
  answer.question.device = device.device->name;
  ScatterLoad& load = answer.cost.load;
  load = load_of(question, lowering, device.profile);
  if (load.path == lowering.path) answer.cost.instruction = lowering.instruction;

  answer.collisions = count_rows(question, context);
  answer.question.updates = answer.collisions.updates;
  count_into(answer.collisions, lowering, load);
  predict_cost(answer.collisions, question.details, device, answer.cost);
  if (question.details.calibration) answer.calibration = error_of(answer);
  if (question.details.remedies) answer.cost.remedies = remedies_of(answer, lowering, device);
  for (const std::string& release : question.compare)
    answer.releases.push_back(cost_in(release, answer, device));
  return answer;
}

}  // namespace natten_sim::study
