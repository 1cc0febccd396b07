#pragma once

#include <natten_sim/report/described.hpp>
#include <natten_sim/study/count.hpp>

#include "kernel_members.hpp"
#include "time_members.hpp"

namespace natten_sim::report {

// Counted tiles, in the answers of several subcommands.

template <typename Members, typename Get>
void put_flops(Members& m, const Get& flops) {
  m.object("flops", "Floating-point operations of the matrix products; null: they do not fit",
           [flops](auto& each) {
             each.put("attended", path(flops, &Flops::attended), "Of the token pairs that attend");
             each.put("mma", path(flops, &Flops::mma), "Of the visited tiles, padding included");
             each.put("dense", path(flops, &Flops::dense), "Of dense attention over the same tokens");
           });
}

/// What windows and strides decide without tiles. `of`: the member of a count in the value that is described.
template <typename Members, typename OfCount>
void put_pairs(Members& m, const OfCount& of) {
  m.put("attended_pairs", of(&TileCount::attended_pairs));
  m.put("dense_pairs", of(&TileCount::dense_pairs));
  m.put("sparsity", of(&TileCount::sparsity));
  m.put("speedup_flop", of(&TileCount::speedup_flop));
}

/// Everything about one forward problem.
template <typename Members>
void describe(Members& m, Of<study::CountedTiles>) {
  using C = study::CountedTiles;
  const auto of = [](auto member) { return path(&C::count, member); };
  m.put("q_tiles", of(&TileCount::q_tiles));
  m.put("kv_tiles", of(&TileCount::kv_tiles));
  m.put("dense_tiles", of(&TileCount::dense_tiles));
  m.put("visited_tiles", of(&TileCount::visited_tiles));
  m.put("full_tiles", of(&TileCount::full_tiles));
  m.put("partial_tiles", of(&TileCount::partial_tiles));
  m.put("max_tiles_per_q_tile", of(&TileCount::max_tiles_per_walked_tile),
        "KV tiles that the busiest Q tile visits");
  put_pairs(m, of);
  m.put("speedup_mean", of(&TileCount::speedup_mean));
  m.put("speedup_worst", of(&TileCount::speedup_worst));
  m.put("mma_pairs", of(&TileCount::mma_pairs));
  m.put("speedup_work", of(&TileCount::speedup_work));
  m.put("fully_block_sparse", of(&TileCount::fully_block_sparse));
  m.put("natten_fast_path", &C::natten_fast_path);
  put_flops(m, &C::flops);
  m.put("wasted_flop_share", of(&TileCount::wasted_share));
  m.optional("add_kv", &C::extra_kv, "Additional KV tokens that every query sees, not counted above",
             [](auto& extra) {
               extra.put("tokens", &ExtraKvCount::tokens, "How many there are");
               extra.put("kv_tiles", &ExtraKvCount::kv_tiles);
               extra.put("visited_tiles", &ExtraKvCount::visited_tiles);
               extra.put("attended_pairs", &ExtraKvCount::attended_pairs);
               extra.put("mma_pairs", &ExtraKvCount::mma_pairs);
             });
  m.optional("e2e_speedup", &C::end_to_end, "Speedup of the whole model, by the share of attention",
             [](auto& whole) {
               whole.put("flop", &study::EndToEndSpeedup::flop, "By attended pairs");
               whole.put("mean", &study::EndToEndSpeedup::mean, "By visited tiles");
               whole.put("worst", &study::EndToEndSpeedup::worst, "By the tile that visits most");
             });
}

/// The walk of Q tiles per KV tile.
template <typename Members>
void describe(Members& m, Of<study::BackwardCount>) {
  using B = study::BackwardCount;
  const auto of = [](auto member) { return path(&B::count, member); };
  m.put("q_tile", path(&B::problem, &TilingProblem::tiles, &TilePair::q_tile));
  m.put("kv_tile", path(&B::problem, &TilingProblem::tiles, &TilePair::kv_tile));
  m.put("kv_tiles", of(&TileCount::kv_tiles));
  m.put("q_tiles", of(&TileCount::q_tiles));
  m.put("dense_tiles", of(&TileCount::dense_tiles));
  m.put("visited_tiles", of(&TileCount::visited_tiles));
  m.put("full_tiles", of(&TileCount::full_tiles));
  m.put("partial_tiles", of(&TileCount::partial_tiles));
  m.put("max_tiles_per_kv_tile", of(&TileCount::max_tiles_per_walked_tile),
        "Q tiles that the busiest KV tile visits");
  m.put("speedup_mean", of(&TileCount::speedup_mean));
  m.put("speedup_worst", of(&TileCount::speedup_worst));
  m.put("mma_pairs", of(&TileCount::mma_pairs));
  m.put("speedup_work", of(&TileCount::speedup_work));
  m.put("fully_block_sparse", of(&TileCount::fully_block_sparse));
  put_flops(m, &B::flops);
  m.put("wasted_flop_share", of(&TileCount::wasted_share));
}

/// NATTEN's way around cyclic axes, and what was asked.
struct PaddedCount {
  const study::CountAnswer* cyclic;
  const study::CountAnswer* padded;
};

/// Tokens that the way around adds to each axis, on one side.
inline auto padding_of(std::int64_t AxisPadding::*side) {
  return [side](const PaddedCount& count) {
    Extents tokens;
    for (const AxisMask& axis : count.cyclic->forward.problem.mask)
      tokens.push_back(cycle_padding(axis).*side);
    return tokens;
  };
}

template <typename Members>
void describe(Members& m, Of<PaddedCount>) {
  using A = study::CountAnswer;
  const auto of = [](auto... members) { return path(&PaddedCount::padded, &A::forward, members...); };
  const auto problem = [of](auto... members) { return of(&study::CountedTiles::problem, members...); };
  const auto count = [of](auto member) { return of(&study::CountedTiles::count, member); };
  m.put("before", padding_of(&AxisPadding::before), "Tokens of the other end put before each axis");
  m.put("after", padding_of(&AxisPadding::after), "Tokens of the other end put after each axis");
  m.put("input", problem(&TilingProblem::mask, [](const NeighborhoodMask& mask) { return input_of(mask); }),
        "Padded layout, tokens per axis");
  m.put("q_tile", problem(&TilingProblem::tiles, &TilePair::q_tile));
  m.put("kv_tile", problem(&TilingProblem::tiles, &TilePair::kv_tile));
  m.put("q_tiles", count(&TileCount::q_tiles));
  m.put("kv_tiles", count(&TileCount::kv_tiles));
  m.put("visited_tiles", count(&TileCount::visited_tiles));
  m.put("mma_pairs", count(&TileCount::mma_pairs));
  m.include(path(&PaddedCount::padded, &A::time));
  m.optional("padding_ms", path(&PaddedCount::cyclic, &A::cycle_copies, &study::CycleCopies::padding_ms),
             "Padding Q, K and V, an axis at a time");
}

/// None: no axis is cyclic.
inline std::optional<PaddedCount> padded_in(const study::CountAnswer& answer) {
  return answer.padded ? std::optional(PaddedCount{&answer, &*answer.padded}) : std::nullopt;
}
inline constexpr const char* kBlocksMeaning = "Q, K and V copied into blocks and O back, around cyclic axes";
inline constexpr const char* kPaddedMeaning = "What runs in place of cyclic axes, which NATTEN does not have";

}  // namespace natten_sim::report
