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
#include "noticed.hpp"
#include "shipped_recordings.hpp"

namespace identified_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using test::Notice;

constexpr double kTolerance = 0.25;  // of causal launches

/// A measured launch, which the model, as it is, misses by `as_is`.
struct Judged {
  AttentionCase point;
  study::TimedRun timed;
  double dram_bytes = 0;
  double as_is = 0;
  bool waits = false;  ///< of one stage, far beyond the capacity
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

/// Of launches with a causal mask, of the suites that count DRAM reads, every third: long enough that
/// something depends on time, short enough that a test can simulate them. With `some`, every 24th. And the
/// launches of one stage far beyond the capacity, which wait for DRAM, whatever the model misses them by;
/// with `some`, the shorter ones.
std::vector<Judged> judged_launches(const Device& device, bool some) {
  constexpr double kMinWork = 3e5, kMaxWork = 1.1e6;
  const double kMaxWaiting = some ? 1.2e6 : 1.7e6;
  const int kEvery = some ? 24 : 3;
  std::vector<Judged> all;
  int place = 0;
  for (const Recording& recording : test::shipped_recordings()) {
    const std::string& suite = recording.head.suite;
    const bool waiting = suite == "fresh-clocks";
    if (!waiting && suite != "reuse" && suite != "held-out" && suite != "fresh" && suite != "fresh-latency")
      continue;
    for (const RecordedRow& row : recording.rows) {
      const auto* point = row.point.as<AttentionCase>();
      const auto counter = row.counters.find("dram_read_bytes");
      if (point == nullptr || counter == row.counters.end() || !point->problem.causal) continue;
      const double work = work_of(*point);
      if (waiting ? point->variant.stages != 1 || work < kMaxWork || work > kMaxWaiting
                  : work < kMinWork || work > kMaxWork) {
        continue;
      }
      const auto timed = timed_run(device, point->problem, point->variant);
      if (!timed || (!waiting && place++ % kEvery != 0)) continue;
      Judged judged{*point, *timed, counter->second.spread.median};
      judged.waits = waiting;
      judged.as_is = deviation(judged, device, judged.timed);
      if (waiting || judged.as_is <= kTolerance) all.push_back(judged);
    }
  }
  return all;
}

struct Change {
  std::string name;
  std::function<void(Device&)> device;
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

/// Numbers of the device. Nothing here notices DRAM at half its bandwidth, GPCs that all have one clock or
/// four times as different ones, a 90% quantile of DRAM's latency that is that of 99%, or one of 99% that is
/// that of 90%: the model comes no further from what was measured, or closer.
const std::vector<Change> kOfDevice = {
    {"effective capacity x 0.8",
     [](Device& d) { d.l2.effective_bytes->value = d.l2.effective_bytes->value * 4 / 5; }},
    {"effective capacity x 1.25",
     [](Device& d) { d.l2.effective_bytes->value = d.l2.effective_bytes->value * 5 / 4; }},
    {"8 ways, not 16", [](Device& d) { d.l2.ways->value = 8; }},
    {"32 ways, not 16", [](Device& d) { d.l2.ways->value = 32; }},
    {"one partition",
     [](Device& d) {
       d.l2.partitions->value = 1, d.launch_runs->value = {{132, 0}};
     }},
    {"runs of 16 SMs that alternate", [](Device& d) { d.launch_runs->value = runs_of(16); }},
    {"runs of 22 SMs", [](Device& d) { d.launch_runs->value = runs_of(22); }},
    {"runs of 66 SMs", [](Device& d) { d.launch_runs->value = runs_of(66); }},
    {"L2 hits at a third", [](Device& d) { d.l2.hit_bytes_per_s->value /= 3; }},
    {"L2 misses at a third", [](Device& d) { d.l2.miss_bytes_per_s->value /= 3; }},
    {"DRAM at a quarter", [](Device& d) { d.dram_bytes_per_s->value /= 4; }},
    {"DRAM at twice its bandwidth", [](Device& d) { d.dram_bytes_per_s->value *= 2; }},
    {"clocks of GPCs sixteen times as far apart",
     [](Device& d) {
       for (LaunchRun& run : d.launch_runs->value) run.slowness *= 16;
     }},
    {"DRAM as near as the L2", [](Device& d) { scale_dram_latencies(d, 0); }},
    {"DRAM half again as far", [](Device& d) { scale_dram_latencies(d, 1.5); }},
    {"DRAM always as near as its median",
     [](Device& d) {
       d.dram_tile_p90_ns->value = d.dram_tile_p99_ns->value = d.dram_tile_p999_ns->value =
           d.dram_tile_ns->value;
     }},
    {"a tile from the L2 takes twice as long", [](Device& d) { d.l2_tile_ns->value *= 2; }},
    {"90% of tiles from DRAM take no longer than the median",
     [](Device& d) { d.dram_tile_p90_ns->value = d.dram_tile_ns->value; }},
    {"one tile in a hundred takes what one in a thousand does",
     [](Device& d) { d.dram_tile_p99_ns->value = d.dram_tile_p999_ns->value; }},
    {"one tile in a thousand takes no longer than one in a hundred",
     [](Device& d) { d.dram_tile_p999_ns->value = d.dram_tile_p99_ns->value; }},
    {"one tile in a thousand takes twice as long", [](Device& d) { d.dram_tile_p999_ns->value *= 2; }},
};

/// Numbers of a kernel's pace. Nothing here notices a CTA alone that has the whole SM, or CTAs of an SM that
/// differ four times as much.
const std::vector<Change> kOfPace = {
    {"no jitter", [](Device&) {}, [](study::TimedRun& t) { t.jitter = 0; }},
    {"jitter x 4", [](Device&) {}, [](study::TimedRun& t) { t.jitter = std::min(0.5, 4 * t.pace->jitter); }},
    {"items alike", [](Device&) {}, [](study::TimedRun& t) { t.pace->item_jitter = 0; }},
    {"jitter of items x 4", [](Device&) {},
     [](study::TimedRun& t) { t.pace->item_jitter = std::min(0.5, 4 * t.pace->item_jitter); }},
    {"CTAs of an SM alike", [](Device&) {}, [](study::TimedRun& t) { t.pace->slot_skew = 0; }},
    {"a CTA alone has half of the SM", [](Device&) {}, [](study::TimedRun& t) { t.pace->lone_share = 0.5; }},
    {"tiles take half the time", [](Device&) {}, [](study::TimedRun& t) { t.pace->pairs_per_ns *= 2; }},
    {"a stage more", [](Device&) {}, [](study::TimedRun& t) { ++*t.stages; }},
    {"tiles arrive as on an idle GPU", [](Device&) {}, [](study::TimedRun& t) { t.pace->arrival_ns = 0; }},
    {"tiles arrive twice as late", [](Device&) {}, [](study::TimedRun& t) { t.pace->arrival_ns *= 2; }},
    {"scores take a quarter of a tile", [](Device&) {},
     [](study::TimedRun& t) { t.pace->score_share = 0.25; }},
    {"scores take three quarters", [](Device&) {}, [](study::TimedRun& t) { t.pace->score_share = 0.75; }},
};

const std::vector<Change> kNothing = {
    {"effective capacity x 1.001",
     [](Device& d) { d.l2.effective_bytes->value = d.l2.effective_bytes->value * 1001 / 1000; }},
    {"DRAM faster by a thousandth", [](Device& d) { d.dram_bytes_per_s->value *= 1.001; }},
    {"tiles faster by a thousandth", [](Device&) {},
     [](study::TimedRun& t) { t.pace->pairs_per_ns *= 1.001; }},
    {"another seed", [](Device&) {}, [](study::TimedRun& t) { t.seed = 2; }},
};

/// What a change does to launches near the onset of the causal explosion and to those that wait for DRAM.
struct Seen {
  // Three times what seeds and thousandths raise them by.
  Notice onset{0.01}, waiting{0.02};
  [[nodiscard]] bool certain() const { return onset.certain() || waiting.certain(); }
  [[nodiscard]] bool noticed() const { return onset.noticed() || waiting.noticed(); }
};

Seen seen(const std::vector<Judged>& launches, const Device& device, const Change& change) {
  Device changed = device;
  change.device(changed);
  Seen seen;
  for (const Judged& judged : launches) {
    if (seen.certain()) break;
    study::TimedRun timed = judged.timed;
    change.timed(timed);
    (judged.waits ? seen.waiting : seen.onset)
        .add(judged.as_is, deviation(judged, changed, timed), kTolerance);
  }
  return seen;
}

void check_noticed(const std::vector<Change>& changes, bool expected, bool some = false) {
  const Catalog catalog = builtin_catalog();
  const Device& h200 = catalog.device("h200");
  const std::vector<Judged> launches = judged_launches(h200, some);
  REQUIRE(launches.size() >= (some ? 4 : 30));
  for (const Change& change : changes) {
    const Seen what = seen(launches, h200, change);
    INFO(change.name << ": " << what.onset.left() << " launches and " << what.onset.mean_rise()
                     << " in the mean, of those that wait " << what.waiting.left() << " and "
                     << what.waiting.mean_rise());
    CHECK(what.noticed() == expected);
  }
}

TEST_CASE(
    "some constants of the timed model that are wrong are noticed, one that is off by a thousandth is not") {
  check_noticed({kOfDevice[0], kOfPace[6]}, true, true);
  check_noticed({kNothing[0]}, false, true);
}

TEST_CASE("a constant of the timed model that is wrong by a stated factor is noticed: of the device",
          "[.nightly][long]") {
  check_noticed(kOfDevice, true);
}

TEST_CASE("a constant of the timed model that is wrong by a stated factor is noticed: of a kernel's pace",
          "[.nightly][long]") {
  check_noticed(kOfPace, true);
}

TEST_CASE("a constant of the timed model that is off by a thousandth is not noticed, nor is another seed",
          "[.nightly][long]") {
  check_noticed(kNothing, false);
}

}  // namespace identified_test
