// Presets, devices and costs of a user's files.
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/io/msda_data.hpp>
#include <natten_sim/io/schedule_costs.hpp>

#include "fuzz/target.hpp"

void natten_sim::fuzz::read(std::string_view input) {
  using Add = void (*)(Catalog&, std::string_view, const std::string&);
  const Add adders[] = {add_presets, add_devices, add_kernel_times, add_schedule_costs,
                        [](Catalog&, std::string_view json, const std::string& where) {
                          (void)read_msda_configs(json, where);
                        }};
  bool accepted = false;
  for (const Add add : adders) {
    static const Catalog kShipped = builtin_catalog();
    Catalog catalog = kShipped;
    try {
      add(catalog, input, "input");
      accepted = true;
    } catch (const MalformedData&) {
      // Of another kind, or none.
    }
  }
  if (!accepted) throw MalformedData("input", "of no kind", "a catalog's file");
}
