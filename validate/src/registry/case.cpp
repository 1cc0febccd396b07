#include <natten_sim/validate/cases/case.hpp>

#include <natten_sim/core/error.hpp>
#include <natten_sim/validate/measure/pace.hpp>

namespace natten_sim::validate {

std::optional<Point> Case::cyclic_partner() const { return std::nullopt; }

CtaPace Case::pace(Bench&) const {
  throw InvalidParameter("pace", key(), "a kernel that records when its CTAs work");
}

std::vector<Prediction> predict(const Point& point, const Device& device, Fidelity fidelity) {
  if (fidelity == Fidelity::kLru) throw InvalidParameter("fidelity", to_string(fidelity), "closed-form, timed");
  return point->predict(device, fidelity);
}

const kernels::SmPartitions& Bench::partitions() {
  if (!partitions_) partitions_ = kernels::sm_partitions(gpu_);
  return *partitions_;
}

kernels::L2Flusher& Bench::flusher() {
  if (!flusher_) flusher_.emplace(gpu_);
  return *flusher_;
}

Launch ForeignCase::prepare(Bench&, std::uint64_t) const {
  throw HardwareAbsent("the kernel of '" + key() + "' in this program", "it is measured by " + measured_by());
}

CheckedPoint ForeignCase::check(Bench&, std::uint64_t) const {
  CheckedPoint checked;
  checked.status = "measured by " + measured_by();
  return checked;
}

std::vector<Point> ForeignCase::to_check(CheckLengths) const { return {}; }

}  // namespace natten_sim::validate
