#include <array>

#include <natten_sim/validate/measure/clocks.hpp>

#include "measure/shared_library.hpp"

namespace natten_sim::validate {
namespace {

// The few of NVML's declarations that are needed; its binary interface is stable, its header is not always
// there.
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlClockSm = 1;
constexpr int kNvmlClockMemory = 2;

}  // namespace

struct ClockReader::State {
  SharedLibrary library{"libnvidia-ml.so.1"};
  NvmlDevice device = nullptr;
  int (*initialize)() = nullptr;
  int (*shut_down)() = nullptr;
  int (*handle_by_pci_bus_id)(const char*, NvmlDevice*) = nullptr;
  int (*clock_info)(NvmlDevice, int, unsigned*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
};

ClockReader::ClockReader(const std::string& pci_bus_id) : state_(std::make_unique<State>()) {
  State& s = *state_;
  const bool complete = s.library.find("nvmlInit_v2", s.initialize) &&
                        s.library.find("nvmlShutdown", s.shut_down) &&
                        s.library.find("nvmlDeviceGetHandleByPciBusId_v2", s.handle_by_pci_bus_id) &&
                        s.library.find("nvmlDeviceGetClockInfo", s.clock_info) &&
                        s.library.find("nvmlSystemGetDriverVersion", s.driver_version);
  if (!complete || pci_bus_id.empty() || s.initialize() != kNvmlSuccess) return;
  if (s.handle_by_pci_bus_id(pci_bus_id.c_str(), &s.device) != kNvmlSuccess) {
    s.device = nullptr;
    (void)s.shut_down();
  }
}

ClockReader::~ClockReader() {
  if (state_->device != nullptr) state_->shut_down();
}

std::optional<Clocks> ClockReader::read() const {
  unsigned sm = 0, memory = 0;
  if (state_->device == nullptr || state_->clock_info(state_->device, kNvmlClockSm, &sm) != kNvmlSuccess ||
      state_->clock_info(state_->device, kNvmlClockMemory, &memory) != kNvmlSuccess) {
    return std::nullopt;
  }
  return Clocks{static_cast<int>(sm), static_cast<int>(memory)};
}

std::string ClockReader::driver_version() const {
  std::array<char, 96> text{};
  if (state_->device == nullptr || state_->driver_version(text.data(), text.size()) != kNvmlSuccess)
    return "unknown";
  return text.data();
}

}  // namespace natten_sim::validate
