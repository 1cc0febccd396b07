#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/compare/bounds.hpp>
#include <natten_sim/validate/compare/saving.hpp>
#include <natten_sim/validate/measure/counters.hpp>

namespace natten_sim::validate {
namespace {

constexpr double kGoal = 0.05;
constexpr const char* kReads = "dram_read_bytes";

}  // namespace

std::string compared_quantity(const std::string& name) {
  std::vector<std::string> names = {std::string(kSaving), std::string(kLaunchTime),
                                    std::string(kExecutedPath), std::string(kBound)};
  std::string known = joined(names);
  for (const CounterSpec& spec : counter_table()) {
    names.emplace_back(spec.label);
    known += ", " + names.back();
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  throw UnknownName("counter", name, closest_name(name, names), known);
}

std::vector<ComparisonRow> compare_savings(const Suite& suite, const Recording& recording,
                                           std::span<const ComparisonRow> compared) {
  // By point, then in the order of the models.
  std::map<std::string, std::vector<const ComparisonRow*>> reads;
  for (const ComparisonRow& row : compared) {
    if (row.counter == kReads) reads[row.point].push_back(&row);
  }
  std::vector<ComparisonRow> rows;
  for (const RecordedRow& recorded : recording.rows) {
    const std::optional<Point> partner = recorded.point->cyclic_partner();
    if (!partner) continue;
    const auto sawtooth = reads.find(key_of(recorded.point)), cyclic = reads.find(key_of(*partner));
    if (sawtooth == reads.end() || cyclic == reads.end()) continue;
    for (const ComparisonRow* less : sawtooth->second) {
      const auto more = std::find_if(cyclic->second.begin(), cyclic->second.end(),
                                     [&](const ComparisonRow* row) { return row->model == less->model; });
      if (more == cyclic->second.end()) continue;
      ComparisonRow row;  // nothing of either verdict
      row.suite = less->suite;
      row.device = less->device;
      row.point = less->point + " against cyclic";
      row.group = less->group;
      row.counter = kSaving;
      row.model = less->model;
      row.predicted = 1 - less->predicted / (*more)->predicted;
      row.measured = 1 - less->measured / (*more)->measured;
      row.spread = (1 - row.measured) * (less->spread + (*more)->spread);
      row.deviation = row.predicted - row.measured;
      row.fitted = less->fitted || (*more)->fitted;
      judge(suite, row);
      rows.push_back(row);
    }
  }
  return rows;
}

SavingSummary summarise_savings(std::span<const ComparisonRow> rows, std::string_view model) {
  SavingSummary summary;
  for (const ComparisonRow& row : rows) {
    if (row.counter != kSaving || row.model != model) continue;
    ++summary.pairs;
    summary.within_points += std::abs(row.deviation) <= kGoal ? 1 : 0;
    if (row.measured <= kGoal) continue;
    ++summary.parted;
    summary.within_ratio += std::abs(row.predicted / row.measured - 1) <= kGoal ? 1 : 0;
  }
  return summary;
}

}  // namespace natten_sim::validate
