#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/study/explain.hpp>

namespace natten_sim::study {

/// What a family's name and grid tell of one launch.
struct Recognised {
  ExplainedProblem problem;
  std::vector<KnownMember> known;
  /// Q tiles of one head, by the grid: the length is at most that many tiles, and more than one less.
  std::optional<std::int64_t> q_tiles;
  bool whole_q_tiles = false;                 ///< the name says that the last Q tile is not cut
  std::optional<std::int64_t> head_dim_upto;  ///< the name has head dims rounded up
  /// Q is loaded again for each KV tile, not kept on chip.
  bool reloads_q = false;
  std::optional<std::string> unmodelled;
  LaunchOrder launch_order = LaunchOrder::kTilesFirst;
};

/// What a family's launches have in common, whatever their names tell: axes of the grid, and the walk. An
/// axis of heads alone has those of all batches.
struct FamilyLaunch {
  std::optional<std::size_t> q_tiles, heads, batch;
  KvOrder order = KvOrder::kCyclic;
  bool reloads_q = false;
};

/// Attention kernels with one way to write their names. To add one: a file in families/ and its row in
/// families.cpp.
struct Family {
  const char* name;
  const char* title;
  const char* catalog_kernel;  ///< whose speed is known by this name; null: none
  /// `plain` is plain_name() of the launch's. Not of this family: nothing.
  std::optional<Recognised> (*recognise)(const ProfiledKernel& launch, std::string_view plain);
  /// Part of its kernels' names, cut or mangled; null: not known by it.
  const char* part = nullptr;
  std::optional<FamilyLaunch> launch = {};  ///< none: cannot be told without a name
};
/// What a kernel file tells of a launch: its tiles are those of the head dim that is given, or of its only one.
[[nodiscard]] Recognised recognise_kernel(const AttentionKernel& kernel, const ProfiledKernel& launch,
                                          const ExplainedProblem& given);
/// What the family's grid and walk tell of a launch whose name tells nothing more.
[[nodiscard]] Recognised recognise_launch(const FamilyLaunch& family, const ProfiledKernel& launch);

[[nodiscard]] const std::vector<Family>& families();

/// Sets a member and how it is known.
template <typename T>
void tell(Recognised& found, std::optional<T> ExplainedProblem::*member, const T& value, const char* option,
          KnownFrom from) {
  found.problem.*member = value;
  found.known.push_back({option, from});
}
/// The same of a value that may be absent.
template <typename T>
void tell(Recognised& found, std::optional<T> ExplainedProblem::*member, const std::optional<T>& value,
          const char* option, KnownFrom from) {
  if (value) tell(found, member, *value, option, from);
}
void tell_tiles(Recognised& found, std::int64_t q_tile, std::int64_t kv_tile, KnownFrom from);
void tell_walk(Recognised& found, CtaSchedule schedule, KvOrder order);
/// "cutlass::bfloat16_t", "bf16", "half", "f16": the element type in a text; none: it names none.
[[nodiscard]] std::optional<Dtype> dtype_in(std::string_view text);

// families/
[[nodiscard]] std::optional<Recognised> recognise_fa2(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_fa2_splits(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_fa1(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_fa3(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_fa4(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_cudnn(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_efficient(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_flex(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_triton(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_flashinfer(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_sage(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_xformers_splits(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_hopper_fna(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_cutlass_fna(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_ours(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_ours_forward(const ProfiledKernel&, std::string_view);
[[nodiscard]] std::optional<Recognised> recognise_backward(const ProfiledKernel&, std::string_view);

}  // namespace natten_sim::study
