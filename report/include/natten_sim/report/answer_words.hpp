#pragma once

#include <string_view>

namespace natten_sim::report {

/// Names of members that mean the same in all answers, and what.
struct AnswerWord {
  std::string_view name;
  const char* meaning;
};
inline constexpr AnswerWord kAnswerWords[] = {
    {"attended_pairs", "Token pairs that attend, of one head"},
    {"dense_pairs", "Token pairs of dense attention, of one head"},
    {"dense_path", "Whether NATTEN runs it as one dense call, whatever the tiles"},
    {"dense_tiles", "Pairs of tiles that dense attention visits"},
    {"counter", "Counter, saving or time that is compared"},
    {"device", "GPU, by its name in the catalog"},
    {"full_tiles", "Visited pairs of tiles all of whose token pairs attend"},
    {"fully_block_sparse", "Whether every visited pair of tiles is full"},
    {"group", "Points that are judged together; empty: all"},
    {"kernel", "Kernel, by its name in the catalog"},
    {"kv_tile", "Tokens of a KV tile, per axis"},
    {"kv_tiles", "KV tiles of one head"},
    {"median", "Median of the relative errors"},
    {"mma_pairs", "Token pairs that the visited tiles multiply, padding included"},
    {"model", "Model of the prediction"},
    {"natten_fast_path", "Whether NATTEN runs no mask of elements"},
    {"partial_tiles", "Visited pairs of tiles that need a mask within"},
    {"q_tile", "Tokens of a Q tile, per axis"},
    {"q_tiles", "Q tiles of one head"},
    {"recall", "Share of the attention that is kept, 0..1, in the mean"},
    {"source", "Where the numbers come from"},
    {"sparsity", "Share of token pairs that do not attend, 0..1"},
    {"speedup_flop", "Dense pairs over attended ones"},
    {"speedup_mean", "Dense tiles over visited ones"},
    {"speedup_work", "Dense pairs over multiplied ones, padding included"},
    {"speedup_worst", "Tiles of a dense row over those of the busiest tile"},
    {"suite", "Suite of measurements"},
    {"stride", "Stride of the window, per axis"},
    {"visited_tiles", "Pairs of a Q tile and a KV tile that are multiplied"},
    {"wasted_flop_share", "Share of the multiplied pairs that do not attend, 0..1"},
    {"window", "Window in tokens, per axis"},
};

/// A name of kAnswerWords; any other is refused by the compiler.
struct Word {
  const char* name;
  const char* meaning = nullptr;

  consteval Word(const char* text) : name(text) {
    for (const AnswerWord& word : kAnswerWords) {
      if (word.name == text) meaning = word.meaning;
    }
    if (meaning == nullptr) throw "a member that is no word of kAnswerWords needs a meaning of its own";
  }
};

}  // namespace natten_sim::report
