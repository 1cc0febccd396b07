#pragma once

#include <optional>
#include <string>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/dtype.hpp>
#include <natten_sim/core/natten_call.hpp>
#include <natten_sim/core/tiling.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/models/tiles/cost.hpp>
#include <natten_sim/study/describe/members.hpp>

namespace natten_sim::study {

/// `part` of `whole` steps.
struct StepRatio {
  std::int64_t part = 0;
  std::int64_t whole = 1;
};

/// What the questions `count` and `search` share: the layout, the multipliers, and where tile shapes come
/// from. Everything may be left out; resolved() fills it in.
struct Setting {
  std::optional<std::string> preset;
  std::optional<std::string> device;   ///< chooses the backend that suits it
  std::optional<std::string> backend;  ///< the backend that tile shapes and KV tiling come from
  std::optional<std::string> natten;   ///< version of NATTEN, as `0.21.6`; none: the newest
  Extents input;                       ///< empty: the preset's layout
  std::int64_t add_kv = 0;             ///< additional tokens that every query attends to; reported apart
  std::int64_t batch = 1;
  std::optional<std::int64_t> heads;     ///< none: the preset's, or kDefaultHeads
  std::optional<std::int64_t> heads_kv;  ///< none: heads
  std::optional<std::int64_t> head_dim;  ///< head dim of Q and K; none: the preset's, or kDefaultHeadDim
  std::optional<std::int64_t> head_dim_value;  ///< head dim of V; none: head_dim
  std::optional<Dtype> dtype;                  ///< none: kDefaultDtype
  bool deterministic = false;                  ///< PyTorch's deterministic algorithms are on
  /// Attention's share of the end-to-end time, 0..1; none: the preset's.
  std::optional<double> attention_share;
  std::optional<StepRatio> dense_steps;  ///< steps that keep dense attention; none: the preset's
};

/// The backend whose tile shapes are taken when neither a backend nor a device is named.
inline constexpr const char* kDefaultBackend = "blackwell-fna";
/// The one kernel whose windows go round: FlexAttention takes any mask.
inline constexpr const char* kCyclicKernel = "flexattention";
/// Whether a question has a cyclic axis.
[[nodiscard]] bool asks_cycle(const PerAxis<bool>& cyclic);
/// @throws InvalidParameter for a kernel whose windows end at the borders, or that has none.
void require_cyclic_kernel(const std::string& kernel);

/// The KV tiling when no backend is chosen.
inline constexpr KvTiling kDefaultKvTiling = KvTiling::kStatic;

// Those of NATTEN's profiler.
inline constexpr std::int64_t kDefaultHeads = 1;
inline constexpr std::int64_t kDefaultHeadDim = 64;
inline constexpr Dtype kDefaultDtype = Dtype::kFp16;

/// The setting with its members filled in. These may stay empty: preset, device and backend if none is
/// chosen, the share if neither the setting nor the preset has one, and the layout, which lines of a batch
/// may bring. With a device and no backend: the device's own, or what NATTEN takes in its place where its
/// own does not run these head dims and types; `with_backward` asks for both passes.
/// @throws UnknownName, InvalidParameter naming the option at fault.
[[nodiscard]] Setting resolved(const Setting& setting, const Catalog& catalog, bool with_backward = false);

/// What NATTEN's choice of a backend depends on, as a call on the setting's device: sizes and types, without
/// mask, tiles and backend. Requires heads, head dims and a type. None: the device has no compute capability.
[[nodiscard]] std::optional<NattenCall> dispatch_call(const Setting& setting, const Device& device,
                                                      bool with_backward);

/// The workload of a resolved setting.
[[nodiscard]] Workload workload_of(const Setting& setting);
[[nodiscard]] std::optional<AttentionShare> share_of(const Setting& setting);

/// The backend that tile shapes and KV tiling come from: the chosen one, or the default.
[[nodiscard]] const Backend& effective_backend(const Setting& setting, const Catalog& catalog);

/// `wanted`, else the chosen backend's, else kDefaultKvTiling.
[[nodiscard]] KvTiling effective_kv_tiling(std::optional<KvTiling> wanted, const Setting& setting,
                                           const Catalog& catalog);

/// A tile pair of given or default shapes.
struct ChosenTiles {
  TilePair tiles;
  /// The backend that implements the pair; none if the shapes were given and it does not.
  std::optional<std::string> backend;
  bool defaulted = false;
};

/// Without shapes: NATTEN's own default of the effective backend. A missing shape is taken from its first
/// pair that has the given one; single-dimensional tiling (`tile_rank` 1) takes the backend's 1-D pairs.
/// @throws InvalidParameter when the backend has no such pair.
[[nodiscard]] ChosenTiles choose_tiles(const Setting& setting, const Catalog& catalog, const Extents& q_tile,
                                       const Extents& kv_tile, std::size_t tile_rank, Walk pass);

// The description of a Setting, in the groups that the questions which hold one take.

template <typename Members>
void describe_preset(Members& members) {
  members.group("Problem");
  members.add("preset", &Setting::preset,
              {.help = "Layout, heads, head dim and attention share of a known model",
               .echo = Echo::kWhenSet,
               .names = NamesOfCatalog::kPresets});
}

template <typename Members>
void describe_input(Members& members) {
  members.group("Problem");
  members.add("input", &Setting::input,
              {.flags = "-i,--input,--input-size",
               .help = "Token layout, one size per axis, outermost first (30 48 80, 30x48x80 or 30,48,80) [the "
                       "preset's]"});
}

/// Both, with the device between them.
template <typename Members>
void describe_layout(Members& members) {
  describe_preset(members);
  members.group("Kernel and device");
  members.add("device", &Setting::device,
              {.help = "Take the backend that suits a GPU",
               .echo = Echo::kWhenSet,
               .names = NamesOfCatalog::kDevices});
  describe_input(members);
}

template <typename Members>
void describe_backend(Members& members, Echo echo) {
  members.group("Kernel and device");
  members.add("backend", &Setting::backend,
              {.help = "Take tile shapes and KV tiling from a backend " + default_text(kDefaultBackend),
               .echo = echo,
               .batch = true,
               .names = NamesOfCatalog::kBackends});
}

template <typename Members>
void describe_workload(Members& members) {
  members.group("Kernel and device");
  members.add("natten", &Setting::natten,
              {.value = "VERSION",
               .help = "Release of NATTEN whose rules and copies count, such as 0.21.6 [the newest]",
               .echo = Echo::kWhenSet,
               .names = NamesOfCatalog::kNatten});
  members.add("deterministic", &Setting::deterministic,
              {.help = "With torch.use_deterministic_algorithms: backends whose backward pass is not are passed over",
               .echo = Echo::kWhenSet});
  members.group("Sizes and types");
  members.add("add_kv", &Setting::add_kv,
              {.help = "Extra KV tokens that every query attends to, reported apart [default]",
               .range = {.lo = 0},
               .within = "tokens"});
  members.add("batch_size", &Setting::batch,
              {.flags = "-b,--batch-size", .help = "Batch size [default]", .range = {1, kMaxBatch}});
  members.add("heads", &Setting::heads,
              {.flags = "-n,--heads",
               .help = "Heads " + default_text("the preset's", kDefaultHeads),
               .range = {1, kMaxHeads}});
  members.add("heads_kv", &Setting::heads_kv,
              {.help = "KV heads, a divisor of the heads [heads]", .range = {1, kMaxHeads}});
  members.add("head_dim", &Setting::head_dim,
              {.flags = "-d,--dim,--head-dim",
               .value = "D",
               .help = "Head dim of Q and K " + default_text("the preset's", kDefaultHeadDim)});
  members.add("dim_value", &Setting::head_dim_value,
              {.value = "D", .help = "Head dim of V [that of Q and K]"});
  members.add("dtype", &Setting::dtype,
              {.value = "TYPE", .help = "Element type " + default_text(kDefaultDtype)});
  members.add("attention_share", &Setting::attention_share,
              {.value = "P",
               .help = "Attention's share of the end-to-end time, 0..1, for end-to-end speedups [the preset's]",
               .interval = {0, 1},
               .accepted = "a fraction in 0..1",
               .echo = Echo::kWhenSet});
  members.add("dense_steps", &Setting::dense_steps,
              {.value = "K/N",
               .help = "K of N steps keep dense attention, for end-to-end speedups [the preset's]",
               .echo = Echo::kWhenSet});
}

template <typename Members, typename Question>
void describe_cycle(Members& members, const Question&) {
  members.add("cyclic", &Question::cyclic,
              {.help = "Axes whose last token is next to the first, as longitudes; one value for all or per axis " +
                       axis_default(&AxisMask::cyclic),
               .echo = Echo::kWhenSet});
}

/// The mask of a question with these members, axis by axis; the window and the stride stand before them.
template <typename Members, typename Question>
void describe_axes(Members& members, const Question& question) {
  members.add("dilation", &Question::dilation,
              {.help = "Dilation, one per axis; window times dilation fits the axis " +
                       axis_default(&AxisMask::dilation)});
  members.add("causal", &Question::causal,
              {.flags = "-c,--causal", .help = "Causal axes, one value for all or per axis " + axis_default(&AxisMask::causal)});
  describe_cycle(members, question);
}

}  // namespace natten_sim::study
