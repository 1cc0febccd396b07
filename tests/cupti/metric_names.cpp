// Every metric of the counter table exists on the chips that the table names, and on no other of those it
// speaks of; the counters of each suite can be read in one pass. Asks CUPTI's host half: needs libcupti, no
// GPU.
#include <cstdio>
#include <string>
#include <vector>

#include <natten_sim/validate/measure/counters.hpp>
#include <natten_sim/validate/measure/range_profiler.hpp>
#include <natten_sim/validate/compare/suite.hpp>

int main() {
  using namespace natten_sim::validate;
  int failures = 0;
  const auto expect = [&](bool holds, const std::string& claim) {
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "FAILED: %s\n", claim.c_str());
  };
  for (const std::string_view chip_name : counter_chips()) {
    const std::string chip(chip_name);
    std::string reason;
    const auto catalog = MetricCatalog::open(chip, reason);
    if (catalog == nullptr) {
      std::fprintf(stderr, "skipped: %s: %s\n", chip.c_str(), reason.c_str());
      return 77;
    }
    for (const CounterSpec& spec : counter_table()) {
      const std::string metric(spec.metric);
      const bool exists = catalog->has(metric) && catalog->passes({metric}).has_value();
      expect(exists == exists_on(spec, chip),
             chip + (exists ? " has " : " lacks ") + metric + ", unlike the table");
    }
    expect(!catalog->has("l1tex__no_such_metric.sum"), chip + " has no invented metric");
    expect(!catalog->passes({"l1tex__no_such_metric.sum"}).has_value(), chip + " reads no invented metric");
    for (const Suite& suite : builtin_suites()) {
      if (suite.counters.empty()) continue;
      std::vector<std::string> metrics;
      for (const CounterSpec* spec : counters_on(suite.counters, chip)) metrics.emplace_back(spec->metric);
      for (const std::string& label : suite.counters) {
        // A chip with one L2 partition has no fabric between partitions.
        expect(counter_on(label, chip) != nullptr || label == "l2_fabric_sectors",
               chip + " has " + label + " of '" + suite.name + "'");
      }
      // A GA100 counts reductions and atomics of the L1 in two passes: msda suites record times only there.
      const std::size_t passes = chip == "GA100" && suite.name.starts_with("msda") ? 2 : 1;
      expect(catalog->passes(metrics) == passes,
             chip + " reads the counters of '" + suite.name + "' in " + std::to_string(passes) + " pass(es)");
    }
  }
  std::printf("%zu counters on %zu chips: %d failures\n", counter_table().size(), counter_chips().size(),
              failures);
  return failures == 0 ? 0 : 1;
}
