#pragma once

#include <optional>
#include <string>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/models/cost.hpp>

#include "command.hpp"

namespace natten_sim::cli {

/// What count and search share: the catalog with the user's additions, the layout, and the multipliers, from
/// options with the preset's values as defaults.
struct Setting {
  Catalog catalog;
  std::optional<Preset> preset;
  Extents input;  ///< may be empty: batch lines bring theirs
  Workload workload;
  std::int64_t heads_kv = 1;
  std::string dtype;
  std::string backend;  ///< empty: none chosen
  std::string device;   ///< empty: none chosen
  std::optional<AttentionShare> share;
  std::int64_t add_kv = 0;
};

inline constexpr const char* kDefaultBackend = "blackwell-fna";

/// What ships with the program, and what --preset-file and --device-file add to it.
[[nodiscard]] Catalog read_catalog(const Arguments& arguments);

[[nodiscard]] std::vector<OptionSpec> setting_options();
[[nodiscard]] Setting read_setting(const Arguments& arguments);

/// The backend that tile shapes and KV tiling come from: the chosen one, the device's, or the default.
[[nodiscard]] const Backend& effective_backend(const Setting& setting);

/// The explicit --kv-tiling, else the chosen backend's, else static.
[[nodiscard]] KvTiling effective_kv_tiling(const Setting& setting, const Arguments& arguments);

/// A tile pair of explicit or default shapes. A missing shape is taken from the first pair of the effective
/// backend that has the given one; single-dimensional tiling takes the backend's 1-D pairs.
struct ChosenTiles {
  TilePair tiles;
  std::string backend;  ///< that implements the pair; empty: the shapes were given and it does not
  bool defaulted = false;
};
[[nodiscard]] ChosenTiles choose_tiles(const Setting& setting, const Extents& q_tile, const Extents& kv_tile,
                                       std::size_t tile_rank, Walk pass);

}  // namespace natten_sim::cli
