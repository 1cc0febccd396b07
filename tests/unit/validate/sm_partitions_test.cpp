// Partitions of SMs from latencies that were made up with them, and noise.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <natten_sim/core/error.hpp>
#include <natten_sim/kernels/partitions/partitions.hpp>
#include <natten_sim/kernels/stream/stream.hpp>

#include "catch.hpp"

namespace sm_partitions_test {

using namespace natten_sim;
using namespace natten_sim::kernels;

class Random {
 public:
  /// 0 <= number < 1.
  double number() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

 private:
  std::uint64_t state_ = 20261121;
};

struct MadeUp {
  std::vector<std::int32_t> partition;
  std::vector<std::vector<double>> latencies;
};

/// Near 310 cycles, far `far`; what an address and an SM cost besides is up to 60 cycles each, noise up to
/// `noise`.
MadeUp made_up(std::size_t sms, std::size_t addresses, double far, double noise, Random& random) {
  MadeUp made;
  std::vector<double> address_cost;
  std::vector<int> home;
  for (std::size_t i = 0; i < addresses; ++i) {
    address_cost.push_back(60 * random.number());
    home.push_back(random.number() < 0.5 ? 0 : 1);
  }
  for (std::size_t sm = 0; sm < sms; ++sm) {
    made.partition.push_back(sm == 0 || random.number() < 0.5 ? 0 : 1);
    const double sm_cost = 60 * random.number();
    std::vector<double> row;
    for (std::size_t i = 0; i < addresses; ++i) {
      row.push_back((home[i] == made.partition.back() ? 310 : far) + address_cost[i] + sm_cost +
                    noise * random.number());
    }
    made.latencies.push_back(row);
  }
  return made;
}

TEST_CASE("each SM's partition is found under costs of addresses and SMs, and noise") {
  Random random;
  INFO("seed 20261121");
  for (int round = 0; round < 50; ++round) {
    const MadeUp made = made_up(20 + static_cast<std::size_t>(round), 256, 508, 50, random);
    const SmPartitions found = partitions_of(made.latencies);
    CHECK(found.partitions == 2);
    CHECK(found.partition == made.partition);
    CHECK(std::abs(found.far_cycles - found.near_cycles - 198) < 10);
    CHECK(found.near_cycles > 310);
    CHECK(found.near_cycles < 310 + 60 + 60 + 50);
  }
}

TEST_CASE("latencies that do not separate are of one partition") {
  Random random;
  // No distance at all; and one that is there, but less than 10% of near.
  for (const double far : {310.0, 325.0}) {
    const MadeUp made = made_up(132, 256, far, 5, random);
    const SmPartitions found = partitions_of(made.latencies);
    CHECK(found.partitions == 1);
    CHECK(found.partition == std::vector<std::int32_t>(132, 0));
    CHECK(found.near_cycles == found.far_cycles);
  }
  // All the same, to the last bit: nothing to correlate.
  const SmPartitions flat = partitions_of({{300, 300}, {300, 300}, {300, 300}});
  CHECK(flat.partitions == 1);
  CHECK(flat.near_cycles == 300);
  // One SM has nobody to be compared with.
  CHECK(partitions_of({{310, 508}}).partitions == 1);
  // An SM that is like neither side makes all of them doubtful.
  CHECK(partitions_of({{310, 508, 310, 508}, {508, 310, 508, 310}, {310, 310, 508, 508}}).partitions == 1);
}

TEST_CASE("two SMs and two addresses are enough when they are clear") {
  const SmPartitions found = partitions_of({{310, 508}, {508, 310}});
  CHECK(found.partitions == 2);
  CHECK(found.partition == std::vector<std::int32_t>{0, 1});
  CHECK(found.near_cycles == 310);
  CHECK(found.far_cycles == 508);
}

TEST_CASE("latencies that cannot be are refused") {
  const double none = std::numeric_limits<double>::quiet_NaN();
  using Rows = std::vector<std::vector<double>>;
  for (const Rows& rows :
       {Rows{}, Rows{{}}, Rows{{1, 2}, {1}}, Rows{{1, 0}}, Rows{{1, -1}}, Rows{{1, none}}}) {
    CHECK_THROWS_AS(partitions_of(rows), InvalidParameter);
  }
}

TEST_CASE("sums agree when as many CTAs as should have read have the sum, and the others 0") {
  CHECK(stream_sums_agree({7, 0, 7}, 7, 2));
  CHECK_FALSE(stream_sums_agree({7, 0, 7}, 7, 3));
  CHECK_FALSE(stream_sums_agree({7, 7, 7}, 7, 2));
  CHECK_FALSE(stream_sums_agree({7, 1, 7}, 7, 2));
  CHECK(stream_sums_agree({0, 0, 0}, 0, 2));
  CHECK_FALSE(stream_sums_agree({0, 1, 0}, 0, 2));
}

TEST_CASE("delays out of range are refused before there is a GPU") {
  CHECK_THROWS_AS(stream_delays({}), InvalidParameter);
  CHECK_THROWS_AS(stream_delays({0, -2}), InvalidParameter);
  CHECK_THROWS_AS(stream_delays({(1 << 24) + 1}), InvalidParameter);
}

}  // namespace sm_partitions_test
