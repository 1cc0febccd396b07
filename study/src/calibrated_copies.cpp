#include "calibrated_copies.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include <natten_sim/study/calibrate.hpp>

#include "copies.hpp"
#include "timed_kernel.hpp"

namespace natten_sim::study {
namespace {

/// Copies of equal tensors differ by up to 4% in one run (data/kernel-runs/natten-h100.csv).
constexpr double kLeastInterval = 0.05;
/// Of rates that nothing was held against, as of the costs of a lone run.
constexpr double kLoneInterval = 0.15;
/// NATTEN's own copies of Hunyuan Video take 2.1 ms on an H100, PyTorch's 5.4 to 5.8.
constexpr double kPytorchInterval = 0.62;

/// A timed copy of one run.
struct TimedCopy {
  PermutedTensor copy;
  double ms = 0;
};

std::optional<double> timed_ms(const KernelRun& run, std::string_view tensor) {
  if (tensor == "q") return run.perm_q_ms;
  if (tensor == "k") return run.perm_kv_ms;
  if (tensor == "o") return run.unperm_o_ms;
  return tensor == "lse" ? run.unperm_lse_ms : std::nullopt;
}

std::vector<TimedCopy> timed_copies(const KernelRun& run, const Context& context) {
  const TimeQuestion question = time_question(run);
  const TimedKernel kernel = timed_kernel(run.kernel, context.catalog.device(run.device), context.catalog);
  std::vector<TimedCopy> timed;
  if (kernel.dense || run.pass != Walk::kForward) return timed;
  for (const PermutedTensor& copy :
       token_permutation(question.mask, kernel.family, question.tiles, run.pass, question.sizes).copies) {
    if (const std::optional<double> ms = timed_ms(run, copy.name)) timed.push_back({copy, *ms});
  }
  return timed;
}

/// The geometric mean of rates.
class MeanRate {
 public:
  void add(const TimedCopy& timed, double launch_us) {
    const double moving_ms = std::max(timed.ms - 1e-3 * launch_us, 0.5 * timed.ms);
    const double bytes =
        static_cast<double>(timed.copy.bytes_read) + static_cast<double>(timed.copy.bytes_written);
    logarithms_ += std::log(1e3 * bytes / moving_ms);
    ++count_;
  }
  [[nodiscard]] std::optional<double> value() const {
    return count_ > 0 ? std::optional(std::exp(logarithms_ / count_)) : std::nullopt;
  }

 private:
  double logarithms_ = 0;
  int count_ = 0;
};

/// Runs on as many axes, whose copies are those of the same releases.
using Group = std::vector<std::vector<TimedCopy>>;

std::string copies_of(const KernelRun& run, const Catalog& catalog) {
  if (run.pytorch_copies) return "";
  const std::optional<std::string> version = run.natten.empty() ? std::nullopt : std::optional(run.natten);
  return catalog.natten_release(version).copies;
}

double interval_of(const Group& runs, const PermutationRate& rate, double launch_us) {
  if (rate.origin == CopyOrigin::kPytorch) return kPytorchInterval;
  if (runs.size() == 1) return kLoneInterval;
  double worst = kLeastInterval;
  for (const std::vector<TimedCopy>& copies : runs) {
    double measured_ms = 0, predicted_ms = 0;
    for (const TimedCopy& timed : copies) {
      measured_ms += timed.ms;
      predicted_ms += copy_ms(timed.copy, rate, launch_us);
    }
    worst = std::max(worst, std::abs(predicted_ms / measured_ms - 1));
  }
  return worst;
}

/// The log-sum-exp's rate over O's, as another device has it.
void borrow_lse(const Catalog& catalog, const std::string& device, PermutationRate& rate) {
  for (const KernelCosts& costs : catalog.kernel_costs) {
    if (costs.device == device) continue;
    for (const PermutationRate& known : costs.permutation) {
      if (known.axes != rate.axes || known.natten != rate.natten || !known.lse_bytes_per_s) continue;
      rate.lse_bytes_per_s = rate.out_bytes_per_s * *known.lse_bytes_per_s / known.out_bytes_per_s;
      rate.source += "; log-sum-exp against O as on " + costs.device;
      return;
    }
  }
}

std::optional<PermutationRate> rate_of(const Group& runs, PermutationRate rate, double launch_us,
                                       const std::string& device, const Catalog& catalog) {
  MeanRate into, out, lse;
  for (const std::vector<TimedCopy>& copies : runs) {
    for (const TimedCopy& timed : copies) {
      const bool is_lse = std::string_view(timed.copy.name) == "lse";
      (is_lse ? lse : timed.copy.into_tiles ? into : out).add(timed, launch_us);
    }
  }
  if (!into.value() || !out.value()) return std::nullopt;
  rate.into_bytes_per_s = *into.value();
  rate.out_bytes_per_s = *out.value();
  rate.lse_bytes_per_s = lse.value();
  rate.interval = interval_of(runs, rate, launch_us);
  if (!rate.lse_bytes_per_s && rate.origin == CopyOrigin::kMeasured) borrow_lse(catalog, device, rate);
  return rate;
}

}  // namespace

std::vector<PermutationRate> calibrated_copy_rates(const std::vector<KernelRun>& runs, double launch_us,
                                                   const std::string& source, const Context& context) {
  std::vector<PermutationRate> frames;
  std::vector<Group> groups;
  for (const KernelRun& run : runs) {
    std::vector<TimedCopy> copies = timed_copies(run, context);
    if (copies.empty()) continue;
    const auto axes = static_cast<std::int64_t>(run.input.rank());
    const std::string release = copies_of(run, context.catalog);
    auto frame = std::find_if(frames.begin(), frames.end(), [&](const PermutationRate& each) {
      return each.axes == axes && each.natten == release;
    });
    if (frame == frames.end()) {
      frame = frames.insert(frames.end(), {.axes = axes, .natten = release, .source = source});
      if (run.pytorch_copies) frame->origin = CopyOrigin::kPytorch;
      groups.emplace_back();
    }
    groups[static_cast<std::size_t>(frame - frames.begin())].push_back(std::move(copies));
  }
  std::vector<PermutationRate> rates;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (auto rate = rate_of(groups[i], frames[i], launch_us, runs.front().device, context.catalog))
      rates.push_back(*rate);
  }
  return rates;
}

void keep_copy_rates(const Catalog& catalog, KernelCosts& entry) {
  for (const KernelCosts& known : catalog.kernel_costs) {
    if (known.kernel != entry.kernel || known.device != entry.device) continue;
    for (const PermutationRate& rate : known.permutation) {
      const auto same = [&](const PermutationRate& own) {
        return own.axes == rate.axes && own.natten == rate.natten;
      };
      if (std::none_of(entry.permutation.begin(), entry.permutation.end(), same))
        entry.permutation.push_back(rate);
    }
  }
}

}  // namespace natten_sim::study
