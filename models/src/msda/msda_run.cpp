#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/models/msda/msda_run.hpp>

namespace natten_sim {
namespace {

constexpr double kCtaThreads = 256, kPieceBytes = 16, kPrivateCopies = 8, kSamplesAStep = 2;

/// How the lanes of a row add to it.
struct RowUpdate {
  double rows = 0;             ///< rows that are added to
  double pieces = 1;           ///< instructions for each
  double bytes = kPieceBytes;  ///< of a lane in one instruction
  double service_ns = 0;
  double answers = 0;  ///< instructions that wait for an answer
  double answer_ns = 0;
};

bool is_half(const MsdaRun& run) { return run.element_bytes == 2; }
bool is_point(const MsdaRun& run) { return run.tiling == MsdaTiling::kPoint; }
bool is_backward(const MsdaRun& run) { return run.phase == MsdaPhase::kBackward; }
double samples_of(const MsdaRun& run) { return run.pairs * run.levels * run.points; }
double row_bytes_of(const MsdaRun& run) { return run.head_channels * static_cast<double>(run.element_bytes); }
double lanes_of(const MsdaRun& run) { return std::max(row_bytes_of(run) / kPieceBytes, 1.0); }
double output_elements(const MsdaRun& run) { return run.pairs * run.head_channels; }

RowUpdate row_update(const MsdaRun& run, const MsdaCosts& costs) {
  RowUpdate update{.rows = run.reads, .service_ns = costs.reduction_ns};
  if (!is_backward(run)) {
    update.rows = is_point(run) ? samples_of(run) : 0;  // fp32 sums
    update.pieces = is_half(run) ? 2 : 1;
    return update;
  }
  const bool by_element = run.update == MsdaUpdate::kScalar || run.update == MsdaUpdate::kPrivate;
  if (run.update == MsdaUpdate::kRed16) return update;
  if (run.update == MsdaUpdate::kAccumulator) {
    update.pieces = is_half(run) ? 2 : 1;
    return update;
  }
  update.bytes = 4;
  if (by_element && is_half(run)) {
    update.bytes = 2;
    update.service_ns = costs.scalar_ns;
    update.answer_ns = costs.scalar_chain_ns;
  } else if (run.update == MsdaUpdate::kAtom) {
    update.service_ns = costs.atom_ns;
    update.answer_ns = costs.atom_chain_ns;
  } else if (run.update == MsdaUpdate::kCas) {
    update.service_ns = costs.cas_ns;
    update.answer_ns = costs.cas_chain_ns;
  }
  update.pieces = kPieceBytes / update.bytes;
  update.answers = update.answer_ns > 0 ? update.pieces : 0;
  return update;
}

/// What the DRAM gives beside scattered rows, where that was measured.
double dram_rate(const ContentionProfile& profile) {
  return profile.sweep ? profile.sweep->constants.dram_bytes_per_ns : profile.dram_bytes_per_ns;
}

/// Time of a launch and of those before and after it, which zero and convert.
double launches_ns(const MsdaRun& run, const MsdaCosts& costs, const ContentionProfile& profile) {
  double further = is_backward(run) ? 1 : 0, zeroed = is_backward(run) ? msda_gradient_bytes(run) : 0,
         converted = 0;
  if (!is_backward(run) && is_point(run)) {
    further = is_half(run) ? 2 : 1;
    zeroed = 4 * output_elements(run);
    if (is_half(run)) converted = 6 * output_elements(run);
  }
  if (is_backward(run) && (run.update == MsdaUpdate::kAccumulator || run.update == MsdaUpdate::kPrivate)) {
    ++further;
    converted = msda_gradient_bytes(run) + run.value_bytes;
  }
  const auto past_l2 = [&](double bytes) { return bytes * msda_share_that_leaves(bytes, costs); };
  return costs.launch_ns + further * costs.further_launch_ns +
         (past_l2(zeroed) + past_l2(converted)) / dram_rate(profile);
}

/// What the L2 has to hold to keep what the next launch reads again.
double run_footprint(const MsdaRun& run) {
  return run.rows * row_bytes_of(run) + msda_stream_bytes(run) +
         (is_backward(run) ? msda_gradient_bytes(run) : 0);
}

double chain_ns(const MsdaRun& run, const MsdaVariant& variant, const RowUpdate& update,
                const MsdaCosts& costs, const ContentionProfile& profile) {
  const double of_pair = run.levels * run.points;
  const double threads = run.pairs * lanes_of(run) * (is_point(run) ? of_pair : 1);
  const double at_once = static_cast<double>(profile.sms * variant.ctas_per_sm);
  const double rounds = std::ceil(std::ceil(threads / kCtaThreads) / at_once);
  double steps = 1, samples = 1;
  if (!is_point(run)) {
    samples = is_backward(run) ? 1 : kSamplesAStep;
    steps = run.levels * std::ceil(run.points / samples);
  }
  const double first = run.reads > 0 ? run.rows / run.reads : 0;
  const double far = costs.far_ns * first * msda_share_that_leaves(run_footprint(run), costs);
  const double answers = update.answers > 0 ? 4 * update.answers * (update.answer_ns + far) : 0;
  return rounds * steps *
         (costs.load_chain_ns + far + costs.instruction_chain_ns * variant.instructions * samples + answers);
}

double run_dram_bytes(const MsdaRun& run, const MsdaCosts& costs) {
  double rows = run.missed_bytes;
  if (is_backward(run)) {
    const double gradient = msda_gradient_bytes(run);
    rows *= 1 + 2 * msda_share_that_leaves(gradient, costs) * gradient / run.value_bytes;
  }
  return (rows + msda_stream_bytes(run)) * msda_share_that_leaves(run_footprint(run), costs);
}

}  // namespace

double msda_gradient_bytes(const MsdaRun& run) {
  if (run.update == MsdaUpdate::kPrivate) return kPrivateCopies * run.value_bytes;
  const bool wider = run.update == MsdaUpdate::kAccumulator && is_half(run);
  return wider ? 2 * run.value_bytes : run.value_bytes;
}

double msda_stream_bytes(const MsdaRun& run) {
  const double parameters = 3 * static_cast<double>(run.parameter_bytes) * samples_of(run);
  const double output = output_elements(run) * static_cast<double>(run.element_bytes);
  return (parameters + output) * (is_backward(run) ? 2 : 1);
}

double msda_share_that_leaves(double bytes, const MsdaCosts& costs) {
  return bytes > 0 ? std::exp(-costs.resident_bytes / bytes) : 0;
}

const MsdaVariant& msda_variant(const MsdaRun& run, const MsdaCosts& costs) {
  for (const MsdaVariant& variant : costs.variants) {
    if (variant.phase == run.phase && variant.tiling == run.tiling && variant.half == is_half(run) &&
        (!is_backward(run) || variant.update == run.update))
      return variant;
  }
  throw InvalidParameter("update", to_string(run.update),
                         std::string("one whose ") + to_string(run.tiling) + " kernel was measured");
}

MsdaTime predict_msda_run(const MsdaRun& run, const MsdaCosts& costs, const ContentionProfile& profile) {
  const MsdaVariant& variant = msda_variant(run, costs);
  const RowUpdate update = row_update(run, costs);
  const double lanes = lanes_of(run), samples = samples_of(run);
  MsdaTime time;
  time.launch_ns = launches_ns(run, costs, profile);
  time.chain_ns = chain_ns(run, variant, update, costs, profile);
  time.issue_ns = samples * lanes / kWarpLanes * variant.instructions * costs.instruction_ns;
  time.l2_ns = run.reads * std::max(row_bytes_of(run) / 128, 1.0) * costs.line_ns;
  if (is_backward(run) && !is_point(run)) time.l2_ns += run.reads / lanes * costs.store_line_ns;
  const double sectors = update.pieces * std::max(lanes * update.bytes / kSectorBytes, 1.0);
  time.atomics_ns = update.rows * (update.pieces * update.service_ns + sectors * costs.sector_ns);
  const double bytes = run_dram_bytes(run, costs);
  time.dram_ns = bytes / dram_rate(profile);
  const std::pair<double, MsdaBound> parts[] = {{time.chain_ns, MsdaBound::kChain},
                                                {time.issue_ns, MsdaBound::kIssue},
                                                {time.l2_ns, MsdaBound::kL2},
                                                {time.atomics_ns, MsdaBound::kAtomics},
                                                {time.dram_ns, MsdaBound::kDram}};
  double sum = 0;
  std::pair<double, MsdaBound> largest{time.launch_ns, MsdaBound::kLaunch};
  for (const auto& part : parts) {
    sum += std::pow(part.first, costs.overlap);
    if (part.first > largest.first) largest = part;
  }
  time.time_ns = time.latency_ns = time.launch_ns + std::pow(sum, 1 / costs.overlap);
  time.bound = largest.second;
  time.achieved_bytes_per_ns = bytes / time.time_ns;
  return time;
}

std::optional<MsdaCostError> msda_cost_error(const MsdaRun& run, const MsdaCosts& costs) {
  for (const MsdaCostError& error : costs.errors) {
    if (error.phase == run.phase && error.tiling == run.tiling) return error;
  }
  return std::nullopt;
}

}  // namespace natten_sim
