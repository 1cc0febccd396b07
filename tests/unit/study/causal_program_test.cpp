#include <natten_sim/core/error.hpp>
#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/kernel_times.hpp>
#include <natten_sim/study/time.hpp>

#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "places.hpp"

namespace causal_program_test {

using namespace natten_sim;
using study::PassTime;
using study::TimeQuestion;

/// Of hopper-fna on an H200 at head dim 64, as a file of their own.
Json shipped_costs() {
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/data/kernel-times.json");
  std::stringstream text;
  text << file.rdbuf();
  const Json all = parse_json(text.str());
  for (const Json& entry : all["kernels"]) {
    if (entry["kernel"] == "hopper-fna" && entry["device"] == "h200" && entry["head_dim"] == 64)
      return {{"schema", all["schema"]}, {"kernels", Json::array({entry})}};
  }
  throw MalformedData("data/kernel-times.json", "no such costs", "costs of hopper-fna");
}

TEST_CASE("launches on two axes of which one is causal have their own CTAs an SM, those on three have not") {
  TimeQuestion question{.kernel = "hopper-fna", .device = "h200"};
  question.sizes = {.heads = 99, .heads_kv = 99, .head_dim = 64, .head_dim_value = 64};
  Json file = shipped_costs();
  Json& costs = file["kernels"][0]["forward"];
  const double launch_ms = 1e-3 * costs["launch_us"].get<double>();
  costs["slowdown"] = 0.0;
  costs.erase("axes_tile_us");
  const auto context_of = [&](const Json& ctas, const Json& pace) {
    costs["causal_ctas_per_sm"] = ctas;
    costs["causal_two_axes"] = pace;
    study::Context context = study::default_context();
    add_kernel_times(context.catalog, file.dump(), "test");
    return context;
  };
  const auto ms = [&](int ctas, double pace) {
    return std::get<PassTime>(study::time(question, context_of(ctas, pace))).kernel_ms - launch_ms;
  };
  // 64 CTAs a head make 24 rounds of 264, or 16 of 396. With a causal axis they differ in length, so the ends do too.
  question.tiles = {{8, 8}, {16, 8}};
  for (const auto& [first, second] : {std::pair{false, true}, {true, false}, {true, true}, {false, false}}) {
    question.mask = make_mask({64, 64}, {64, 64}, {64, 64}, {}, {first, second});
    const bool equal = !first && !second;
    const double ratio = ms(3, 1.2) / ms(2, 1);
    if (equal) CHECK(ratio == Approx(1).epsilon(1e-6));
    else CHECK(ratio == Approx(1.2 * 2 / 3).epsilon(0.05));
    if (!equal) CHECK(ms(3, 1) < 0.75 * ms(2, 1));  // a third CTA that slows no other
  }
  question.tiles = {{4, 4, 4}, {4, 4, 8}};
  question.mask = make_mask({16, 32, 32}, {8, 16, 16}, {}, {}, {true, true, false});
  CHECK(ms(3, 1.2) == Approx(ms(2, 1)));
  // 128 CTAs on 132 SMs: each is alone on its SM, and as fast in either program.
  question.tiles = {{8, 8}, {16, 8}};
  question.mask = make_mask({64, 64}, {16, 16}, {}, {}, {true, false});
  question.sizes.heads = question.sizes.heads_kv = 2;
  CHECK(ms(3, 1.2) == Approx(ms(2, 1)));
  for (const double none : {0.0, -0.5, 101.0}) CHECK_THROWS_AS(context_of(3, none), MalformedData);
  for (const int none : {0, 65}) CHECK_THROWS_AS(context_of(none, 1.2), MalformedData);
}

}  // namespace causal_program_test
