// Streams in step in front of a partitioned L2: closed forms, and a walk written from the description.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/sim/reuse/partitioned_stream.hpp>

#include "catch.hpp"

namespace partitioned_stream_test {

using namespace natten_sim;

constexpr std::int64_t kSector = 32, kStep = 64;  // a step: one sector at home in each of two partitions
constexpr std::int64_t kCapacity = 300;           // steps that a partition holds
const L2Shape kTwo = {kCapacity * kStep, 2};

PartitionedStream stream_of(std::int64_t steps, std::int64_t passes, std::vector<StreamReaders> readers) {
  return {steps, kStep, passes, false, std::move(readers)};
}

/// DRAM and fabric bytes over the buffer.
std::pair<double, double> over_buffer(const PartitionedStream& stream) {
  const PartitionedStreamReads reads = read_in_step(stream, kSector, kTwo);
  const auto bytes = static_cast<double>(stream.steps * stream.step_bytes);
  return {static_cast<double>(reads.dram_bytes) / bytes, static_cast<double>(reads.fabric_bytes) / bytes};
}

TEST_CASE("SMs of all partitions in step lose a cyclic scan at one partition's capacity") {
  const std::vector<StreamReaders> all = {{0, 0}, {1, 0}};
  CHECK(over_buffer(stream_of(kCapacity, 6, all)) == std::pair{1.0, 1.0});
  // Past it each partition asks the other for its half in every pass, and home has lost it.
  CHECK(over_buffer(stream_of(kCapacity + 1, 6, all)) == std::pair{6.0, 6.0});
}

TEST_CASE("SMs of one partition find half of a cyclic scan at home in the other, up to twice the capacity") {
  for (const std::int32_t partition : {0, 1}) {
    const std::vector<StreamReaders> one = {{partition, 0}};
    CHECK(over_buffer(stream_of(kCapacity, 6, one)) == std::pair{1.0, 0.5});
    for (const std::int64_t steps : {kCapacity + 1, 3 * kCapacity / 2, 2 * kCapacity})
      CHECK(over_buffer(stream_of(steps, 6, one)) == std::pair{1 + 5 / 2.0, 6 / 2.0});
    CHECK(over_buffer(stream_of(2 * kCapacity + 2, 6, one)) == std::pair{6.0, 6 / 2.0});
  }
}

TEST_CASE(
    "mixed groups lose each other at half a partition's capacity, one group a partition at two thirds") {
  const std::int64_t steps = 10 * kCapacity;
  const auto lagging = [&](std::int64_t lag, bool mixed) {
    return over_buffer(stream_of(steps, 1,
                                 mixed ? std::vector<StreamReaders>{{0, 0}, {1, 0}, {0, lag}, {1, lag}}
                                       : std::vector<StreamReaders>{{0, 0}, {1, lag}}));
  };
  CHECK(lagging(kCapacity / 2 - 1, true) == std::pair{1.0, 1.0});
  CHECK(lagging(2 * kCapacity / 3 - 1, false) == std::pair{1.0, 1.0});
  // Past it only what is read while one group is alone is found. Mixed, L behind, x steps before the
  // leaders' end or after the laggards' start: L + x < C.
  const double buffer = static_cast<double>(steps), capacity = static_cast<double>(kCapacity);
  for (const std::int64_t lag : {kCapacity / 2 + 2, 2 * kCapacity / 3, kCapacity - 2, 2 * kCapacity}) {
    const double found = 2 * std::max(0.0, capacity - static_cast<double>(lag)) / buffer;
    const auto [dram, fabric] = lagging(lag, true);
    CHECK(std::abs(dram - (2 - found)) < 8 / buffer);
    CHECK(std::abs(fabric - (2 - found)) < 8 / buffer);
  }
  // One a partition: at the start L / 2 + x < C, at the end L + x / 2 < C.
  for (const std::int64_t lag : {2 * kCapacity / 3 + 2, 5 * kCapacity / 6, kCapacity, 3 * kCapacity / 2}) {
    const double l = static_cast<double>(lag);
    const double found = (capacity - l / 2 + std::max(0.0, 2 * (capacity - l))) / buffer;
    const auto [dram, fabric] = lagging(lag, false);
    INFO(lag << ": " << dram << ", " << 2 - found);
    CHECK(std::abs(dram - (2 - found)) < 8 / buffer);
    CHECK(fabric == 1);  // each partition asks for its half once
  }
}

/// The description, step by step: a list a partition, most recent first, of what it holds.
PartitionedStreamReads slow_walk(const PartitionedStream& stream, std::int64_t parts_held, int partitions) {
  using Part = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::deque<Part>> held(static_cast<std::size_t>(partitions));
  const auto look = [&](std::int64_t at, const Part& part) {
    std::deque<Part>& list = held[static_cast<std::size_t>(at)];
    const auto place = std::find(list.begin(), list.end(), part);
    const bool found = place != list.end();
    if (found) list.erase(place);
    list.push_front(part);
    if (static_cast<std::int64_t>(list.size()) > parts_held) list.pop_back();
    return found;
  };
  std::int64_t last_lag = 0;
  for (const StreamReaders& each : stream.readers) last_lag = std::max(last_lag, each.lag_steps);
  std::vector<std::int64_t> order;
  for (std::int64_t pass = 0; pass < stream.passes; ++pass) {
    for (std::int64_t i = 0; i < stream.steps; ++i)
      order.push_back(stream.sawtooth && pass % 2 == 1 ? stream.steps - 1 - i : i);
  }
  PartitionedStreamReads reads;
  const std::int64_t part_bytes = stream.step_bytes / partitions;
  for (std::int64_t now = 0; now < static_cast<std::int64_t>(order.size()) + last_lag; ++now) {
    for (const StreamReaders& each : stream.readers) {
      if (now < each.lag_steps || now - each.lag_steps >= static_cast<std::int64_t>(order.size())) continue;
      const std::int64_t step = order[static_cast<std::size_t>(now - each.lag_steps)];
      for (int home = 0; home < partitions; ++home) {
        if (look(each.partition, {step, home})) continue;
        if (home != each.partition) {
          reads.fabric_bytes += part_bytes;
          if (look(home, {step, home})) continue;
        }
        reads.dram_bytes += part_bytes;
      }
    }
  }
  return reads;
}

TEST_CASE("any groups, orders and partitions read what a walk written from the description reads") {
  std::uint64_t state = 20261122;
  INFO("seed 20261122");
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33) % below);
  };
  for (int round = 0; round < 300; ++round) {
    const std::int64_t partitions = 1 + random(3), held = 1 + random(60);
    PartitionedStream stream{1 + random(30), partitions * kSector, 1 + random(4), random(2) == 0, {}};
    for (std::int64_t readers = 1 + random(5); readers > 0; --readers) {
      stream.readers.push_back(
          {static_cast<std::int32_t>(random(static_cast<std::uint64_t>(partitions))), random(50)});
    }
    const PartitionedStreamReads expected = slow_walk(stream, held, static_cast<int>(partitions));
    const PartitionedStreamReads found =
        read_in_step(stream, kSector, {held * kSector, static_cast<std::int32_t>(partitions)});
    CHECK(found.dram_bytes == expected.dram_bytes);
    CHECK(found.fabric_bytes == expected.fabric_bytes);
  }
}

TEST_CASE("streams out of range are refused by name") {
  const PartitionedStream good = stream_of(4, 1, {{0, 0}});
  CHECK(read_in_step(good, kSector, kTwo).dram_bytes == 4 * kStep);
  const auto refused = [&](auto change, const L2Shape& shape = kTwo) {
    PartitionedStream bad = good;
    change(bad);
    CHECK_THROWS_AS(read_in_step(bad, kSector, shape), InvalidParameter);
  };
  refused([](PartitionedStream& s) { s.steps = 0; });
  refused([](PartitionedStream& s) { s.steps = (1 << 26) + 1; });
  refused([](PartitionedStream& s) { s.step_bytes = 0; });
  refused([](PartitionedStream& s) { s.step_bytes = kSector + 1; });
  refused([](PartitionedStream& s) { s.passes = 0; });
  refused([](PartitionedStream& s) { s.passes = std::int64_t{1} << 40; });
  refused([](PartitionedStream& s) { s.readers.clear(); });
  refused([](PartitionedStream& s) { s.readers[0].partition = 2; });
  refused([](PartitionedStream& s) { s.readers[0].partition = -1; });
  refused([](PartitionedStream& s) { s.readers[0].lag_steps = -1; });
  refused([](PartitionedStream&) {}, {kCapacity, 0});
  refused([](PartitionedStream&) {}, {-1, 2});
}

}  // namespace partitioned_stream_test
