#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <natten_sim/validate/measure/counters.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "registry/point_json.hpp"

namespace natten_sim::validate {
namespace {

Json spread_json(const Spread& spread) {
  return {{"median", spread.median},
          {"p95", spread.p95},
          {"smallest", spread.smallest},
          {"largest", spread.largest}};
}

/// What repetitions can have shown: ordered, not negative, small enough to count in 64 bits.
Spread parse_spread(const StrictObject& fields) {
  constexpr double kMax = 9e18;
  const Spread spread{fields.number("median"), fields.number("p95"), fields.number("smallest"),
                      fields.number("largest")};
  const bool ordered = 0 <= spread.smallest && spread.smallest <= spread.median &&
                       spread.median <= spread.p95 && spread.p95 <= spread.largest && spread.largest <= kMax;
  if (!ordered) fields.fail("median", "0 <= smallest <= median <= p95 <= largest <= 9e18");
  return spread;
}

constexpr IntegerRange kRepetitions{1, 1000000};

Json clocks_json(const Clocks& clocks) {
  return {{"sm_mhz", clocks.sm_mhz}, {"memory_mhz", clocks.memory_mhz}};
}

Clocks parse_clocks(const StrictObject& clocks) {
  constexpr IntegerRange kMhz{0, 1000000};
  return {static_cast<int>(clocks.integer("sm_mhz", kMhz)),
          static_cast<int>(clocks.integer("memory_mhz", kMhz))};
}

Timing parse_timing(const StrictObject& fields) {
  Timing timing;
  timing.milliseconds = parse_spread(fields);
  if (timing.milliseconds.smallest <= 0) fields.fail("smallest", "more than no time");
  timing.repetitions = static_cast<int>(fields.integer("repetitions", kRepetitions));
  timing.inputs = static_cast<int>(fields.integer_or("inputs", 1, {1, kMaxInputs}));
  const std::vector<std::string> states = names_of<L2State>();
  if (std::find(states.begin(), states.end(), fields.text("l2")) == states.end())
    fields.fail("l2", joined(states));
  timing.l2 = parse_name<L2State>(fields.text("l2"));
  for (const auto& [key, clocks] :
       {std::pair{"clocks_before", &timing.before}, {"clocks_after", &timing.after}}) {
    if (fields.has(key)) *clocks = parse_clocks(fields.object(key, {"sm_mhz", "memory_mhz"}));
  }
  if (fields.has("rest_ms")) timing.rest_ms = fields.number("rest_ms");
  if (timing.rest_ms && !(*timing.rest_ms >= 0 && *timing.rest_ms <= 1e9)) fields.fail("rest_ms", "0..1e9");
  return timing;
}

Json row_json(const RecordedRow& row) {
  Json json = {{"point", point_json(row.point)}, {"status", row.status}};
  Json counters = Json::object();
  for (const auto& [label, values] : row.counters) {
    counters[label] = spread_json(values.spread);
    counters[label]["repetitions"] = values.repetitions;
  }
  json["counters"] = counters;
  if (row.timing) {
    Json time = spread_json(row.timing->milliseconds);
    time["repetitions"] = row.timing->repetitions;
    time["inputs"] = row.timing->inputs;
    time["l2"] = to_string(row.timing->l2);
    if (row.timing->before) time["clocks_before"] = clocks_json(*row.timing->before);
    if (row.timing->after) time["clocks_after"] = clocks_json(*row.timing->after);
    if (row.timing->rest_ms) time["rest_ms"] = *row.timing->rest_ms;
    json["time_ms"] = time;
  }
  if (row.pace) {
    json["pace"] = {{"tile_ns", row.pace->tile_ns}, {"jitter", row.pace->jitter}, {"items", row.pace->items}};
    if (row.pace->score_share) json["pace"]["score_share"] = *row.pace->score_share;
    if (row.pace->arrival_ns) json["pace"]["arrival_ns"] = *row.pace->arrival_ns;
    if (!row.pace->variation.empty()) {
      json["pace"]["cta_deviation"] = row.pace->cta_deviation;
      for (const TileVariation& each : row.pace->variation)
        json["pace"]["variation"].push_back({{"tiles", each.tiles}, {"deviation", each.deviation}});
    }
  }
  return json;
}

CtaPace parse_pace(const StrictObject& fields) {
  CtaPace pace;
  for (const Json& each : fields.array("tile_ns")) {
    if (!each.is_number() || !(each.get<double>() > 0)) fields.fail("tile_ns", "times of more than 0 ns");
    pace.tile_ns.push_back(each.get<double>());
  }
  if (pace.tile_ns.empty()) fields.fail("tile_ns", "one time a CTA of an SM");
  pace.jitter = fields.number("jitter");
  if (!(pace.jitter >= 0 && pace.jitter <= 1000)) fields.fail("jitter", "0..1000");
  pace.items = static_cast<int>(fields.integer("items", {1, INT32_MAX}));
  if (fields.has("score_share")) {
    pace.score_share = fields.number("score_share");
    if (!(*pace.score_share > 0 && *pace.score_share < 1)) fields.fail("score_share", "between 0 and 1");
  }
  if (fields.has("arrival_ns")) {
    pace.arrival_ns = fields.number("arrival_ns");
    if (!(*pace.arrival_ns > 0)) fields.fail("arrival_ns", "a positive time");
  }
  if (!fields.has("variation")) return pace;
  pace.cta_deviation = fields.number("cta_deviation");
  if (!(pace.cta_deviation >= 0 && pace.cta_deviation <= 1000)) fields.fail("cta_deviation", "0..1000");
  for (const Json& each : fields.array("variation")) {
    const StrictObject of(each, fields.where() + ": 'variation'", {"tiles", "deviation"});
    const TileVariation variation{of.integer("tiles", {1, INT32_MAX}), of.number("deviation")};
    if (!(variation.deviation >= 0 && variation.deviation <= 1000)) of.fail("deviation", "0..1000");
    pace.variation.push_back(variation);
  }
  return pace;
}

RecordedRow parse_row(const Json& json, const std::string& where) {
  const StrictObject fields(json, where, {"point", "status", "counters", "time_ms", "pace"});
  RecordedRow row;
  row.point = parse_recorded_point(fields.at("point"), where + ": 'point'");
  row.status = fields.text("status");
  if (row.status.empty()) fields.fail("status", "measured, or why not");
  const StrictObject counters(fields.at("counters"), where + ": 'counters'");
  for (const auto& [label, values] : counters.json().items()) {
    const StrictObject each(values, counters.where() + ": '" + label + "'",
                            {"median", "p95", "smallest", "largest", "repetitions"});
    row.counters[label] = {parse_spread(each), static_cast<int>(each.integer("repetitions", kRepetitions))};
  }
  if (fields.has("time_ms")) {
    row.timing = parse_timing(fields.object("time_ms", {"median", "p95", "smallest", "largest", "repetitions",
                                                        "inputs", "l2", "clocks_before", "clocks_after",
                                                        "rest_ms"}));
  }
  if (fields.has("pace")) {
    row.pace = parse_pace(fields.object(
        "pace", {"tile_ns", "jitter", "items", "variation", "cta_deviation", "score_share", "arrival_ns"}));
  }
  return row;
}

/// The metric of each label, as it was read: one that the counter table has under this label.
std::map<std::string, std::string> parse_metrics(const StrictObject& metrics) {
  std::map<std::string, std::string> parsed;
  for (const auto& [label, unused] : metrics.json().items()) {
    const std::string metric = metrics.text(label.c_str());
    const CounterSpec* const spec = find_metric(metric);
    if (spec == nullptr || spec->label != label) metrics.fail(label.c_str(), "a metric of this counter");
    parsed[label] = metric;
  }
  return parsed;
}

RecordingHead parse_head(const StrictObject& fields) {
  RecordingHead head;
  head.suite = fields.text("suite");
  const StrictObject device =
      fields.object("device", {"name", "profile", "sms", "l2_bytes", "memory_bytes", "compute_capability"});
  head.device.name = device.text("name");
  head.device.profile = device.text("profile");
  head.device.sms = static_cast<std::int32_t>(device.integer("sms", {1, 1 << 20}));
  head.device.l2_bytes = device.integer("l2_bytes", {0, INT64_MAX});
  head.device.memory_bytes = device.integer("memory_bytes", {0, INT64_MAX});
  head.device.compute_capability = device.text("compute_capability");
  head.driver = fields.text("driver");
  head.toolkit = fields.text("toolkit");
  head.profiler = fields.text("profiler");
  head.clocks_policy = fields.text("clocks_policy");
  head.cache_control = fields.text("cache_control");
  head.commit = fields.text("commit");
  head.metrics = parse_metrics(StrictObject(fields.at("metrics"), fields.where() + ": 'metrics'"));
  return head;
}

}  // namespace

std::optional<double> teraflops(const RecordedRow& row) {
  if (!row.timing || !(row.timing->milliseconds.median > 0)) return std::nullopt;
  const std::optional<double> operations = row.point->operations();
  if (!operations) return std::nullopt;
  return *operations / row.timing->milliseconds.median * 1e-9;
}

std::string recording_json(const Recording& recording) {
  const RecordingHead& head = recording.head;
  Json json = {{"schema", kRecordingSchema},
               {"suite", head.suite},
               {"device",
                {{"name", head.device.name},
                 {"profile", head.device.profile},
                 {"sms", head.device.sms},
                 {"l2_bytes", head.device.l2_bytes},
                 {"memory_bytes", head.device.memory_bytes},
                 {"compute_capability", head.device.compute_capability}}},
               {"driver", head.driver},
               {"toolkit", head.toolkit},
               {"profiler", head.profiler},
               {"clocks_policy", head.clocks_policy},
               {"cache_control", head.cache_control},
               {"commit", head.commit}};
  json["metrics"] = Json::object();
  for (const auto& [label, metric] : head.metrics) json["metrics"][label] = metric;
  // One row a line: differences between recordings stay readable.
  std::string text = json_text(json, JsonLayout::kIndented);
  text.resize(text.rfind('\n'));
  text += ",\n  \"rows\": [";
  for (std::size_t i = 0; i < recording.rows.size(); ++i) {
    text += (i == 0 ? "\n    " : ",\n    ") + json_text(row_json(recording.rows[i]));
  }
  return text + "\n  ]\n}\n";
}

Recording parse_recording(std::string_view json, const std::string& where) {
  const Json root = parse_strict(json, where, kRecordingSchema);
  const StrictObject fields(root, where,
                            {"schema", "suite", "device", "driver", "toolkit", "profiler", "clocks_policy",
                             "cache_control", "commit", "metrics", "rows"});
  Recording recording;
  recording.head = parse_head(fields);
  std::set<std::string> keys;
  for (const Json& row : fields.array("rows")) {
    recording.rows.push_back(parse_row(row, where + ": row " + std::to_string(recording.rows.size())));
    for (const auto& [label, values] : recording.rows.back().counters) {
      if (!recording.head.metrics.contains(label)) {
        throw MalformedData(where + ": 'metrics'", "no '" + label + "'", "the metric of every counter");
      }
    }
    const std::string key = key_of(recording.rows.back().point);
    if (!keys.insert(key).second) throw MalformedData(where + ": 'rows'", key, "each point once");
  }
  return recording;
}

std::vector<KernelRun> kernel_runs_of(const Recording& recording) {
  std::vector<KernelRun> runs;
  if (recording.head.device.profile.empty()) return runs;
  for (const RecordedRow& row : recording.rows) {
    std::optional<KernelRun> run = row.point->kernel_run();
    if (!run || !row.timing) continue;
    run->device = recording.head.device.profile;
    run->ms = row.timing->milliseconds.median;
    run->min_ms = row.timing->milliseconds.smallest;
    run->max_ms = row.timing->milliseconds.largest;
    if (row.timing->rest_ms) run->rest_ms = row.timing->rest_ms;
    runs.push_back(*run);
  }
  return runs;
}

}  // namespace natten_sim::validate
