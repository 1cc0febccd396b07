#pragma once

#include <optional>
#include <vector>

#include <natten_sim/core/attention_kernel.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/setting.hpp>

namespace natten_sim::study {

/// A context whose catalog has the kernels of files that a question names, by their names: in the list of kernels, for
/// schedules if the file describes a backward pass, and for times. A kernel of a file replaces one of its name with all
/// that was measured of that one. Its times are those of the rates that its file calls measured, as calibrate() fits
/// them, else physical: from the instructions of its tiles, as FlexAttention issues them on the architecture.
///
/// Every question with a KernelChoice begins with one of these. Nothing is copied where no kernel is of a file, or the
/// context has it already.
class WithKernels {
 public:
  WithKernels(const Context& context, const std::vector<KernelChoice>& choices);
  WithKernels(const Context& context, const KernelChoice& choice) : WithKernels(context, std::vector{choice}) {}
  WithKernels(const Context& context, const std::optional<KernelChoice>& choice)
      : WithKernels(context, choice ? std::vector{*choice} : std::vector<KernelChoice>{}) {}

  [[nodiscard]] const Context& get() const { return own_ ? *own_ : given_; }

 private:
  void add(const KernelChoice& choice);

  const Context& given_;
  std::optional<Context> own_;
};

/// Tiles of the backward pass of a file's kernel, of a full mask if it tells masks apart; none: it describes no such pass.
[[nodiscard]] std::optional<TileTokens> backward_tokens(const AttentionKernel& kernel, std::int64_t head_dim);

/// The element type of who says none: that of a kernel file which names one, else kDefaultDtype.
[[nodiscard]] inline Dtype default_dtype(const std::optional<KernelChoice>& kernel) {
  return kernel && kernel->own ? kernel->own->dtype.value_or(kDefaultDtype) : kDefaultDtype;
}

/// The kernel of a file that the catalog has by this name; null: it has none, or one that ships.
[[nodiscard]] const AttentionKernel* kernel_of_file(const Catalog& catalog, std::string_view name);

}  // namespace natten_sim::study
