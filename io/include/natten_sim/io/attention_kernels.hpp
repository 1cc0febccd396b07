#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/io/json.hpp>

namespace natten_sim {

/// Attention kernels as data/attention-kernels.json has them, and a user's kernel file.
inline constexpr const char* kKernelFileSchema = "natten-sim.attention-kernels/1";

/// The kernels of `json`, one or more, of different names. Unknown keys are refused. `where` is its name for messages.
/// @throws MalformedData
[[nodiscard]] std::vector<AttentionKernel> parse_kernel_file(std::string_view json, const std::string& where);

/// As parse_kernel_file() reads it.
[[nodiscard]] Json to_json(const AttentionKernel& kernel);
/// A kernel file, a member a line.
[[nodiscard]] std::string kernel_file_text(const std::vector<AttentionKernel>& kernels);

/// What an option says of kernels: a name as it is, or a file - its text ends in .json, has a slash or is - for standard
/// input - of one kernel. FILE.json#NAME is one of several. A kernel that ships is that kernel, if nothing of it was
/// changed. @throws MalformedData; InvalidParameter naming `parameter`.
[[nodiscard]] KernelChoice parse_kernel_choice(const std::string& parameter, const std::string& text);
/// All kernels of a file, or the one of that name that ships. @throws as above, UnknownName.
[[nodiscard]] std::vector<AttentionKernel> kernels_of(const std::string& parameter, const std::string& text);

/// Adds the kernel to the catalog, in the place of one that has its name.
void add_kernel(Catalog& catalog, const AttentionKernel& kernel);

}  // namespace natten_sim
