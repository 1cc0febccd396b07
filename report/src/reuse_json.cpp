#include <utility>

#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/reuse_report.hpp>

#include "reuse_numbers.hpp"

namespace natten_sim::report {
namespace {

using study::AttentionSubject;
using study::ReuseAnswer;
using study::ReuseComparison;
using study::ReuseQuestion;
using study::ReuseResult;

Json histogram_json(const std::vector<ReuseProfile::Point>& histogram) {
  Json buckets = Json::array();
  for (const ReuseProfile::Point& bucket : histogram)
    buckets.push_back({{"upto_bytes", bucket.bytes}, {"count", bucket.count}});
  return buckets;
}

Json result_fields(const ReuseQuestion& question, const ReuseResult& result) {
  Json fields;
  fields["sectors"] = {{"q", nullable(result.sectors.q)},
                       {"k", nullable(result.sectors.k)},
                       {"v", nullable(result.sectors.v)},
                       {"o", nullable(result.sectors.o)},
                       {"total", result.sectors.total}};
  fields["cold_sectors"] = result.cold_sectors;
  fields["miss_sectors"] = nullable(result.miss_sectors);
  fields["hit_rate"] = nullable(result.hit_rate);
  fields["dram_read_bytes"] = nullable(result.dram_read_bytes);
  fields["dram_write_bytes"] = nullable(result.dram_write_bytes);
  fields["effective_capacity_bytes"] = nullable(question.capacity_bytes);
  fields["first_noncompulsory_seqlen"] = nullable(result.first_noncompulsory_seqlen);
  fields["stack_distance"] = {{"mean_bytes", nullable(result.mean_distance_bytes)},
                              {"histogram", histogram_json(result.histogram)}};
  fields["order"] = walked_order(result);
  if (result.time_ns) fields["time_ns"] = *result.time_ns;
  if (result.miss_ratio_standard_error)
    fields["miss_ratio_standard_error"] = *result.miss_ratio_standard_error;
  return fields;
}

Json comparison_fields(const ReuseQuestion& question, const ReuseComparison& comparison) {
  const ReuseResult& first = comparison.first;
  Json fields = result_fields(question, first);
  if (!comparison.second) return fields;
  const ReuseResult& second = *comparison.second;
  Json compare = result_fields(question, second);
  compare["reduction"] = {
      {"miss_sectors", nullable(reduction(first.miss_sectors, second.miss_sectors))},
      {"noncompulsory_miss_sectors", nullable(reduction(noncompulsory(first), noncompulsory(second)))},
      {"dram_read_bytes", nullable(reduction(first.dram_read_bytes, second.dram_read_bytes))}};
  fields["compare"] = compare;
  return fields;
}

std::string points_csv(const ReuseAnswer& answer, const char* bytes, const char* count,
                       std::vector<ReuseProfile::Point> ReuseResult::*points) {
  std::vector<Json> rows;
  const auto add = [&](const ReuseResult& result) {
    for (const ReuseProfile::Point& point : result.*points)
      rows.push_back({{"order", walked_order(result)}, {bytes, point.bytes}, {count, point.count}});
  };
  const ReuseComparison& comparison = answer.results.front();
  add(comparison.first);
  if (comparison.second) add(*comparison.second);
  return csv_table({{"order", nullptr}, {bytes, nullptr}, {count, nullptr}}, rows);
}

}  // namespace

Json reuse_result(const ReuseAnswer& answer) {
  if (sweep_of(answer) == nullptr) return comparison_fields(answer.question, answer.results.front());
  Json rows = Json::array();
  for (const ReuseComparison& comparison : answer.results) {
    Json row = {{"seqlen", nullable(comparison.seqlen)}};
    row.update(comparison_fields(answer.question, comparison));
    rows.push_back(row);
  }
  return {{"sweep", rows}};
}

Rows reuse_rows(const ReuseAnswer& answer, const Json& input) {
  const bool sweep = sweep_of(answer) != nullptr;
  std::vector<Json> rows;
  for (const ReuseComparison& comparison : answer.results) {
    Json row = input;
    if (sweep) row["seqlen"] = nullable(comparison.seqlen);
    Json fields = comparison_fields(answer.question, comparison);
    fields["stack_distance"].erase("histogram");  // has a table of its own
    if (fields.contains("compare")) fields["compare"]["stack_distance"].erase("histogram");
    for (const char* same : {"order", "compare"}) {
      if (!row.contains(same)) continue;
      Json asked = row[same];  // a new member may move the others
      row["input_" + std::string(same)] = std::move(asked);
      row.erase(same);
    }
    row.update(flattened(fields));
    rows.push_back(flattened(row));
  }
  return {rows.front(), rows, {"seqlen", "order", "sectors_total", "miss_sectors", "hit_rate", "dram_read_bytes", "compare_order", "compare_miss_sectors"}};
}

std::string reuse_histogram_csv(const ReuseAnswer& answer) {
  return points_csv(answer, "upto_bytes", "count", &ReuseResult::histogram);
}

std::string reuse_curve_csv(const ReuseAnswer& answer) {
  return points_csv(answer, "capacity_bytes", "miss_sectors", &ReuseResult::curve);
}

}  // namespace natten_sim::report
