#include "mask_text.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/schedule_table.hpp>

#include "output.hpp"
#include "setting.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
constexpr std::int64_t kMostTiles = 65536;
constexpr std::int64_t kDefaultTile = 128;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Sizes of the sequences. Sizes in tiles become tokens two a tile, so that a tile on the diagonal is
/// partial, and lengths in tiles become lengths in tokens with the same factor.
struct Sizes {
  SequenceTiling tiling;
  std::int64_t unit = 1;
};

Sizes read_sizes(const Arguments& arguments) {
  const auto size = [&](const char* name, std::int64_t fallback, std::int64_t most = kMostTokens) {
    return arguments.has(name) ? parse_integer(name, arguments.text(name), 1, most) : fallback;
  };
  const bool tiles = arguments.has("q-tiles") || arguments.has("kv-tiles");
  const bool tokens = arguments.has("seqlen-q") || arguments.has("seqlen-k");
  if (tiles && tokens)
    throw InvalidParameter("--q-tiles", "given together with --seqlen-q", "sizes in tiles or in tokens");
  Sizes sizes;
  if (tiles) {
    for (const char* other : {"q-tile", "kv-tile"}) {
      if (arguments.has(other))
        throw InvalidParameter(std::string("--") + other, "given together with --q-tiles",
                               "tile sizes with --seqlen-q");
    }
    const std::int64_t q = size("q-tiles", size("kv-tiles", 1, kMostTiles), kMostTiles);
    sizes.unit = 2;
    sizes.tiling = {2 * q, 2 * size("kv-tiles", q, kMostTiles), 2, 2};
  } else if (tokens) {
    if (!arguments.has("seqlen-q"))
      throw InvalidParameter("seqlen-q", "missing", "the tokens of the queries");
    const std::int64_t q = size("seqlen-q", 1);
    sizes.tiling = {q, size("seqlen-k", q), size("q-tile", kDefaultTile), size("kv-tile", kDefaultTile)};
  } else {
    throw InvalidParameter("--q-tiles", "missing",
                           "--q-tiles and --kv-tiles, or --seqlen-q, or a mask of gna: or a file");
  }
  return sizes;
}

BlockMask window(const Sizes& sizes, const std::string& text) {
  const std::vector<std::string> sides = split(text, ',');
  if (sides.size() != 2)
    throw InvalidParameter("mask", "window:" + text,
                           "window:LEFT,RIGHT, tokens (or tiles) before and after the diagonal");
  const auto side = [&](const std::string& value) {
    return sizes.unit * parse_integer("mask window", value, 0, kMostTokens / 2);
  };
  return window_mask(sizes.tiling, {side(sides[0]), side(sides[1])});
}

BlockMask document(const Sizes& sizes, const std::string& text) {
  std::vector<std::int64_t> lengths;
  std::int64_t sum = 0;
  for (const std::string& length : split(text, ',')) {
    lengths.push_back(sizes.unit * parse_integer("mask document", length, 1, kMostTokens / 2));
    sum += lengths.back();
    if (sum > kMostTokens * sizes.unit) break;  // no sequence is that long
  }
  // Said in the unit of the command line.
  const bool tiles = sizes.unit != 1;
  for (const auto& [tokens, in_tokens, in_tiles] :
       {std::tuple{sizes.tiling.q_tokens, "--seqlen-q", "--q-tiles"},
        std::tuple{sizes.tiling.kv_tokens, "--seqlen-k", "--kv-tiles"}}) {
    if (sum == tokens) continue;
    throw InvalidParameter("mask document", "lengths whose sum is " + std::to_string(sum / sizes.unit),
                           "a sum of " + std::to_string(tokens / sizes.unit) + ", as " +
                               (tiles ? in_tiles : in_tokens) + " says");
  }
  return document_mask(sizes.tiling, lengths);
}

/// `i=30x48x80,w=18x24x24,s=..,dilation=..,c=0x0x1,q-tile=..,kv-tile=..`
BlockMask neighborhood(const std::string& text) {
  static const std::map<std::string, std::string> kLongNames = {
      {"i", "input"},           {"w", "window"},      {"s", "stride"},      {"d", "dilation"},
      {"c", "causal"},          {"input", "input"},   {"window", "window"}, {"stride", "stride"},
      {"dilation", "dilation"}, {"causal", "causal"}, {"q-tile", "q-tile"}, {"kv-tile", "kv-tile"}};
  std::map<std::string, std::string> values;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const auto known = kLongNames.find(part.substr(0, equals));
    if (equals == std::string::npos || known == kLongNames.end()) {
      std::vector<std::string> names;
      for (const auto& [name, full] : kLongNames) names.push_back(name);
      throw UnknownName("mask gna", part, closest_name(part.substr(0, equals), names),
                        "i=, w=, s=, dilation=, c=, q-tile=, kv-tile=, each with a size an axis as 30x48x80");
    }
    if (!values.emplace(known->second, part.substr(equals + 1)).second)
      throw InvalidParameter("mask gna", known->second + " twice", "each key once");
  }
  const auto extents = [&](const char* key, const Extents& fallback) {
    return values.contains(key) ? parse_extents(std::string("mask gna ") + key, {values[key]}) : fallback;
  };
  if (!values.contains("input")) throw InvalidParameter("mask gna", text, "i= at least");
  const Extents input = extents("input", {});
  const std::size_t rank = input.rank();
  const PerAxis<bool> causal = values.contains("causal")
                                   ? parse_booleans("mask gna causal", split(values["causal"], 'x'))
                                   : PerAxis<bool>(rank, false);
  TilingProblem problem;
  problem.mask = make_mask(input, extents("window", input), extents("stride", Extents(rank, 1)),
                           extents("dilation", Extents(rank, 1)), causal);
  const TilePair backward = [&] {
    if (values.contains("q-tile") && values.contains("kv-tile")) return TilePair{};
    if (values.contains("q-tile") != values.contains("kv-tile"))
      throw InvalidParameter("mask gna", text, "q-tile= and kv-tile= together, or neither");
    const Catalog catalog = builtin_catalog();
    return tile_pairs(catalog.backend(kDefaultBackend), rank, 128, Walk::kBackward).front();
  }();
  problem.tiles = {extents("q-tile", backward.q_tile), extents("kv-tile", backward.kv_tile)};
  return neighborhood_mask(problem);
}

bool has_prefix(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

void refuse_sizes(const Arguments& arguments, const std::string& mask) {
  for (const char* name : {"q-tiles", "kv-tiles", "seqlen-q", "seqlen-k", "q-tile", "kv-tile"}) {
    if (arguments.has(name)) {
      throw InvalidParameter(std::string("--") + name, "given together with --mask " + mask,
                             "no sizes: this mask brings its own");
    }
  }
}

}  // namespace

NamedMask read_mask(const Arguments& arguments) {
  NamedMask named;
  named.text = arguments.text("mask", "full");
  const std::string& text = named.text;
  const bool ranges =
      text == "full" || text == "causal" || has_prefix(text, "window:") || has_prefix(text, "document:");
  if (ranges) {
    const Sizes sizes = read_sizes(arguments);
    named.of_tokens = sizes.unit == 1;
    named.tokens = sizes.tiling;
    if (text == "full") named.mask = window_mask(sizes.tiling, {});
    if (text == "causal") named.mask = window_mask(sizes.tiling, {std::nullopt, 0});
    if (has_prefix(text, "window:")) named.mask = window(sizes, text.substr(7));
    if (has_prefix(text, "document:")) named.mask = document(sizes, text.substr(9));
    return named;
  }
  if (has_prefix(text, "gna:")) {
    refuse_sizes(arguments, "gna:");
    named.mask = neighborhood(text.substr(4));
    return named;
  }
  if (text != "-" && !std::filesystem::exists(text)) {
    const std::vector<std::string> names = {"full", "causal", "window:", "document:", "gna:"};
    throw UnknownName("mask", text, closest_name(text, names),
                      "full, causal, window:L,R, document:LEN,LEN,.., gna:i=..,w=.. or a file that exists");
  }
  refuse_sizes(arguments, "FILE");
  named.mask = parse_block_mask(read_file("mask", text), "mask file " + text);
  return named;
}

}  // namespace natten_sim::cli
