// Files of indices: the first byte chooses the format.
#include <algorithm>
#include <array>
#include <cstring>

#include <natten_sim/io/index_file.hpp>

#include "fuzz/target.hpp"

namespace natten_sim::fuzz::index_file {

void read(std::string_view input) {
  if (input.empty()) return;
  constexpr std::int64_t kRows = 1000;
  const auto format = static_cast<IndexFormat>(static_cast<unsigned char>(input.front()) % 3);
  input.remove_prefix(1);
  const auto stream = parse_indices(
      [&input](std::span<char> buffer) {
        const std::size_t size = std::min(buffer.size(), input.size());
        std::memcpy(buffer.data(), input.data(), size);
        input.remove_prefix(size);
        return size;
      },
      format, kRows, "input");
  std::array<std::int64_t, 7> rows = {};
  while (const std::size_t count = stream->read(rows)) {
    require(count <= rows.size(), "no more rows than there is room for");
    for (std::size_t i = 0; i < count; ++i) require(rows[i] >= 0 && rows[i] < kRows, "rows in their range");
  }
}

const Target kTarget("index_file", read);

}  // namespace natten_sim::fuzz::index_file
