#include <algorithm>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/msda_config.hpp>

namespace natten_sim {
namespace {

void require_range(const char* name, std::int64_t value, std::int64_t lo, std::int64_t hi) {
  if (value >= lo && value <= hi) return;
  throw InvalidParameter(name, std::to_string(value), std::to_string(lo) + ".." + std::to_string(hi),
                         std::to_string(value < lo ? lo : hi));
}

}  // namespace

void require_valid(const MsdaConfig& config) {
  require_range("batch", config.batch, 1, 4096);
  require_range("height", config.height, 1, 65536);
  require_range("width", config.width, 1, 65536);
  require_range("levels", config.levels(), 1, 16);
  for (const std::int64_t stride : config.strides)
    require_range("stride", stride, 1, std::min(config.height, config.width));
  require_range("heads", config.heads, 1, 1024);
  require_range("channels", config.channels, config.heads, 65536);
  if (config.channels % config.heads != 0)
    throw InvalidParameter("channels", std::to_string(config.channels), "a multiple of the heads");
  require_range("points", config.points, 1, 64);
  require_range("queries", config.queries, 0, std::int64_t{1} << 24);
  const std::int64_t samples = checked_multiply(
      checked_multiply(config.batch * queries_per_image(config), config.heads * config.levels(), "samples"),
      config.points, "samples");
  if (samples > (std::int64_t{1} << 32))
    throw InvalidParameter("samples", std::to_string(samples), "at most 2^32 sampled locations");
}

std::vector<MsdaLevel> pyramid(const MsdaConfig& config) {
  std::vector<MsdaLevel> levels;
  std::int64_t first = 0;
  for (const std::int64_t stride : config.strides) {
    levels.push_back({config.height / stride, config.width / stride, first});
    first += levels.back().pixels();
  }
  return levels;
}

std::int64_t pixels_per_image(const MsdaConfig& config) {
  const std::vector<MsdaLevel> levels = pyramid(config);
  return levels.back().first + levels.back().pixels();
}

std::int64_t queries_per_image(const MsdaConfig& config) {
  return config.encoder() ? pixels_per_image(config) : config.queries;
}

}  // namespace natten_sim
