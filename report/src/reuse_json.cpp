#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <natten_sim/report/csv.hpp>
#include <natten_sim/report/described.hpp>
#include <natten_sim/report/reuse_report.hpp>

#include "reuse_numbers.hpp"

namespace natten_sim::report {
namespace {

using study::AttentionSubject;
using study::ReuseAnswer;
using study::ReuseComparison;
using study::ReuseQuestion;
using study::ReuseResult;

/// A result of an answer, and what it is compared with.
struct ReuseTold {
  const ReuseQuestion* question;
  const ReuseComparison* comparison;

  [[nodiscard]] const ReuseResult& first() const { return comparison->first; }
};

/// The other order of a comparison.
struct ReuseOther {
  const ReuseQuestion* question;
  const ReuseComparison* comparison;

  [[nodiscard]] const ReuseResult& second() const { return *comparison->second; }
};

std::optional<ReuseOther> other_of(const ReuseTold& told) {
  return told.comparison->second ? std::optional(ReuseOther{told.question, told.comparison}) : std::nullopt;
}

/// By how much less of a quantity the second result has.
template <typename Quantity>
auto reduction_of(Quantity quantity) {
  return [=](const ReuseOther& told) {
    return reduction(std::invoke(quantity, told.comparison->first), std::invoke(quantity, told.second()));
  };
}

/// All lengths of an answer.
struct AllReuse {
  bool sweep;
  std::vector<ReuseTold> lengths;
};

AllReuse told_by(const ReuseAnswer& answer) {
  AllReuse all{sweep_of(answer) != nullptr, {}};
  for (const ReuseComparison& comparison : answer.results)
    all.lengths.push_back({&answer.question, &comparison});
  return all;
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

/// Members of one result. `of`: a member of it, in the value that is described.
template <typename Members, typename OfResult>
void put_reuse(Members& m, const OfResult& of) {
  using R = ReuseResult;
  using T = typename Members::Value;
  m.object("sectors", "32-byte sectors that are loaded from the L2", [=](auto& sectors) {
    using S = decltype(R::sectors);
    sectors.put("q", of(&R::sectors, &S::q), "Of Q; null: not told apart");
    sectors.put("k", of(&R::sectors, &S::k), "Of K; null: not told apart");
    sectors.put("v", of(&R::sectors, &S::v), "Of V; null: not told apart");
    sectors.put("o", of(&R::sectors, &S::o), "Of O; null: not told apart");
    sectors.put("total", of(&R::sectors, &S::total), "Of all");
  });
  m.put("cold_sectors", of(&R::cold_sectors), "Sectors that are touched for the first time");
  m.put("miss_sectors", of(&R::miss_sectors), "Sectors that miss the L2; null: no cache is named");
  m.put("hit_rate", of(&R::hit_rate), "Share of loaded sectors that hit, 0..1; null: no cache is named");
  m.put("dram_read_bytes", of(&R::dram_read_bytes), "Read from DRAM; null: no cache is named");
  m.put("dram_write_bytes", of(&R::dram_write_bytes), "Written to DRAM; null: not told");
  m.put("effective_capacity_bytes", path(&T::question, &ReuseQuestion::capacity_bytes),
        "Capacity that the cache is taken to have; null: no cache is named");
  m.put("first_noncompulsory_seqlen", of(&R::first_noncompulsory_seqlen),
        "Shortest length with misses beyond the first touch; null: not told");
  m.object("stack_distance", "Bytes touched between two uses of a sector", [=](auto& distance) {
    distance.put("mean_bytes", of(&R::mean_distance_bytes), "Mean over all uses; null: not asked");
    distance.put("histogram", of(&R::histogram), "Uses by distance", [](auto& bucket) {
      bucket.put("upto_bytes", &ReuseProfile::Point::bytes, "Largest distance of the bucket");
      bucket.put("count", &ReuseProfile::Point::count, "Uses in it");
    });
  });
  m.put("order", of(&walked_order), "Order that was walked; trace: that of a file");
  m.optional("time_ns", of(&R::time_ns), "Simulated time");
  m.optional("miss_ratio_standard_error", of(&R::miss_ratio_standard_error),
             "Standard error of the miss ratio, of a sample");
}

template <typename Members>
void describe(Members& m, Of<ReuseTold>) {
  put_reuse(m, [](auto... members) { return path(&ReuseTold::first, members...); });
  m.optional("compare", other_of, "The same for the other order");
}

template <typename Members>
void describe(Members& m, Of<ReuseOther>) {
  put_reuse(m, [](auto... members) { return path(&ReuseOther::second, members...); });
  m.object("reduction", "Share by which the other order has less", [](auto& less) {
    less.put("miss_sectors", reduction_of(&ReuseResult::miss_sectors), "Of misses; null: there are none");
    less.put("noncompulsory_miss_sectors", reduction_of(&noncompulsory),
             "Of misses beyond the first touch; null: there are none");
    less.put("dram_read_bytes", reduction_of(&ReuseResult::dram_read_bytes), "Of reads from DRAM");
  });
}

template <typename Members>
void describe(Members& m, Of<AllReuse>) {
  m.include([](const AllReuse& all) { return all.sweep ? nullptr : &all.lengths.front(); });
  m.when(&AllReuse::sweep, [](auto& sweep) {
    sweep.put("sweep", &AllReuse::lengths, "The answer for each length", [](auto& length) {
      length.put("seqlen", path(&ReuseTold::comparison, &ReuseComparison::seqlen), "Tokens of the sequence");
      length.include([](const ReuseTold& told) { return told; });
    });
  });
}

Json reuse_result(const ReuseAnswer& answer) { return json_of(told_by(answer)); }

Json reuse_schema() { return schema_of<AllReuse>(); }

Rows reuse_rows(const ReuseAnswer& answer, const Json& input) {
  const bool sweep = sweep_of(answer) != nullptr;
  std::vector<Json> rows;
  for (const ReuseComparison& comparison : answer.results) {
    Json row = input;
    if (sweep) row["seqlen"] = nullable(comparison.seqlen);
    Json fields = json_of(ReuseTold{&answer.question, &comparison});
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
