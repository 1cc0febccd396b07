// Counters in a build without CUDA's headers: none, and why.
#include <natten_sim/validate/measure/range_profiler.hpp>

namespace natten_sim::validate {

struct MetricCatalog::State {};
struct RangeProfiler::State {
  std::string chip;
};

MetricCatalog::MetricCatalog() = default;
MetricCatalog::~MetricCatalog() = default;
RangeProfiler::RangeProfiler() = default;
RangeProfiler::~RangeProfiler() = default;

std::unique_ptr<MetricCatalog> MetricCatalog::open(const std::string&, std::string& reason) {
  reason = "this natten-sim was built without CUDA's headers";
  return nullptr;
}
std::unique_ptr<RangeProfiler> RangeProfiler::open(int, const std::vector<std::string>&,
                                                   std::string& reason) {
  reason = "this natten-sim was built without CUDA's headers";
  return nullptr;
}
std::string RangeProfiler::chip_name(int, std::string& reason) {
  reason = "this natten-sim was built without CUDA's headers";
  return "";
}
bool MetricCatalog::has(const std::string&) const { return false; }
std::optional<std::size_t> MetricCatalog::passes(const std::vector<std::string>&) const {
  return std::nullopt;
}
const std::string& RangeProfiler::chip() const noexcept { return state_->chip; }
unsigned RangeProfiler::version() const noexcept { return 0; }
std::vector<double> RangeProfiler::measure(const std::function<void()>&) { return {}; }

}  // namespace natten_sim::validate
