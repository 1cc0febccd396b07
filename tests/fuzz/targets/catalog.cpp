// Presets, devices and costs of a user's files.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/io/schedule_costs.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::catalog {

struct Kind {
  std::string_view schema;
  void (*add)(Catalog&, std::string_view, const std::string&);
};

// Each of them refuses any other schema before it looks further, so only the one that an input names is
// tried.
constexpr Kind kKinds[] = {
    {"natten-sim.presets/", add_presets},
    {"natten-sim.devices/", add_devices},
    {"natten-sim.kernel-times/", add_kernel_times},
    {"natten-sim.schedule-costs/", add_schedule_costs},
    {"natten-sim.msda-configs/", [](Catalog&, std::string_view json, const std::string& where) {
       (void)read_msda_configs(json, where);
     }}};

void read(std::string_view input) {
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) {
    return input.find(each.schema) != std::string_view::npos;
  });
  if (kind == std::end(kKinds)) throw MalformedData("input", "of no kind", "a catalog's file");
  Catalog catalog = builtin_catalog();
  kind->add(catalog, input, "input");
}

const Target kTarget("catalog", read);

}  // namespace natten_sim::fuzz::catalog
