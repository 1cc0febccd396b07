#include "device_context.hpp"

namespace natten_sim::validate {

study::Context context_on(const Device& device) {
  study::Context context = study::default_context();
  for (Device& each : context.catalog.devices) {
    if (each.name == device.name) each = device;
  }
  return context;
}

}  // namespace natten_sim::validate
