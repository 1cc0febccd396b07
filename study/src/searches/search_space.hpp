#pragma once

#include <natten_sim/study/search.hpp>

namespace natten_sim::study {

/// The space that a question asks for. Fills in of `answer.question` what the question left out, and says in
/// the answer what was a default. The setting is resolved.
/// @throws InvalidParameter, UnknownName
[[nodiscard]] SearchSpace space_of(const Catalog& catalog, SearchAnswer& answer);

/// @throws InvalidParameter for an axis on which none of NATTEN's windows fits, with the layout without it.
void require_axes_of_natten(const Extents& input);

/// Takes out of the space what NATTEN refuses: tile choices, and kernel sizes below those that it accepts.
/// @throws InvalidParameter with NATTEN's rule when nothing is left.
[[nodiscard]] std::vector<SearchExclusion> leave_out_refused(const SearchQuestion& question,
                                                             const Context& context, SearchSpace& space);

/// The window that covers the input, if the space has it and NATTEN refuses it: its dense kernels have rules
/// of their own. It is still in the space.
[[nodiscard]] std::optional<SearchExclusion> refused_dense_window(const SearchQuestion& question,
                                                                  const Context& context,
                                                                  const SearchSpace& space);

/// Whether NATTEN's rules concern the choice: other kernels have none about tiles and windows.
[[nodiscard]] bool of_natten(const TileChoice& choice);

/// The setting with the backend of a tile choice.
[[nodiscard]] Setting setting_of(const Setting& setting, const TileChoice& choice);

/// A pass of a combination.
[[nodiscard]] TilingProblem problem_of(const SearchSpace& space, const NeighborhoodMask& mask,
                                       const TileChoice& choice, Walk walk);

/// A combination as a call.
[[nodiscard]] CallParts call_parts_in(const SearchQuestion& question, const SearchSpace& space,
                                      const NeighborhoodMask& mask, const TileChoice& choice,
                                      const Catalog& catalog);

}  // namespace natten_sim::study
