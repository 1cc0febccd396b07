#include <natten_sim/core/device.hpp>
#include <natten_sim/core/error.hpp>

namespace natten_sim {

std::vector<DeviceNumber> known_numbers(const Device& device) {
  std::vector<DeviceNumber> numbers;
  for_each_number(device, [&](const char* name, const auto& number) {
    if (number)
      numbers.push_back({name, static_cast<double>(number->value), number->measured, number->source});
  });
  return numbers;
}

const MsdaKernel& msda_kernel(const Device& device, MsdaTiling tiling) {
  for (const MsdaKernel& kernel : device.msda_kernels) {
    if (kernel.tiling == tiling) return kernel;
  }
  throw InvalidParameter("device", "'" + device.name + "'",
                         std::string("a device with msda_kernels of ") + to_string(tiling) + " tiling");
}

}  // namespace natten_sim
