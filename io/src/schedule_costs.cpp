#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/io/schedule_costs.hpp>
#include <natten_sim/io/strict_object.hpp>

#include "embedded_data.hpp"

namespace natten_sim {
namespace {

constexpr const char* kCostsSchema = "natten-sim.schedule-costs/1";

constexpr NumberField<TaskCosts> kTaskCosts[] = {
    {"compute_us", &TaskCosts::compute_us},   {"compute_partial_us", &TaskCosts::compute_partial_us},
    {"prologue_us", &TaskCosts::prologue_us}, {"epilogue_us", &TaskCosts::epilogue_us},
    {"reduce_us", &TaskCosts::reduce_us},     {"turn_us", &TaskCosts::turn_us},
    {"handoff_us", &TaskCosts::handoff_us},   {"reduce_kv_us", &TaskCosts::reduce_kv_us},
    {"crowding", &TaskCosts::crowding}};

// 0 where a file does not have them, and then not written either.
constexpr NumberField<TaskCosts> kMoreTaskCosts[] = {{"draw_us", &TaskCosts::draw_us},
                                                     {"ordered_chain_us", &TaskCosts::ordered_chain_us},
                                                     {"l2_misses", &TaskCosts::l2_misses},
                                                     {"l2_kept", &TaskCosts::l2_kept}};

constexpr NumberField<ScheduleCostSet> kCallCosts[] = {
    {"launch_us", &ScheduleCostSet::launch_us},
    {"ordered_launch_us", &ScheduleCostSet::ordered_launch_us},
    {"other_bytes_per_s", &ScheduleCostSet::other_bytes_per_s},
    {"slowdown", &ScheduleCostSet::slowdown},
    {"slowdown_ms", &ScheduleCostSet::slowdown_ms}};

constexpr double kMostCost = 1e15;  // a rate in bytes a second is the largest

template <typename Target, std::size_t kCount>
void read_numbers(const StrictObject& fields, const NumberField<Target> (&list)[kCount], Target& target) {
  fields.numbers(list, target);
  for (const NumberField<Target>& field : list) {
    if (!(target.*field.member >= 0 && target.*field.member <= kMostCost))
      fields.fail(field.key, "0 to 1e15");
  }
}

template <typename Target, std::size_t kCount>
void read_optional(const StrictObject& fields, const NumberField<Target> (&list)[kCount], Target& target) {
  for (const NumberField<Target>& field : list) {
    if (!fields.has(field.key)) continue;
    target.*field.member = fields.number(field.key);
    if (!(target.*field.member >= 0 && target.*field.member <= kMostCost))
      fields.fail(field.key, "0 to 1e15");
  }
}

TaskCosts read_tasks(const Json& entry, const std::string& where) {
  const StrictObject fields(
      entry, where,
      keys_of(kTaskCosts, {"masks", "q_tile", "kv_tile", "draw_us", "ordered_chain_us", "l2_misses", "l2_kept"}));
  TaskCosts costs;
  for (const std::string& name : fields.texts("masks")) costs.masks.push_back(parse_name<MaskClass>(name));
  costs.q_tile = fields.integer("q_tile", {1, 1 << 20});
  costs.kv_tile = fields.integer("kv_tile", {1, 1 << 20});
  read_numbers(fields, kTaskCosts, costs);
  read_optional(fields, kMoreTaskCosts, costs);
  if (!(costs.compute_us > 0)) fields.fail("compute_us", "a positive time");
  return costs;
}

ScheduleCostEvidence read_fit(const StrictObject& fields) {
  ScheduleCostEvidence fit;
  fit.points = fields.integer("points", {0, 1'000'000});
  fit.parameters = fields.integer("parameters", {0, 1000});
  fit.rms_error = fields.number("rms_error");
  fit.fitted_to = fields.text("fitted_to");
  for (const Json& length : fields.array("lengths"))
    fit.lengths.push_back(fields.integer_in(length, "lengths", {1, std::int64_t{1} << 40}));
  for (const std::string& name : fields.texts("masks")) fit.masks.push_back(parse_name<MaskClass>(name));
  fit.tokens_in_all = fields.integer("tokens_in_all", {1, std::int64_t{1} << 40});
  fit.hidden = fields.integer("hidden", {1, std::int64_t{1} << 40});
  fit.assumed = fields.text("assumed");
  fit.validity = fields.text("validity");
  if (fields.has("held_out_error")) fit.held_out_error = fields.number("held_out_error");
  fit.source = fields.text("source");
  return fit;
}

/// A row of `judged` or `times`: mask, algorithm, tokens, heads, heads per KV head, predicted and measured milliseconds.
JudgedTime read_judged(const StrictObject& fields, const char* key, const Json& row) {
  constexpr IntegerRange kSize{1, std::int64_t{1} << 40};
  if (!row.is_array() || row.size() != 7 || !row[0].is_string() || !row[1].is_string() || !row[5].is_number() ||
      !row[6].is_number())
    fields.fail(key, "rows of a mask, an algorithm, three sizes and two times");
  JudgedTime judged{row[0].get<std::string>(),
                    row[1].get<std::string>(),
                    fields.integer_in(row[2], key, kSize),
                    fields.integer_in(row[3], key, kSize),
                    fields.integer_in(row[4], key, kSize),
                    row[5].get<double>(),
                    row[6].get<double>()};
  if (!(judged.predicted_ms > 0 && judged.measured_ms > 0)) fields.fail(key, "positive times");
  return judged;
}

std::vector<JudgedTime> read_judged_rows(const StrictObject& fields, const char* key) {
  std::vector<JudgedTime> rows;
  if (!fields.has(key)) return rows;
  for (const Json& row : fields.array(key)) rows.push_back(read_judged(fields, key, row));
  return rows;
}

Json judged_rows(const std::vector<JudgedTime>& judged) {
  Json rows = Json::array();
  for (const JudgedTime& each : judged)
    rows.push_back({each.mask, each.algorithm, each.tokens, each.heads, each.heads_per_kv_head, each.predicted_ms,
                    each.measured_ms});
  return rows;
}

template <typename Target, std::size_t kCount>
void put_numbers(const NumberField<Target> (&list)[kCount], const Target& from, Json& to) {
  for (const NumberField<Target>& field : list) to[field.key] = from.*field.member;
}

template <typename Target, std::size_t kCount>
void put_optional(const NumberField<Target> (&list)[kCount], const Target& from, Json& to) {
  for (const NumberField<Target>& field : list) {
    if (from.*field.member != 0) to[field.key] = from.*field.member;
  }
}

}  // namespace

void add_schedule_costs(Catalog& catalog, std::string_view json, const std::string& where) {
  const Json document = parse_strict(json, where, kCostsSchema);
  const StrictObject fields(
      document, where,
      keys_of(kCallCosts, {"schema", "name", "kernel", "device", "head_dim", "dtypes", "ctas_per_sm",
                           "writer_stages", "tasks", "fit", "judged"}));
  ScheduleCostSet costs;
  costs.name = fields.text("name");
  costs.kernel = fields.text("kernel");
  costs.device = fields.text("device");
  costs.head_dim = fields.integer("head_dim", {1, 1 << 16});
  costs.ctas_per_sm = static_cast<std::int32_t>(fields.integer("ctas_per_sm", {1, 32}));
  costs.writer_stages = static_cast<std::int32_t>(fields.integer("writer_stages", {0, 64}));
  try {
    for (const std::string& name : fields.texts("dtypes")) costs.dtypes.push_back(parse_name<Dtype>(name));
    for (const Json& entry : fields.array("tasks")) costs.tasks.push_back(read_tasks(entry, where));
  } catch (const UnknownName& error) {
    throw MalformedData(where, error.what(), "names of element types and of masks");
  }
  if (costs.tasks.empty()) fields.fail("tasks", "costs of one tile shape or more");
  read_numbers(fields, kCallCosts, costs);
  if (!(costs.other_bytes_per_s > 0)) fields.fail("other_bytes_per_s", "a positive rate");
  if (!(costs.slowdown_ms > 0)) fields.fail("slowdown_ms", "a positive time");
  try {
    costs.fit = read_fit(
        fields.object("fit", {"points", "parameters", "rms_error", "fitted_to", "lengths", "masks",
                              "tokens_in_all", "hidden", "assumed", "validity", "held_out_error", "source"}));
  } catch (const UnknownName& error) {
    throw MalformedData(where, error.what(), "names of masks");
  }
  costs.judged = read_judged_rows(fields, "judged");
  catalog.schedule_costs.insert(catalog.schedule_costs.begin(), std::move(costs));
}

Json to_json(const ScheduleCostSet& costs) {
  Json object = {{"schema", kCostsSchema}, {"name", costs.name},         {"kernel", costs.kernel},
                 {"device", costs.device}, {"head_dim", costs.head_dim}, {"dtypes", Json::array()}};
  for (const Dtype dtype : costs.dtypes) object["dtypes"].push_back(to_string(dtype));
  object["ctas_per_sm"] = costs.ctas_per_sm;
  object["writer_stages"] = costs.writer_stages;
  object["tasks"] = Json::array();
  for (const TaskCosts& tasks : costs.tasks) {
    Json entry = {{"masks", Json::array()}, {"q_tile", tasks.q_tile}, {"kv_tile", tasks.kv_tile}};
    for (const MaskClass mask : tasks.masks) entry["masks"].push_back(to_string(mask));
    put_numbers(kTaskCosts, tasks, entry);
    put_optional(kMoreTaskCosts, tasks, entry);
    object["tasks"].push_back(std::move(entry));
  }
  put_numbers(kCallCosts, costs, object);
  const ScheduleCostEvidence& fit = costs.fit;
  object["fit"] = {{"points", fit.points},
                   {"parameters", fit.parameters},
                   {"rms_error", fit.rms_error},
                   {"fitted_to", fit.fitted_to},
                   {"lengths", fit.lengths}};
  object["fit"]["masks"] = Json::array();
  for (const MaskClass mask : fit.masks) object["fit"]["masks"].push_back(to_string(mask));
  object["fit"]["tokens_in_all"] = fit.tokens_in_all;
  object["fit"]["hidden"] = fit.hidden;
  object["fit"]["assumed"] = fit.assumed;
  object["fit"]["validity"] = fit.validity;
  object["fit"]["held_out_error"] = fit.held_out_error ? Json(*fit.held_out_error) : Json();
  object["fit"]["source"] = fit.source;
  if (!costs.judged.empty()) object["judged"] = judged_rows(costs.judged);
  return object;
}

std::vector<JudgedTime> left_out_times(const ScheduleCostSet& costs) {
  const std::string where = "data/left-out-times.json";
  const Json document = parse_strict(embedded::left_out_times, where, "natten-sim.left-out-times/1");
  for (const Json& entry : StrictObject(document, where, {"schema", "source", "sets"}).array("sets")) {
    const StrictObject set(entry, where, {"costs", "times"});
    if (set.text("costs") == costs.name && builtin_catalog().schedule_cost_set(costs.name) == costs)
      return read_judged_rows(set, "times");
  }
  return {};
}

}  // namespace natten_sim
