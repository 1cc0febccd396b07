#pragma once

#include <memory>
#include <optional>
#include <string>

namespace natten_sim::validate {

/// Clocks as the driver's management library reports them (NVML, loaded at run time). They are read, never
/// set.
struct Clocks {
  int sm_mhz = 0;
  int memory_mhz = 0;
};

class ClockReader {
 public:
  /// Reads the GPU at that PCI address ("0000:1b:00.0"), because NVML does not number GPUs as CUDA does.
  /// Without NVML every answer is empty.
  explicit ClockReader(const std::string& pci_bus_id);
  ~ClockReader();
  ClockReader(const ClockReader&) = delete;
  ClockReader& operator=(const ClockReader&) = delete;

  [[nodiscard]] std::optional<Clocks> read() const;
  [[nodiscard]] std::string driver_version() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace natten_sim::validate
