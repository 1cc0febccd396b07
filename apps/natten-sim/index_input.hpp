#pragma once

#include <memory>
#include <optional>
#include <string>

#include <natten_sim/sim/index_stream.hpp>

namespace natten_sim::cli {

/// The argument of --distribution: a generated stream, or a file.
struct DistributionArgument {
  std::string text;
  IndexDistribution distribution;
  std::optional<std::string> path;  ///< of file:PATH
};

/// `uniform`, `zipf:S`, `hot:K` or `file:PATH`. @throws InvalidParameter.
[[nodiscard]] DistributionArgument parse_distribution(const std::string& text);

/// Streams a file of rows, of which nothing is kept in memory: .npy by its header, .csv and .txt as text,
/// anything else as raw 64-bit integers. @throws InvalidParameter when it cannot be opened, MalformedData.
[[nodiscard]] std::unique_ptr<IndexStream> open_index_file(const std::string& path, std::int64_t rows);

}  // namespace natten_sim::cli
