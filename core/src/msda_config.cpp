#include <algorithm>
#include <charconv>
#include <string_view>
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

/// Reads words and numbers off the front of a text.
struct ShapeReader {
  std::string_view rest;
  bool good = true;

  bool word(std::string_view expected) {
    const bool found = rest.starts_with(expected);
    if (found) rest.remove_prefix(expected.size());
    return found;
  }
  std::int64_t number(std::string_view before) {
    std::int64_t value = 0;
    good = good && word(before);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    good = good && error == std::errc{} && value > 0;
    if (good) rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  }
};

}  // namespace

std::optional<MsdaConfig> msda_config_of_shape(const std::string& name) {
  ShapeReader reader{name};
  MsdaConfig config;
  config.name = name;
  config.source = "its name";
  config.batch = reader.number("B");
  config.height = reader.number("_");
  config.width = reader.number("x");
  config.channels = reader.number("_d");
  const std::int64_t levels = reader.number("_L");
  config.heads = reader.number("_h");
  config.points = reader.number("_p");
  if (!reader.word("_enc")) config.queries = reader.number("_q");
  if (!reader.good || !reader.rest.empty()) return std::nullopt;
  require_range("levels", levels, 1, 8);
  for (std::int64_t level = 0; level < levels; ++level)
    config.strides.push_back((levels > 4 ? std::int64_t{4} : std::int64_t{8}) << level);
  require_valid(config);
  return config;
}

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
