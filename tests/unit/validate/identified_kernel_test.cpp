// Whether what PyTorch's FlashAttention-2 reads and how long it takes identify its profile in
// data/attention-kernels.json.
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"
#include "noticed.hpp"
#include "shipped_recordings.hpp"

namespace identified_kernel_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using test::Notice;

/// A launch of `sdpa-reads` and `sdpa-times`.
struct Judged {
  study::AttentionSubject subject;
  double dram_bytes = 0, time_ns = 0;
  [[nodiscard]] bool causal() const { return std::get<bool>(subject.causal); }
};

/// How much the model misses a launch.
struct Deviation {
  double reads = 0, time = 0;
};

template <typename T>
T parameter(const Point& point, const std::string& name) {
  for (const Parameter& each : point->parameters()) {
    if (each.name == name) return std::get<T>(each.value);
  }
  FAIL("no parameter " << name);
  return {};
}

constexpr double kMostPairs = 2e10, kFewPairs = 5e9;

/// Those beyond the capacity, or near it, that have so few pairs of tokens that a test can simulate them.
std::vector<Judged> judged_launches(double most_pairs) {
  constexpr std::int64_t kMinTokens = 65536, kMaxTokens = 131072;
  std::map<std::string, Judged> launches;
  for (const Recording& recording : test::shipped_recordings()) {
    if (recording.head.suite != "sdpa-reads" && recording.head.suite != "sdpa-times") continue;
    for (const RecordedRow& row : recording.rows) {
      if (parameter<std::string>(row.point, "implementation") != "fa2") continue;
      const auto tokens = parameter<std::int64_t>(row.point, "tokens");
      const auto heads = parameter<std::int64_t>(row.point, "heads");
      const bool causal = parameter<bool>(row.point, "causal");
      const auto length = static_cast<double>(tokens);
      const double work = length * length * static_cast<double>(heads) * (causal ? 0.5 : 1);
      if (tokens < kMinTokens || tokens > kMaxTokens || work > most_pairs) continue;
      Judged& judged = launches[key_of(row.point)];
      judged.subject = study::AttentionSubject{.seqlen = Extents{tokens},
                                               .causal = causal,
                                               .heads = heads,
                                               .head_dim = parameter<std::int64_t>(row.point, "head_dim"),
                                               .dtype = Dtype::kBf16,
                                               .kernel = "fa2"};
      if (const auto counter = row.counters.find("dram_read_bytes"); counter != row.counters.end())
        judged.dram_bytes = counter->second.spread.median;
      if (row.timing) judged.time_ns = row.timing->milliseconds.median * 1e6;
    }
  }
  std::vector<Judged> all;
  for (const auto& [key, judged] : launches) all.push_back(judged);
  return all;
}

Deviation deviation(const Judged& judged, const Catalog& catalog) {
  study::Context context;
  context.catalog = catalog;
  study::ReuseQuestion question;
  question.device = "h200";
  question.subject = judged.subject;
  question.method = study::TimedRun{};
  const study::ReuseResult result = study::reuse(question, context).results.front().first;
  return {std::abs(static_cast<double>(result.dram_read_bytes.value()) / judged.dram_bytes - 1),
          std::abs(result.time_ns.value() / judged.time_ns - 1)};
}

/// Launches and what the model, as it is, misses them by.
struct Baseline {
  std::vector<Judged> launches;
  std::vector<Deviation> as_is;
};

Baseline baseline(double most_pairs) {
  Baseline made{judged_launches(most_pairs), {}};
  for (const Judged& each : made.launches) made.as_is.push_back(deviation(each, builtin_catalog()));
  return made;
}

struct Seen {
  Notice reads{0.02}, times{0.02};
  [[nodiscard]] bool noticed() const { return reads.noticed() || times.noticed(); }
};

Seen seen(const Baseline& baseline, const Catalog& changed) {
  constexpr double kTimeTolerance = 0.12;
  Seen seen;
  for (std::size_t i = 0; i < baseline.launches.size(); ++i) {
    if (seen.reads.certain() || seen.times.certain()) break;
    const Judged& judged = baseline.launches[i];
    const Deviation now = deviation(judged, changed), before = baseline.as_is[i];
    const double tolerance = judged.causal() ? 0.25 : 0.1;
    seen.reads.add(before.reads, now.reads, tolerance);
    seen.times.add(before.time, now.time, kTimeTolerance);
  }
  return seen;
}

struct Change {
  std::string name;
  std::function<void(KernelRate&)> rate;
};

Catalog with(const Change& change) {
  Catalog catalog = builtin_catalog();
  for (AttentionKernel& kernel : catalog.kernels) {
    if (kernel.name != "fa2") continue;
    for (KernelRate& rate : kernel.rates) change.rate(rate);
  }
  return catalog;
}

/// Not among them, since nothing here notices: tiles that all take the same time or vary ten times as much,
/// CTAs of an SM that are alike, a CTA alone that has the whole SM, tiles that arrive as on an idle GPU or
/// twice as late, two or three stages.
const std::vector<Change> kChanges = {
    {"a quarter faster", [](KernelRate& r) { r.flops_per_s *= 1.25; }},
    {"a fifth slower", [](KernelRate& r) { r.flops_per_s *= 0.8; }},
    {"a CTA alone has half of the SM", [](KernelRate& r) { r.lone_share = 0.5; }},
    {"CTAs of an SM differ by a quarter", [](KernelRate& r) { r.slot_skew = 0.24; }},
    {"scores take 15% of a tile", [](KernelRate& r) { r.score_share = 0.15; }},
    {"scores take 85% of a tile", [](KernelRate& r) { r.score_share = 0.85; }},
    {"tiles arrive four times as late", [](KernelRate& r) { r.arrival_ns *= 4; }},
};

TEST_CASE(
    "of short launches of FlashAttention-2 a rate a quarter too fast is noticed, one a thousandth is not") {
  const Baseline launches = baseline(kFewPairs);
  REQUIRE(launches.launches.size() >= 2);
  CHECK(seen(launches, with(kChanges[0])).noticed());
  CHECK_FALSE(
      seen(launches, with({"a thousandth faster", [](KernelRate& r) { r.flops_per_s *= 1.001; }})).noticed());
}

TEST_CASE("a constant of the timed model that is wrong by a stated factor is noticed: of FlashAttention-2",
          "[.nightly][long]") {
  const Baseline launches = baseline(kMostPairs);
  REQUIRE(launches.launches.size() >= 12);
  for (const Change& change : kChanges) {
    INFO(change.name);
    const Seen what = seen(launches, with(change));
    CHECK(what.noticed());
  }
}

TEST_CASE("a constant of the timed model that is off by a thousandth is not noticed: of FlashAttention-2",
          "[.nightly][long]") {
  const Baseline launches = baseline(kMostPairs);
  const Seen faster =
      seen(launches, with({"a thousandth faster", [](KernelRate& r) { r.flops_per_s *= 1.001; }}));
  INFO(faster.reads.left() << " launches, mean rise " << faster.reads.mean_rise());
  CHECK_FALSE(faster.noticed());
}

}  // namespace identified_kernel_test
