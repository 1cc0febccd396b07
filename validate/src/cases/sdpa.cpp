// Forward kernels that PyTorch's scaled_dot_product_attention calls: FlashAttention-2 and cuDNN. This program
// has neither: scripts/timing times them and counts what they read. The timed wavefront model predicts their times and DRAM reads.
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/attention_kernels.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/study/reuse.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>

namespace natten_sim::validate {
namespace {

constexpr const char* kSdpaKernel = "sdpa";

struct SdpaCase final : ForeignCase {
  KernelChoice implementation;  ///< of the catalog: "fa2", "cudnn"; or of a kernel file
  std::int64_t heads = 1;
  std::int64_t tokens = 0;
  std::int64_t head_dim = 128;
  Dtype dtype = Dtype::kBf16;
  bool causal = false;

  [[nodiscard]] std::string key() const override;
  [[nodiscard]] std::string group() const override;
  [[nodiscard]] std::vector<Parameter> parameters() const override;
  [[nodiscard]] std::vector<Prediction> predict(const Device& device, Fidelity fidelity) const override;
  [[nodiscard]] std::string measured_by() const override { return "scripts/timing"; }
  /// Two products, 2 operations a multiplication.
  [[nodiscard]] std::optional<double> operations() const override {
    const double pairs =
        static_cast<double>(tokens) * static_cast<double>(causal ? tokens + 1 : 2 * tokens) / 2;
    return 4 * pairs * static_cast<double>(head_dim * heads);
  }
};

const study::Context& sdpa_context() {
  static const study::Context made = study::default_context();
  return made;
}

Point read_sdpa(const StrictObject& fields) {
  SdpaCase point;
  point.implementation = parse_kernel_choice("implementation", fields.text("implementation"));
  if (!point.implementation.own) (void)sdpa_context().catalog.kernel(point.implementation.name);
  point.heads = fields.integer_or("heads", 1, {1, 1 << 16});
  point.tokens = fields.integer("tokens", {1, std::int64_t{1} << 24});
  point.head_dim = fields.integer_or("head_dim", 128, {16, 1024});
  point.dtype = parse_name<Dtype>(fields.text_or("dtype", "bf16"));
  point.causal = fields.boolean_or("causal", false);
  return point;
}

std::string SdpaCase::key() const {
  return "sdpa " + implementation.name + " h" + std::to_string(heads) + " s" + std::to_string(tokens) + " d" +
         std::to_string(head_dim) + " " + to_string(dtype) + (causal ? " causal" : " full");
}

std::string SdpaCase::group() const {
  return implementation.name + (causal ? " causal d" : " full d") + std::to_string(head_dim);
}

std::vector<Parameter> SdpaCase::parameters() const {
  return {{"kernel", kSdpaKernel}, {"implementation", to_string(implementation)}, {"heads", heads},  {"tokens", tokens},
          {"head_dim", head_dim},  {"dtype", to_string(dtype)},        {"causal", causal}};
}

std::vector<Prediction> SdpaCase::predict(const Device& device, Fidelity fidelity) const {
  study::Context context = sdpa_context();
  context.catalog.devices = {device};
  study::ReuseQuestion question;
  question.device = device.name;
  question.subject = study::launched_as_file({.seqlen = Extents{tokens},
                                              .causal = causal,
                                              .heads = heads,
                                              .head_dim = head_dim,
                                              .dtype = dtype,
                                              .kernel = implementation});
  const study::ReuseSectors sectors = study::reuse(question, context).results.front().first.sectors;
  std::vector<Prediction> predictions = {{"l2_read_sectors", "split-Q sectors, closed form",
                                          static_cast<double>(*sectors.q + *sectors.k + *sectors.v), false}};
  if (fidelity != Fidelity::kTimed) return predictions;
  question.method = study::TimedRun{};
  const study::ReuseResult timed = study::reuse(question, context).results.front().first;
  predictions.push_back({std::string(kLaunchTime), "timed wavefronts", timed.time_ns.value(), false});
  predictions.push_back(
      {"dram_read_bytes", "timed wavefronts", static_cast<double>(timed.dram_read_bytes.value()), false});
  return predictions;
}

}  // namespace

namespace cases {

CaseKind sdpa();
CaseKind sdpa() {
  return {kSdpaKernel, {"implementation", "heads", "tokens", "head_dim", "dtype", "causal"}, read_sdpa};
}

}  // namespace cases
}  // namespace natten_sim::validate
