// Block masks as text: the rows of an accepted one read as itself.
#include <natten_sim/io/schedule_table.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::block_mask {

void read(std::string_view input) {
  const BlockMask mask = parse_block_mask(input, "input");
  std::string written;
  for (const std::string& row : block_mask_rows(mask)) written += row + "\n";
  const BlockMask again = parse_block_mask(written, "written");
  require(again.q_tiles == mask.q_tiles && again.kv_tiles == mask.kv_tiles && again.work == mask.work,
          "a written mask reads as itself");
}

const Target kTarget("block_mask", read);

}  // namespace natten_sim::fuzz::block_mask
