#include <cmath>
#include <string>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/contention_data.hpp>

#include "catch.hpp"

namespace contention_profile_test {

using namespace natten_sim;

const Device& device_of(const std::string& name) {
  static const Catalog catalog = builtin_catalog();
  return catalog.device(name);
}

ContentionProfile profile_of(const std::string& name) { return contention_profile(device_of(name)); }

PreReductionCosts costs_of(const std::string& name) {
  const PreReductionCosts measured = measured_pre_reduction();
  return scaled_costs(measured, device_of(measured.device), device_of(name));
}

bool near(double a, double b, double tolerance) { return std::abs(a / b - 1) <= tolerance; }

TEST_CASE("a profile needs SMs, clock, DRAM, L2 and atomics, and names what is missing") {
  CHECK(missing_for_contention(device_of("h200")).empty());
  CHECK(missing_for_contention(device_of("a100")) == std::vector<std::string>{"atomics"});
  CHECK(missing_for_contention(device_of("gb10")) ==
        std::vector<std::string>{"l2_effective_bytes", "atomics"});
  CHECK(missing_for_contention(Device{.name = "none"}).size() == 5);
  CHECK_THROWS_AS(contention_profile(device_of("a100")), InvalidParameter);
  // The two A100 differ in their memory: 1,555 and 2,039 GB/s; a partition is half of 40 MiB.
  const ContentionProfile small = profile_of("a100-40gb");
  CHECK(near(small.dram_bytes_per_ns, 1555, 1e-12));
  CHECK(small.l2_bytes == 20.0 * 1024 * 1024);
  CHECK(device_of("a100").dram_bytes_per_s->value == 2039e9);
  CHECK(near(small.round_trip_ns, 891 / 1.41, 1e-12));
  CHECK(profile_of("h200").l2_bytes == 30723277);  // measured
}

TEST_CASE("pre-reduction costs are the published slowdowns over the updated elements") {
  const double elements = 4.0 * 300 * 8 * 4 * 4 * 4 * 32;
  CHECK(near(costs_of("a100-40gb").warp_ns, (5.56 - 1.75) * 1e6 / elements, 1e-6));
  CHECK(near(costs_of("a100-40gb").block_ns, (22.59 - 1.75) * 1e6 / elements, 1e-6));
  CHECK(near(costs_of("a100-40gb").sort_ns, (4.85 - 1.75) * 1e6 / elements, 1e-6));
  // A device with twice the SMs times clock takes half.
  Device twice = device_of("a100-40gb");
  twice.sms->value *= 2;
  CHECK(near(scaled_costs(measured_pre_reduction(), device_of("a100-40gb"), twice).sort_ns,
             costs_of("a100-40gb").sort_ns / 2, 1e-12));
}

}  // namespace contention_profile_test
