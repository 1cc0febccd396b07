#pragma once

#include "family.hpp"

namespace natten_sim::study {

/// A recognised launch whose open members are filled in: from the question, then by the counter of sectors,
/// then by defaults. What stays open is in `missing`.
struct Completed {
  ExplainedProblem problem;
  std::vector<KnownMember> known;
  std::vector<std::string> missing;
};

[[nodiscard]] Completed complete(const Recognised& found, const ProfiledKernel& launch,
                                 const ExplainedProblem& given);

/// The problem without its mask's walk. Requires nothing missing.
[[nodiscard]] SplitQProblem split_problem_of(const ExplainedProblem& problem);

/// Sectors that come back from the L2 to the L1s: K and V, and Q once or for each KV tile. Requires nothing
/// missing.
[[nodiscard]] double loaded_sectors(const ExplainedProblem& problem, bool reloads_q);

/// What grid, shared memory and sectors tell of a launch whose kernel nobody knows, given length and head
/// dim: its CTAs are the Q tiles of all heads, each with K and V once, whole or up to its own queries. Of all
/// pairs of tiles and masks whose sectors are those of the counter, members on which they agree are kSectors,
/// others kGuessed: tiles that fill the shared memory come first, then KV tiles of 64. Schedule and order are
/// guessed.
[[nodiscard]] Recognised infer(const ProfiledKernel& launch, const ExplainedProblem& given);

}  // namespace natten_sim::study
