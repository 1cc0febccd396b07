// Streams that tell SMs apart: words, delays of SMs, and what the models say of them.
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/cases/stream.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/cases/case.hpp>
#include <natten_sim/validate/compare/suite.hpp>
#include <natten_sim/io/catalog.hpp>

#include "catch.hpp"

namespace stream_case_test {

using namespace natten_sim;
using namespace natten_sim::validate;
using Words = std::vector<std::string>;

StreamCase stream(const Words& words) {
  Words all = {"kernel=stream", "order=cyclic"};
  all.insert(all.end(), words.begin(), words.end());
  return *parse_point_words(all).as<StreamCase>();
}

TEST_CASE("keys and groups of streams name SMs only where they are told apart") {
  const StreamCase plain = stream({"buffer_mib=40", "passes=6", "step_cycles=1500"});
  CHECK(key_of(plain) == "stream 40 MiB x6 all SMs cyclic paced 1500");
  CHECK(group_of(plain) == "stream paced cyclic");
  // Defaults may be written out.
  CHECK(key_of(stream({"buffer_mib=40", "passes=6", "step_cycles=1500", "readers=all", "groups=together",
                       "lag_mib=0"})) == key_of(plain));
  const StreamCase one = stream({"buffer_mib=40", "passes=6", "step_cycles=1500", "readers=one-partition"});
  CHECK(key_of(one) == "stream 40 MiB x6 all SMs cyclic paced 1500, one partition");
  CHECK(group_of(one) == "stream paced cyclic, one partition");
  const Words lag = {"buffer_mib=128", "passes=1", "step_cycles=1500", "lag_mib=16"};
  Words mixed = lag, by_partition = lag;
  mixed.emplace_back("groups=mixed");
  by_partition.emplace_back("groups=by-partition");
  CHECK(key_of(stream(mixed)) == "stream 128 MiB x1 all SMs cyclic paced 1500, groups mixed 16 MiB apart");
  CHECK(group_of(stream(mixed)) == "stream paced cyclic, groups mixed");
  CHECK(key_of(stream(by_partition)) ==
        "stream 128 MiB x1 all SMs cyclic paced 1500, groups by partition 16 MiB apart");
}

TEST_CASE("streams that cannot be are refused") {
  const Words good = {"buffer_mib=8", "step_cycles=1500", "groups=mixed", "lag_mib=2"};
  CHECK(stream(good).lag_mib == 2);
  for (const Words& bad : std::vector<Words>{
           {"buffer_mib=8", "step_cycles=1500", "groups=mixed"},  // lags by nothing
           {"buffer_mib=8", "step_cycles=1500", "lag_mib=2"},     // nobody lags
           {"buffer_mib=8", "step_cycles=1500", "groups=mixed", "lag_mib=262145"},
           {"buffer_mib=8", "groups=mixed", "lag_mib=2"},  // full speed
           {"buffer_mib=8", "readers=one-partition"},      // full speed
           {"buffer_mib=8", "step_cycles=1500", "readers=one-partition", "ctas=7"},
           {"buffer_mib=8", "step_cycles=1500", "readers=one-partition", "groups=by-partition", "lag_mib=2"},
           {"buffer_mib=8", "step_cycles=1500", "groups=mixed", "lag_mib=two"}}) {
    CHECK_THROWS_AS(stream(bad), Error);
  }
  CHECK_THROWS_AS(stream({"buffer_mib=8", "step_cycles=1500", "readers=one-partitio"}), UnknownName);
  CHECK_THROWS_AS(stream({"buffer_mib=8", "step_cycles=1500", "groups=apart", "lag_mib=2"}), UnknownName);
}

TEST_CASE("idle SMs have no delay, and those that lag 64 steps a MiB") {
  const std::vector<std::int32_t> partition = {0, 1, 1, 0, 0, 1};
  const int idle = kernels::kStreamIdle;
  const Words paced = {"buffer_mib=8", "step_cycles=1500"};
  const auto delays = [&](const Words& more) {
    Words words = paced;
    words.insert(words.end(), more.begin(), more.end());
    return sm_delays(stream(words), partition);
  };
  using Delays = std::vector<std::int32_t>;
  CHECK(delays({}) == Delays{0, 0, 0, 0, 0, 0});
  CHECK(delays({"readers=one-partition"}) == Delays{0, idle, idle, 0, 0, idle});
  CHECK(delays({"groups=by-partition", "lag_mib=1"}) == Delays{0, 64, 64, 0, 0, 64});
  // Every other SM of each partition, counted within it.
  CHECK(delays({"groups=mixed", "lag_mib=1"}) == Delays{0, 0, 64, 64, 0, 0});
  CHECK(delays({"readers=one-partition", "groups=mixed", "lag_mib=1"}) == Delays{0, idle, idle, 64, 0, idle});
}

TEST_CASE("the model's groups are those of the SMs") {
  const std::vector<std::int32_t> partition = {0, 0, 1, 1};
  for (const Words& more : std::vector<Words>{{},
                                              {"readers=one-partition"},
                                              {"groups=by-partition", "lag_mib=3"},
                                              {"groups=mixed", "lag_mib=3"},
                                              {"readers=one-partition", "groups=mixed", "lag_mib=3"}}) {
    Words words = {"buffer_mib=8", "step_cycles=1500"};
    words.insert(words.end(), more.begin(), more.end());
    const StreamCase point = stream(words);
    const std::vector<std::int32_t> delays = sm_delays(point, partition);
    const std::vector<StreamReaders> groups = reading_groups(point, 2);
    std::size_t distinct = 0;
    for (std::size_t sm = 0; sm < delays.size(); ++sm) {
      if (delays[sm] == kernels::kStreamIdle) continue;
      bool first = true;
      for (std::size_t before = 0; before < sm; ++before)
        first = first && !(delays[before] == delays[sm] && partition[before] == partition[sm]);
      distinct += first ? 1 : 0;
      std::size_t found = 0;
      for (const StreamReaders& group : groups)
        found += group.partition == partition[sm] && group.lag_steps == delays[sm] ? 1 : 0;
      CHECK(found == 1);
    }
    CHECK(groups.size() == distinct);
  }
}

const Device& h200() {
  static const Catalog catalog = builtin_catalog();
  for (const Device& device : catalog.devices) {
    if (device.name == "h200") return device;
  }
  std::abort();
}

/// Value by counter; -1 when no model answers. No counter is answered twice.
double predicted(const StreamCase& point, const std::string& counter) {
  double value = -1;
  for (const Prediction& each : predict(point, h200())) {
    if (each.counter != counter) continue;
    CHECK(value == -1);
    value = each.value;
  }
  return value;
}

TEST_CASE(
    "between one capacity and two, SMs of one partition read the half at home with them in every pass") {
  const double bytes = 40 << 20;
  const StreamCase all = stream({"buffer_mib=40", "passes=6", "step_cycles=1500"});
  CHECK(predicted(all, "dram_read_bytes") == 6 * bytes);
  CHECK(predicted(all, "l2_fabric_sectors") == 6 * bytes / 32);
  const StreamCase one = stream({"buffer_mib=40", "passes=6", "step_cycles=1500", "readers=one-partition"});
  CHECK(predicted(one, "dram_read_bytes") == (1 + 5 / 2.0) * bytes);
  CHECK(predicted(one, "l2_fabric_sectors") == 6 * bytes / 2 / 32);
  CHECK(predicted(one, "l2_read_sectors") == 66.0 * 6 * bytes / 32);
}

TEST_CASE("groups that lag by 16 MiB lose each other mixed, and find each other one a partition") {
  const double bytes = 128 << 20;
  const Words lag = {"buffer_mib=128", "passes=1", "step_cycles=1500", "lag_mib=16"};
  Words mixed = lag, by_partition = lag;
  mixed.emplace_back("groups=mixed");
  by_partition.emplace_back("groups=by-partition");
  // Between two uses lie 32 MiB, 9% more than a partition holds: sets that do not overflow keep their share.
  CHECK(predicted(stream(mixed), "dram_read_bytes") > 1.5 * bytes);
  CHECK(predicted(stream(by_partition), "dram_read_bytes") == bytes);
  CHECK(predicted(stream(by_partition), "l2_read_sectors") == 132 * bytes / 32);
}

TEST_CASE(
    "the suite of partitions has both kinds of readers and groups, and each point has every prediction") {
  const Suite& suite = find_suite(builtin_suites(), "partitions");
  CHECK(suite.points.size() == 14 * 2 + 15 * 2);
  CHECK_FALSE(suite.timed);
  for (const Point& each : suite.points) {
    const auto& point = *each.as<StreamCase>();
    INFO(key_of(each));
    CHECK(predicted(point, "dram_read_bytes") >= static_cast<double>(point.buffer_mib << 20));
    CHECK(predicted(point, "l2_fabric_sectors") > 0);
    CHECK(predicted(point, "l2_read_sectors") > 0);
  }
}

TEST_CASE("a device without partitions in its profile has no prediction for SMs told apart") {
  Device device = h200();
  device.name = "unknown";
  device.l2.partitions.reset();
  const StreamCase one = stream({"buffer_mib=40", "step_cycles=1500", "readers=one-partition"});
  CHECK(predict(one, device).empty());
}

TEST_CASE("streams too long to be walked have no prediction rather than a long wait") {
  const StreamCase huge =
      stream({"buffer_mib=1048576", "passes=4096", "step_cycles=1", "readers=one-partition"});
  CHECK(predicted(huge, "dram_read_bytes") == -1);
}

}  // namespace stream_case_test
