#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <natten_sim/core/backward_schedule.hpp>
#include <natten_sim/core/schedule_mask.hpp>
#include <natten_sim/core/wide_integer.hpp>
#include <natten_sim/core/workload_bounds.hpp>
#include <natten_sim/study/context.hpp>
#include <natten_sim/study/describe/given_mask.hpp>
#include <natten_sim/study/setting.hpp>
#include <natten_sim/study/time.hpp>

namespace natten_sim::study {

/// What does attention under any mask visit, and how long does it take? For kernels that are handed lists of
/// blocks.
struct MaskQuestion {
  GivenMask mask;
  std::optional<std::int64_t> q_tokens;   ///< none: the mask's
  std::optional<std::int64_t> kv_tokens;  ///< none: the mask's, or as many as queries
  std::optional<std::int64_t> q_tile;     ///< tokens of a Q block; none: the mask's, or kBlockOfFlex
  std::optional<std::int64_t> kv_tile;
  std::int64_t heads = kDefaultHeads;
  std::optional<std::int64_t> heads_kv;  ///< a divisor of the heads; none: as many
  std::int64_t batch = 1;
  std::int64_t head_dim = kDefaultHeadDim;
  Dtype dtype = Dtype::kBf16;
  KernelChoice kernel = "flexattention";
  std::optional<std::string> device;  ///< none: no times
  bool backprop = false;              ///< whether the backward pass is asked for too
  std::optional<double> rest_ms;      ///< as in TimeQuestion
  /// Instructions a pair of tokens of the mask function; none: counted from the rules, of a file those that the
  /// costs were measured with.
  std::optional<double> mask_cost;
};

/// FlexAttention's own.
inline constexpr std::int64_t kBlockOfFlex = 128;

/// The blocks of one size.
struct BlockCount {
  std::int64_t q_tile = 0, kv_tile = 0;             ///< tokens
  std::int64_t q_tiles = 0, kv_tiles = 0;           ///< of one head
  std::int64_t visited = 0, full = 0, partial = 0;  ///< pairs of blocks, over all `masks`
  /// KV blocks of a Q block: of the emptiest, the mean and the fullest one.
  std::int64_t shortest_row = 0, longest_row = 0;
  double mean_row = 0;
  std::int64_t empty_rows = 0;  ///< Q blocks that attend to nothing
  std::optional<TimeAnswer> forward, backward;

  /// Of all pairs of blocks, 0..1.
  [[nodiscard]] double visited_share(std::int64_t masks) const;
};

struct MaskAnswer {
  MaskQuestion question;  ///< with defaults filled in
  std::int64_t masks = 1;
  BlockCount count;
  std::optional<Int128> pairs;  ///< of tokens that attend, over all masks; none: blocks alone were given
  /// Blocks of 64 and 128 tokens, where a rule is given and the kernel has no tiles of its own: first what takes least at most; without a device by
  /// the area that is visited.
  std::vector<BlockCount> others;
};

/// A block is full if every pair of its tokens attends and none of it lies beyond the end of a sequence, as
/// FlexAttention has it. Times are those of time() for these blocks, CTA by CTA, with the mask function that the rules
/// make. Of a file nothing tells it: the interval then begins where it costs nothing. Rules on one sequence (all
/// but `varlen:` and `gna:`) are evaluated query by query: exact. O(tokens + pairs of blocks), for each size
/// of `others` too.
/// @throws InvalidParameter for sizes that do not fit the mask, heads that are no multiple of its masks, a
/// kernel that
///         takes no lists; UnknownName.
[[nodiscard]] MaskAnswer count_mask(const MaskQuestion& question, const Context& context);

/// The blocks of an answer's question: those of all its masks, one below the other. Cost: as count_mask, without times.
[[nodiscard]] BlockMask mask_blocks(const MaskQuestion& question, const Catalog& catalog);

struct CountQuestion;

/// What `count` asks of a mask in place of its window: sizes, tiles, kernel and device are the same, a layout counts its
/// tokens. @throws Conflict with a member that describes a window; InvalidParameter for tiles of several axes, head dims
/// of V that differ, and additional keys.
[[nodiscard]] MaskQuestion mask_question_of(const CountQuestion& count, const GivenMask& mask, const Catalog& catalog);

template <typename Members>
void describe(Members& members, const MaskQuestion& question) {
  using Q = MaskQuestion;
  constexpr IntegerBounds kTokens{1, std::int64_t{1} << 24};
  members.group("Problem");
  members.add(
      "mask", &Q::mask,
      {.value = "MASK",
       .help = kGivenMaskHelp});
  members.add("seqlen_q", &Q::q_tokens,
              {.flags = "-i,--seqlen-q",
               .help = "Tokens of the queries [the mask's]",
               .range = kTokens,
               .spellings = {{.flag = "--input"}}});
  members.add("seqlen_k", &Q::kv_tokens,
              {.help = "Tokens of the keys [as many as queries]", .range = kTokens});
  members.add("q_tile", &Q::q_tile,
              {.help = "Tokens of a Q block " + default_text("the mask's", kBlockOfFlex), .range = kTokens});
  members.add("kv_tile", &Q::kv_tile,
              {.help = "Tokens of a KV block " + default_text("the mask's", kBlockOfFlex), .range = kTokens});
  members.group("Kernel and device");
  members.add(
      "kernel", &Q::kernel,
      {.help = "Kernel that takes lists of blocks: flexattention, fa4 (FlashAttention-4, blocks as large as its tiles "
               "or multiples), gna, this project's own, or a kernel file (FILE.json) [default]"});
  members.add("device", &Q::device,
              {.help = "Predict the time on a GPU [none]",
               .echo = Echo::kWhenSet,
               .names = NamesOfCatalog::kDevices});
  members.add("backprop", &Q::backprop, {.help = "Count and time the backward pass too"});
  describe_rest(members, question);
  describe_mask_cost(members, question, "counted from the rules; of a file those of tables");
  members.group("Sizes and types");
  members.add("heads", &Q::heads,
              {.flags = "-n,--heads", .help = "Heads [default]", .range = {1, kMaxHeads}});
  members.add("heads_kv", &Q::heads_kv,
              {.help = "KV heads, a divisor of the heads [heads]", .range = {1, kMaxHeads}});
  members.add("batch_size", &Q::batch,
              {.flags = "-b,--batch-size", .help = "Batch size [default]", .range = {1, kMaxBatch}});
  members.add("head_dim", &Q::head_dim,
              {.flags = "-d,--dim,--head-dim", .value = "D", .help = "Head dim [default]"});
  members.add("dtype", &Q::dtype, {.value = "TYPE", .help = "Element type [default]"});
}

}  // namespace natten_sim::study
