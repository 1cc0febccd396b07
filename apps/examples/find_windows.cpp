// Searches all windows and strides of a layout for the fastest ones at a given sparsity.
#include <cstdio>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/search/windows/search.hpp>
#include <natten_sim/io/catalog.hpp>

int main() {
  using namespace natten_sim;
  const Catalog catalog = builtin_catalog();
  const Preset& model = catalog.preset("flux1-dev-4k");
  SearchSpace space = full_space(model.layout);
  for (const TilePair& tiles :
       tile_pairs(catalog.backend("blackwell-fna"), 2, model.head_dim, Walk::kForward)) {
    space.tiles.push_back({"blackwell-fna", tiles});
  }
  const SearchConstraints constraints{.sparsity = SparsityRange{0.90, 0.91}, .fully_block_sparse = true};
  for (const Candidate& best : search_best(space, constraints, Objective::kWork, 3).candidates) {
    std::printf("window %s  stride %s  Q tile %s  %.2fx\n", to_string(window_of(best.mask)).c_str(),
                to_string(stride_of(best.mask)).c_str(),
                to_string(space.tiles[best.tile_choice].tiles.q_tile).c_str(), best.count.speedup_work());
  }
}
