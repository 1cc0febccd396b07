#include <algorithm>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/catalog.hpp>

#include "catch.hpp"

namespace catalog_test {

using namespace natten_sim;

TEST_CASE("the catalog holds the presets, devices and backends that users expect") {
  const Catalog catalog = builtin_catalog();
  CHECK(catalog.preset("cosmos-predict1-7b").layout == Extents{16, 44, 80});
  CHECK(catalog.preset("hunyuan-video").layout == Extents{30, 48, 80});
  CHECK(catalog.preset("flux1-dev-4k").layout == Extents{256, 256});
  for (const char* name : {"a100", "a100-40gb", "a5000", "a6000", "a10", "l4", "l40s", "rtx3090", "rtx4090", "rtx5090",
                           "rtx-pro-6000", "h20", "h100", "h800", "h200", "gh200", "b200", "gb200", "b300", "gb10"})
    CHECK(catalog.device(name).name == name);
  for (const char* name : {"blackwell-fna", "hopper-fna", "cutlass-fna", "flex-fna"})
    CHECK(catalog.backend(name).name == name);
}

TEST_CASE("every entry names its source, and every reference between entries resolves") {
  const Catalog catalog = builtin_catalog();
  for (const Preset& preset : catalog.presets) {
    INFO(preset.name);
    CHECK_FALSE(preset.source.empty());
    for (const PublishedWindow& window : preset.windows) CHECK_FALSE(window.source.empty());
  }
  for (const Backend& backend : catalog.backends) CHECK_FALSE(backend.source.empty());
  for (const Device& device : catalog.devices) {
    INFO(device.name);
    CHECK_NOTHROW(catalog.backend(device.default_backend));
    CHECK_FALSE(known_numbers(device).empty());
    for (const DeviceNumber& number : known_numbers(device)) CHECK_FALSE(number.source.empty());
  }
}

/// CUDA C++ Programming Guide and NVIDIA's whitepapers: products of 16-bit types in a clock of an SM. GeForce cards
/// accumulate in fp32 at half the rate, an H20 runs at a quarter of an H100's, and boost clocks are above those that
/// tensor peaks are stated at; an H200 states a measured rate.
TEST_CASE("a device's products in a clock of an SM are those of its architecture") {
  const Catalog catalog = builtin_catalog();
  const std::pair<const char*, double> cases[] = {
      {"a100", 2048}, {"a5000", 1024}, {"a6000", 1024}, {"a10", 1024}, {"l4", 1024}, {"l40s", 1024},
      {"rtx3090", 512}, {"rtx4090", 512}, {"rtx5090", 512}, {"rtx-pro-6000", 1024}, {"h20", 1024},
      {"h100", 4096}, {"h800", 4096}, {"gh200", 4096}, {"b200", 8192}, {"gb200", 8192}, {"b300", 8192}};
  for (const auto& [name, flops] : cases) {
    const Device& device = catalog.device(name);
    INFO(name);
    const double in_a_clock =
        device.dense_bf16_flops_per_s->value / device.sms->value / device.boost_clock_hz->value;
    CHECK(in_a_clock <= 1.01 * flops);
    CHECK(in_a_clock >= 0.9 * flops);
  }
}

TEST_CASE("blackwell-fna has seven forward pairs in 3-D, 256 by 128 tokens each") {
  const Catalog catalog = builtin_catalog();
  const std::vector<TilePair> pairs = tile_pairs(catalog.backend("blackwell-fna"), 3, 128, Walk::kForward);
  CHECK(pairs.size() == 7);
  CHECK(pairs.front() == TilePair{{8, 4, 8}, {4, 4, 8}});
  for (const TilePair& pair : pairs) {
    CHECK(product(pair.q_tile, "tile") == 256);
    CHECK(product(pair.kv_tile, "tile") == 128);
  }
}

TEST_CASE("pairs that differ by schedule only count once, and head dims select tables") {
  const Catalog catalog = builtin_catalog();
  const Backend& hopper = catalog.backend("hopper-fna");
  CHECK(tile_pairs(hopper, 3, 128, Walk::kForward).size() == 2);
  CHECK(tile_pairs(hopper, 3, 64, Walk::kForward).front() == TilePair{{4, 4, 4}, {4, 4, 8}});
  CHECK_THROWS_AS(tile_pairs(hopper, 3, 80, Walk::kForward), InvalidParameter);
  CHECK_THROWS_AS(tile_pairs(catalog.backend("flex-fna"), 2, 64, Walk::kBackward), InvalidParameter);
  CHECK_THROWS_AS(tile_pairs(hopper, 4, 128, Walk::kForward), InvalidParameter);
  CHECK(catalog.backend("cutlass-fna").kv_tiling == KvTiling::kDynamic);
  CHECK(tile_pairs(catalog.backend("cutlass-fna"), 1, 64, Walk::kForward).front() == TilePair{{32}, {128}});
}

TEST_CASE("published windows fit their layouts and their tiles belong to a backend") {
  const Catalog catalog = builtin_catalog();
  for (const Preset& preset : catalog.presets) {
    for (const PublishedWindow& window : preset.windows) {
      INFO(preset.name << " " << to_string(window.window));
      CHECK_NOTHROW(make_mask(preset.layout, window.window, {}, window.dilation));
      for (const Extents& stride : window.strides)
        CHECK_NOTHROW(make_mask(preset.layout, window.window, stride, window.dilation));
      if (!window.tiles) continue;
      const std::vector<TilePair> pairs =
          tile_pairs(catalog.backend("blackwell-fna"), preset.layout.rank(), preset.head_dim, Walk::kForward);
      CHECK(std::find(pairs.begin(), pairs.end(), *window.tiles) != pairs.end());
    }
  }
}

TEST_CASE("an unknown name comes with the nearest one") {
  const Catalog catalog = builtin_catalog();
  try {
    (void)catalog.device("h200x");
    FAIL("accepted an unknown device");
  } catch (const UnknownName& error) {
    CHECK(error.hint() == "h200");
    CHECK(error.accepted().find("b200") != std::string::npos);
  }
}

TEST_CASE("user presets extend and replace the shipped ones") {
  Catalog catalog = builtin_catalog();
  add_presets(
      catalog,
      R"({"schema": "natten-sim.presets/1", "presets": [{"name": "mine", "layout": [8, 8], "heads": 2, "head_dim": 32, "sources": {"layout": "me"}}]})",
      "mine.json");
  CHECK(catalog.preset("mine").heads == 2);
  add_presets(
      catalog,
      R"({"schema": "natten-sim.presets/1", "presets": [{"name": "mine", "layout": [9], "sources": {"layout": "me"}}]})",
      "mine.json");
  CHECK(catalog.preset("mine").layout == Extents{9});
}

TEST_CASE("a device whose backend is unknown, and deep or NUL-ridden text, are refused") {
  Catalog catalog = builtin_catalog();
  const std::string device =
      R"({"schema": "natten-sim.devices/1", "devices": [{"name": "x", "arch": "sm90", "default_backend": ")";
  CHECK_THROWS_AS(add_devices(catalog, device + R"(hoper-fna"}]})", "file"), MalformedData);
  CHECK_NOTHROW(add_devices(catalog, device + R"(hopper-fna"}]})", "file"));
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK_THROWS_AS(
      add_presets(catalog, R"({"schema": "natten-sim.presets/1", "presets": )" + deep + "}", "file"),
      MalformedData);
  const std::string good = R"({"schema": "natten-sim.presets/1", "presets": []})";
  CHECK_NOTHROW(add_presets(catalog, good, "file"));
  CHECK_THROWS_AS(add_presets(catalog, good + std::string(1, '\0') + "junk", "file"), MalformedData);
}

TEST_CASE("malformed preset and device files are refused") {
  for (
      const char* text : {
          "",
          "[]",
          "{}",
          R"({"schema": "natten-sim.presets/2", "presets": []})",
          R"({"schema": "natten-sim.presets/1"})",
          R"({"schema": "natten-sim.presets/1", "presets": {}})",
          R"({"schema": "natten-sim.presets/1", "presets": [1]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"layout": [8]}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": []}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": [0]}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": [1, 2, 3, 4, 5]}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": [1.5]}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": [8], "attention_share": 2}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": [8], "dense_steps": 3}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "layout": [8], "windows": [{"window": [9]}]}]})",
          R"({"schema": "natten-sim.presets/1", "presets": [{"name": "x", "name": "y", "layout": [8]}]})",
      }) {
    INFO(text);
    Catalog catalog;
    CHECK_THROWS_AS(add_presets(catalog, text, "file"), MalformedData);
  }
  Catalog catalog;
  CHECK_THROWS_AS(
      add_devices(catalog,
                  R"({"schema": "natten-sim.devices/1", "devices": [{"name": "x", "arch": "sm90"}]})",
                  "file"),
      MalformedData);
  CHECK_THROWS_AS(
      add_devices(
          catalog,
          R"({"schema": "natten-sim.devices/1", "devices": [{"name": "x", "arch": "sm90", "default_backend": "hopper-fna", "sms": {"value": "many", "source": "?"}}]})",
          "file"),
      MalformedData);
}

}  // namespace catalog_test
