// Whether the measurements identify the constants of the timed model: one that is wrong by a stated factor
// must put some judged number outside of its tolerance.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/cases/attention.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>
#include <natten_sim/validate/record/recording.hpp>

#include "catch.hpp"

namespace {

using namespace natten_sim;
using namespace natten_sim::validate;

/// A measured launch that the model, as it is, has within the tolerance of its kind of mask.
struct Judged {
  AttentionCase point;
  study::TimedRun timed;
  double dram_bytes = 0;
  double tolerance = 0;
};

double deviation(const Judged& judged, const Device& device, const study::TimedRun& timed) {
  study::Context context;
  context.catalog.devices = {device};
  study::ReuseQuestion question = reuse_question(judged.point, device, timed);
  question.device = device.name;
  const auto answer = study::reuse(question, context).results.front().first;
  return std::abs(static_cast<double>(*answer.dram_read_bytes) / judged.dram_bytes - 1);
}

/// Tiles that a launch visits: what the simulation costs.
double work_of(const AttentionCase& point) {
  const double tokens = static_cast<double>(point.problem.tokens);
  return tokens * tokens * (point.problem.causal ? 0.5 : 1) * static_cast<double>(point.problem.heads) *
         static_cast<double>(point.problem.batch) /
         (static_cast<double>(point.variant.q_tile) * point.variant.kv_tile);
}

/// Such launches of the suites that count DRAM reads: long enough that something depends on time, short
/// enough that a test can simulate them.
std::vector<Judged> judged_launches(const Device& device) {
  constexpr double kMinWork = 3e5, kMaxWork = 1.7e6;
  std::vector<Judged> all;
  for (const Recording& recording :
       read_recordings(std::string(NATTEN_SIM_SOURCE_DIR) + "/data/recordings")) {
    const std::string& suite = recording.head.suite;
    if (suite != "reuse" && suite != "held-out" && suite != "fresh" && suite != "fresh-latency") continue;
    for (const RecordedRow& row : recording.rows) {
      const auto* point = row.point.as<AttentionCase>();
      const auto counter = row.counters.find("dram_read_bytes");
      if (point == nullptr || counter == row.counters.end() || work_of(*point) > kMaxWork ||
          work_of(*point) < kMinWork) {
        continue;
      }
      const auto timed = timed_run(device, point->problem, point->variant);
      if (!timed) continue;
      Judged judged{*point, *timed, counter->second.spread.median, point->problem.causal ? 0.25 : 0.1};
      if (deviation(judged, device, judged.timed) <= judged.tolerance) all.push_back(judged);
    }
  }
  return all;
}

struct Change {
  std::string name;
  std::function<void(Device&)> device = [](Device&) {};
  std::function<void(study::TimedRun&)> timed = [](study::TimedRun&) {};
};

std::vector<LaunchRun> runs_of(std::int32_t sms) {
  std::vector<LaunchRun> runs;
  for (std::int32_t first = 0; first < 132; first += sms)
    runs.push_back({std::min(sms, 132 - first), static_cast<std::int32_t>(runs.size() % 2)});
  return runs;
}

/// What DRAM takes beyond the L2.
void scale_dram_latencies(Device& device, double factor) {
  for (Known<double>* quantile : {&device.dram_tile_ns, &device.dram_tile_p90_ns, &device.dram_tile_p99_ns,
                                  &device.dram_tile_p999_ns}) {
    (*quantile)->value = device.l2_tile_ns->value + factor * ((*quantile)->value - device.l2_tile_ns->value);
  }
}

const std::vector<Change> kChanges = {
    {"effective capacity x 0.8",
     [](Device& d) { d.l2.effective_bytes->value = d.l2.effective_bytes->value * 4 / 5; }},
    {"effective capacity x 1.25",
     [](Device& d) { d.l2.effective_bytes->value = d.l2.effective_bytes->value * 5 / 4; }},
    {"8 ways, not 16", [](Device& d) { d.l2.ways->value = 8; }},
    {"one partition",
     [](Device& d) {
       d.l2.partitions->value = 1, d.launch_runs->value = {{132, 0}};
     }},
    {"runs of 16 SMs that alternate", [](Device& d) { d.launch_runs->value = runs_of(16); }},
    {"runs of 22 SMs", [](Device& d) { d.launch_runs->value = runs_of(22); }},
    {"runs of 66 SMs", [](Device& d) { d.launch_runs->value = runs_of(66); }},
    {"L2 hits at a third", [](Device& d) { d.l2.hit_bytes_per_s->value /= 3; }},
    {"L2 misses at a third", [](Device& d) { d.l2.miss_bytes_per_s->value /= 3; }},
    {"no jitter", {}, [](study::TimedRun& t) { t.jitter = 0; }},
    {"jitter x 4", {}, [](study::TimedRun& t) { t.jitter = std::min(0.5, 4 * t.pace->jitter); }},
    {"CTAs of an SM alike", {}, [](study::TimedRun& t) { t.pace->slot_skew = 0; }},
    {"a CTA alone has the whole SM", {}, [](study::TimedRun& t) { t.pace->lone_share = 1; }},
    {"tiles take half the time", {}, [](study::TimedRun& t) { t.pace->pairs_per_ns *= 2; }},
    {"32 ways, not 16", [](Device& d) { d.l2.ways->value = 32; }},
    {"DRAM at half", [](Device& d) { d.dram_bytes_per_s->value /= 2; }},
    {"a stage more", {}, [](study::TimedRun& t) { ++*t.stages; }},
    {"DRAM as near as the L2", [](Device& d) { scale_dram_latencies(d, 0); }},
    {"DRAM half again as far", [](Device& d) { scale_dram_latencies(d, 1.5); }},
    {"DRAM always as near as its median",
     [](Device& d) {
       d.dram_tile_p90_ns->value = d.dram_tile_p99_ns->value = d.dram_tile_p999_ns->value =
           d.dram_tile_ns->value;
     }},
    {"all GPCs with one clock",
     [](Device& d) {
       for (LaunchRun& run : d.launch_runs->value) run.slowness = 0;
     }},
    {"clocks of GPCs four times as far apart",
     [](Device& d) {
       for (LaunchRun& run : d.launch_runs->value) run.slowness *= 4;
     }},
    {"tiles arrive as on an idle GPU", {}, [](study::TimedRun& t) { t.pace->arrival_ns = 0; }},
    {"scores take a quarter of a tile", {}, [](study::TimedRun& t) { t.pace->score_share = 0.25; }},
    {"scores take three quarters", {}, [](study::TimedRun& t) { t.pace->score_share = 0.75; }},
};

/// Whether one of the launches leaves its tolerance.
bool noticed(const std::vector<Judged>& launches, const Device& device, const Change& change) {
  Device changed = device;
  if (change.device) change.device(changed);
  return std::any_of(launches.begin(), launches.end(), [&](const Judged& judged) {
    study::TimedRun timed = judged.timed;
    if (change.timed) change.timed(timed);
    return deviation(judged, changed, timed) > judged.tolerance;
  });
}

TEST_CASE("a constant of the timed model that is wrong by a stated factor is noticed") {
  const Catalog catalog = builtin_catalog();
  const Device& h200 = catalog.device("h200");
  const std::vector<Judged> launches = judged_launches(h200);
  REQUIRE(launches.size() >= 40);
  for (const Change& change : kChanges) {
    INFO(change.name);
    CHECK(noticed(launches, h200, change));
  }
}

}  // namespace
