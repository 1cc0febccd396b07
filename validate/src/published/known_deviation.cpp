#include "published/known_deviation.hpp"

#include <algorithm>

namespace natten_sim::validate {
namespace {

template <typename T>
bool listed(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

template <typename T>
bool covers_fact(const std::vector<T>& list, const std::optional<T>& fact) {
  return list.empty() || (fact && listed(list, *fact));
}

template <Named E>
std::vector<E> named_values(const StrictObject& fields, const char* key) {
  std::vector<E> values;
  if (!fields.has(key)) return values;
  for (const std::string& name : fields.texts(key)) values.push_back(parse_name<E>(name, key));
  return values;
}

std::vector<std::string> texts_or_none(const StrictObject& fields, const char* key) {
  return fields.has(key) ? fields.texts(key) : std::vector<std::string>();
}

}  // namespace

bool KnownDeviation::covers(const std::string& table, const MsdaFacts& facts, double ratio) const {
  return listed(tables, table) && covers_fact(devices, facts.device) && covers_fact(configs, facts.config) &&
         covers_fact(backends, facts.backend) && covers_fact(columns, facts.column) &&
         covers_fact(dtypes, facts.dtype) && covers_fact(tilings, facts.tiling) &&
         covers_fact(phases, facts.phase) && lowest <= ratio && ratio <= highest;
}

KnownDeviation read_known_deviation(const Json& entry, const std::string& where) {
  const StrictObject fields(entry, where,
                            {"tables", "devices", "configs", "backends", "columns", "dtypes", "tilings",
                             "phases", "ratio", "reason"});
  KnownDeviation known;
  known.tables = fields.texts("tables");
  known.devices = texts_or_none(fields, "devices");
  known.configs = texts_or_none(fields, "configs");
  known.backends = texts_or_none(fields, "backends");
  known.columns = texts_or_none(fields, "columns");
  known.dtypes = named_values<Dtype>(fields, "dtypes");
  known.tilings = named_values<MsdaTiling>(fields, "tilings");
  known.phases = named_values<MsdaPhase>(fields, "phases");
  const Json& ratio = fields.array("ratio");
  if (ratio.size() != 2 || !ratio[0].is_number() || !ratio[1].is_number() || ratio[0] > ratio[1])
    fields.fail("ratio", "the lowest and the highest ratio, two numbers");
  known.lowest = ratio[0].get<double>();
  known.highest = ratio[1].get<double>();
  known.reason = fields.text("reason");
  return known;
}

}  // namespace natten_sim::validate
