#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/json.hpp>

namespace natten_sim {

/// Attention kernels as data/attention-kernels.json has them, and a user's kernel file.
inline constexpr const char* kKernelFileSchema = "natten-sim.attention-kernels/1";

/// Which axis of a launch's grid counts what. Heads without an axis of batches are those of all batches.
struct KernelGrid {
  std::optional<std::size_t> q_tiles, heads, batch;
};

/// A kernel, how it is launched, and how profiles show it.
struct KernelFile {
  AttentionKernel kernel;
  LaunchOrder launch = LaunchOrder::kTilesFirst;
  bool longest_first = false;           ///< the last Q tile of a head is launched first
  std::optional<Dtype> dtype = {};      ///< none: any
  KernelGrid grid = {};
  std::vector<std::string> names = {};  ///< texts of its launches' names; none: profiles do not show it
};

/// The kernels of `json`, one or more. Unknown keys are refused. `where` is its name for messages.
/// @throws MalformedData
[[nodiscard]] std::vector<KernelFile> parse_kernel_file(std::string_view json, const std::string& where);

/// As parse_kernel_file() reads them.
[[nodiscard]] Json to_json(const KernelRate& rate);
[[nodiscard]] Json to_json(const KernelFile& file);

/// Adds the kernel to the catalog, in the place of one that has its name.
void add_kernel(Catalog& catalog, const AttentionKernel& kernel);

}  // namespace natten_sim
