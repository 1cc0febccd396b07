#include "published/msda_tables.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/core/parallel.hpp>
#include <natten_sim/io/contention_data.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/models/scatter/contention_fit.hpp>

namespace natten_sim::validate {

PublishedRow ratio_row(RatioCell cell) {
  const double ratio = cell.ours / cell.published;
  PublishedRow row;
  row.figure = std::move(cell.figure);
  row.item = std::move(cell.item);
  row.published = fmt::format("{:g} {}", cell.published, cell.unit);
  row.ours = fmt::format("{:.4g} {}", cell.ours, cell.unit);
  row.deviation = ratio - 1;
  row.tolerance = cell.goal.tolerance;
  row.relative = true;
  row.fitted = cell.fitted;
  row.by_construction = cell.by_construction;
  row.note = std::move(cell.note);
  row.published_value = cell.published;
  row.ours_value = cell.ours;
  row.place = {cell.unit, std::move(cell.series), std::move(cell.axis), cell.at};
  const double miss =
      cell.goal.is_factor ? std::max(ratio, cell.published / cell.ours) - 1 : std::abs(row.deviation);
  if (!(miss <= cell.goal.tolerance)) row.verdict = Verdict::kOutside;
  return row;
}

MsdaTables::MsdaTables(const study::Context& context)
    : published_(parse_json(published_msda_figures())), context_(context), configs_(builtin_msda_configs()) {
  context_.progress = {};  // of the whole, not of one simulation
  for (const Json& entry : published_.at("known_deviations"))
    known_deviations_.push_back(read_known_deviation(entry, "data/msda-paper.json, known deviation"));
}

void MsdaTables::add(RatioCell cell) {
  const double ratio = cell.ours / cell.published;
  const auto known =
      std::find_if(known_deviations_.begin(), known_deviations_.end(),
                   [&](const KnownDeviation& each) { return each.covers(cell.figure, cell.facts, ratio); });
  rows.push_back(ratio_row(std::move(cell)));
  if (known != known_deviations_.end()) mark_known(rows.back(), known->reason);
}

const MsdaConfig& MsdaTables::config(const std::string& name) const {
  for (const MsdaConfig& config : configs_) {
    if (config.name == name) return config;
  }
  throw InvalidParameter("configuration", name, "one of data/msda-configs.json");
}

double MsdaTables::value(const std::string& table, const std::string& row, const std::string& column) const {
  const Json& columns = published_.at(table)["columns"];
  const auto place = std::find(columns.begin(), columns.end(), column) - columns.begin();
  for (const Json& line : published_.at(table)["rows"]) {
    if (line[0] == row) return line.at(static_cast<std::size_t>(place));
  }
  throw InvalidParameter(table, row + ", " + column, "a row and a column of the table");
}

ContentionPrediction MsdaTables::predict(const ContentionPoint& point) const {
  return predict_contention(load_of(point), contention_profile(context_.catalog.device(point.device)));
}

MsdaTables::Key MsdaTables::key(const MsdaCell& cell, const MsdaCache& cache) {
  return {cell.config, cache.capacity_granules, cache.rows_per_granule, cell.order};
}

study::MsdaQuestion MsdaTables::question_of(const MsdaCell& cell) const {
  return {.config = config(cell.config),
          .phase = cell.phase,
          .tiling = cell.tiling,
          .accumulator = cell.accumulator,
          .dtype = cell.dtype,
          .orders = {cell.order},
          .device = cell.device};
}

study::MsdaAnswer MsdaTables::answer(const MsdaCell& cell) {
  const study::MsdaQuestion question = question_of(cell);
  const Key wanted = key(cell, study::msda_cache(question, context_));
  if (!traffic_.contains(wanted)) traffic_.merge(simulate(cell));
  return study::msda_from_traffic(question, {traffic_.at(wanted)}, context_);
}

/// Samples are the costly part: the caches of all devices and element sizes in one pass.
MsdaTables::Traffic MsdaTables::simulate(const MsdaCell& cell) const {
  study::MsdaQuestion question = question_of(cell);
  std::vector<MsdaCache> caches;
  for (const auto& [card, device] : published_["devices"].items()) {
    for (const Dtype size : {Dtype::kBf16, Dtype::kFp32}) {
      question.device = device;
      question.dtype = question.accumulator = size;
      caches.push_back(study::msda_cache(question, context_));
    }
  }
  const std::vector<MsdaTraffic> traffic =
      simulate_msda(question.config, question.sampling, cell.order, caches);
  Traffic known;
  for (std::size_t i = 0; i < caches.size(); ++i) known[key(cell, caches[i])] = traffic[i];
  return known;
}

void MsdaTables::simulate_ahead(const std::vector<MsdaCell>& cells, const ProgressFunction& progress) {
  std::vector<MsdaCell> different;
  for (const MsdaCell& cell : cells) {
    const bool known = std::any_of(different.begin(), different.end(), [&](const MsdaCell& other) {
      return other.config == cell.config && other.order == cell.order;
    });
    if (!known) different.push_back(cell);
  }
  const auto samples = [&](const MsdaCell& cell) {
    return config(cell.config).batch * queries_per_image(config(cell.config));
  };
  std::stable_sort(different.begin(), different.end(),
                   [&](const MsdaCell& a, const MsdaCell& b) { return samples(a) > samples(b); });
  std::vector<Traffic> found(different.size());
  run_tasks(different.size(), {.threads = context_.threads, .progress = progress},
            [&](std::size_t i, std::size_t) { found[i] = simulate(different[i]); });
  for (Traffic& part : found) traffic_.merge(part);
}

}  // namespace natten_sim::validate
