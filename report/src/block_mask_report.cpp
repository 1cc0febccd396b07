#include <natten_sim/io/json.hpp>
#include <natten_sim/report/block_mask_report.hpp>

namespace natten_sim::report {
namespace {

Json sizes_json(const Extents& extents) {
  Json sizes = Json::array();
  for (const std::int64_t size : extents) sizes.push_back(size);
  return sizes;
}

Json rows_json(const std::vector<std::vector<std::int32_t>>& rows) {
  Json counts = Json::array(), blocks = Json::array();
  for (const std::vector<std::int32_t>& row : rows) {
    counts.push_back(row.size());
    for (const std::int32_t block : row) blocks.push_back(block);
  }
  return {{"counts", std::move(counts)}, {"blocks", std::move(blocks)}};
}

Json axes_json(const study::BlockTables& mask) {
  Json axes = Json::array();
  for (const auto& residues : mask.ranges) {
    Json of_axis = Json::array();
    for (const std::vector<TokenRange>& queries : residues) {
      Json begin = Json::array(), end = Json::array();
      for (const TokenRange& range : queries) {
        begin.push_back(range.begin);
        end.push_back(range.end);
      }
      of_axis.push_back({{"begin", std::move(begin)}, {"end", std::move(end)}});
    }
    axes.push_back(std::move(of_axis));
  }
  return axes;
}

}  // namespace

std::string block_mask_json(const study::BlockTables& mask) {
  Json object = {{"schema", "natten-sim.block-mask/1"},
                                         {"input", sizes_json(input_of(mask.mask))},
                                         {"dilation", sizes_json(dilation_of(mask.mask))},
                                         {"q_tile", sizes_json(mask.tiles.q_tile)},
                                         {"kv_tile", sizes_json(mask.tiles.kv_tile)},
                                         {"groups", mask.groups},
                                         {"q_tiles", sizes_json(mask.q_tiles)},
                                         {"kv_tiles", sizes_json(mask.kv_tiles)},
                                         {"partial", rows_json(mask.partial)},
                                         {"full", rows_json(mask.full)},
                                         {"axes", axes_json(mask)}};
  if (has_cycle(mask.mask)) {
    for (const bool axis : cyclic_of(mask.mask)) object["cyclic"].push_back(axis);
  }
  return object.dump();
}

}  // namespace natten_sim::report
