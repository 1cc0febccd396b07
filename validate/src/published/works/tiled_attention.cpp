// Khan: TiledAttention. How fast a kernel in a tile language is beside PyTorch's, as far as the text gives
// numbers. Nothing here predicts a GB10's throughputs; this project's kernel on an H200 stands beside them.
#include <utility>

#include <fmt/format.h>

#include <natten_sim/io/catalog.hpp>
#include <natten_sim/io/json.hpp>
#include <natten_sim/validate/published/published_work.hpp>

namespace natten_sim::validate::works {
namespace {

constexpr const char* kNoRates = "a GB10's rates are not known";

void add_tiled_ratios(const Json& paper, std::vector<PublishedRow>& rows) {
  const Json& means = paper["mean_ratio"];
  for (const auto& [head_dim, ratio] : means["head_dims"].items()) {
    rows.push_back(
        placed(shown_row(means["figure"], fmt::format("head dim {}, mean over 20 points", head_dim),
                         ratio.get<double>(), {}, kNoRates),
               {.unit = "of PyTorch's throughput"}));
  }
  const Json& all = paper["all"];
  for (const auto& [key, item] :
       {std::pair{"mean_ratio", "mean over 80 points"}, std::pair{"median_ratio", "median over 80 points"}}) {
    rows.push_back(placed(shown_row(all["figure"], item, all[key].get<double>(), {}, kNoRates),
                          {.unit = "of PyTorch's throughput"}));
  }
  rows.push_back(placed(shown_row(all["figure"], "points of 80 that it wins", all["wins"].get<double>(), {}),
                        {.unit = "points"}));
}

void add_tiled_throughput(const Json& paper, std::vector<PublishedRow>& rows) {
  const Json& throughput = paper["throughput"];
  for (const char* kernel : {"tiled", "auto"}) {
    for (const Json& point : throughput["points"]) {
      rows.push_back(placed(
          shown_row(throughput["figure"], fmt::format("{}, {} tokens", kernel, point["tokens"].get<int>()),
                    point[kernel].get<double>(), {}, kNoRates),
          {.unit = "TFLOP/s", .series = kernel, .axis = "tokens", .at = point["tokens"].get<double>()}));
    }
  }
  for (const Json& point : paper["kernel_time"]["points"]) {
    for (const char* kernel : {"tiled", "auto", "flash"}) {
      rows.push_back(placed(shown_row(paper["kernel_time"]["figure"],
                                      fmt::format("{} mask, {}", point["mask"].get<std::string>(), kernel),
                                      point[kernel].get<double>(), {}, kNoRates),
                            {.unit = "ms"}));
    }
  }
}

std::vector<PublishedRow> reproduce_tiled_attention(const study::Context&) {
  const Json paper = Json::parse(published_tiled_attention_figures());
  std::vector<PublishedRow> rows;
  add_tiled_throughput(paper, rows);
  add_tiled_ratios(paper, rows);
  return rows;
}

}  // namespace

PublishedWork tiled_attention() {
  return {.name = "tiled-attention",
          .title = "the TiledAttention paper beside this project's kernel, measured",
          .source = "Khan, TiledAttention: a CUDA Tile SDPA Kernel for PyTorch, arXiv 2603.01960",
          .position = 50,
          .reproduce = reproduce_tiled_attention,
          .figures = {"figure 2", "section 5.4", "figure 4", "section 5.1"}};
}

}  // namespace natten_sim::validate::works
