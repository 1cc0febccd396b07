// What FlashAttention-4 launches, against its own scheduler: scripts/compare_flash_attention_schedules.py ran
// the code of the release that the file names, for shapes that both sides generate alike.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <natten_sim/io/json_text.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/search/schedules/schedule_algorithm.hpp>
#include <natten_sim/sim/schedules/block_mask.hpp>
#include <natten_sim/study/kernel_schedule.hpp>

#include "catch.hpp"
#include "places.hpp"

namespace flash_attention_schedules_test {

using namespace natten_sim;

/// FNV-1a over 64-bit numbers.
class Digest {
 public:
  void add(std::int64_t number) {
    value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 1099511628211ULL;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream hex;
    hex << std::hex;
    hex.width(16);
    hex.fill('0');
    hex << value_;
    return hex.str();
  }

 private:
  std::uint64_t value_ = 14695981039346656037ULL;
};

struct Shape {
  std::int64_t architecture = 90, head_dim = 64, mask = 0, left = 0, right = 0;
  std::int64_t q_tokens = 1, kv_tokens = 1, heads = 1, batch = 1;
  bool deterministic = true;
};

/// Knuth's MMIX generator.
class Shapes {
 public:
  Shape next() {
    Shape shape;
    shape.architecture = below(2) == 0 ? 90 : 100;
    constexpr std::int64_t kHopper[] = {32, 64, 72, 96, 128, 192, 256}, kBlackwell[] = {32, 64, 96, 128};
    shape.head_dim = shape.architecture == 90 ? kHopper[below(7)] : kBlackwell[below(4)];
    shape.mask = below(3);
    shape.left = below(1500);
    shape.right = below(1500);
    const std::int64_t scale = below(32) == 0 ? 6 : 1;
    shape.q_tokens = scale * (1 + below(3000));
    shape.kv_tokens = shape.q_tokens;
    if (below(2) != 0) shape.kv_tokens = scale * (1 + below(3000));
    shape.heads = 1 + below(12);
    shape.batch = 1 + below(4);
    shape.deterministic = below(4) != 0;
    return shape;
  }

 private:
  std::int64_t below(std::uint64_t limit) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % limit);
  }
  std::uint64_t state_ = 2026;
};

constexpr MaskClass kMasks[] = {MaskClass::kFull, MaskClass::kCausal, MaskClass::kWindow};

SequenceWindow window_of(const Shape& shape) {
  if (shape.mask == 0) return {};
  if (shape.mask == 1) return {std::nullopt, 0};
  return {shape.left, shape.right};
}

void add(const Shape& shape, const Catalog& catalog, Digest& digest) {
  const Device& device = catalog.device(shape.architecture == 90 ? "h100" : "b200");
  const BackwardKernel& kernel = catalog.backward_kernel("fa4", device);
  const KernelTiles& tiles = *kernel.tiles_of(shape.head_dim, kMasks[shape.mask]);
  BackwardCall call;
  call.mask = kMasks[shape.mask];
  call.batch = shape.batch;
  call.heads = call.heads_kv = shape.heads;
  call.q_tokens = shape.q_tokens;
  call.kv_tokens = shape.kv_tokens;
  call.head_dim = shape.head_dim;
  call.sms = device.sms->value;
  const BackwardLaunch launch =
      kernel_launch(kernel, call, shape.deterministic ? ReductionMode::kDeterministic : ReductionMode::kUnordered)
          .value();
  ScheduleRequest request;
  request.problem.mask = window_mask(
      {shape.q_tokens, shape.kv_tokens, tiles.tokens.q, tiles.tokens.kv * tiles.ctas}, window_of(shape));
  request.problem.heads = static_cast<std::int32_t>(shape.heads * shape.batch);
  request.problem.workers = call.sms;
  request.dispatch = launch.dispatch;
  request.launch = launch.sections;
  const SchedulePlan plan = plan_backward(schedule_algorithm(launch.algorithm), request);
  const BackwardSchedule& schedule = plan.phases.front().schedule;
  for (const std::int64_t number : {tiles.tokens.q, tiles.tokens.kv, std::int64_t{tiles.ctas}}) digest.add(number);
  digest.add(kernel.turn_release == TurnRelease::kAfterNext ? 1 : 0);
  digest.add(shape.deterministic ? launch.sections.heads_per_section : 0);
  std::vector<const ScheduledChain*> of_first_head(static_cast<std::size_t>(request.problem.mask.kv_tiles));
  for (const ScheduledChain& chain : schedule.chains) {
    digest.add(chain.kv_tile);
    digest.add(chain.head);
    if (chain.head == 0) of_first_head[static_cast<std::size_t>(chain.kv_tile)] = &chain;
  }
  for (const ScheduledChain* chain : of_first_head) {
    for (const std::int32_t q_tile : chain->q_order) {
      digest.add(chain->kv_tile);
      digest.add(q_tile);
      if (!shape.deterministic) continue;
      const std::vector<std::int32_t>& order = schedule.dq_order[static_cast<std::size_t>(q_tile)];
      const auto at = std::find(order.begin(), order.end(), chain->kv_tile);
      digest.add(at - order.begin());
    }
  }
}

TEST_CASE("FlashAttention-4's own scheduler launches and orders as this project says, in 5,000 shapes") {
  std::ifstream file(std::string(natten_sim::test::kSourceDir) + "/tests/data/flash-attention-4-schedules.json");
  std::ostringstream text;
  text << file.rdbuf();
  const Json stored = parse_strict(text.str(), "tests/data/flash-attention-4-schedules.json");
  const study::Context context = study::default_context();
  // The release that the digests are of is the one that the kernel claims.
  CHECK(stored.at("release") ==
        context.catalog.backward_kernel("fa4", context.catalog.device("h100")).release);
  const auto shapes = stored.at("shapes").get<std::int64_t>();
  const auto per_digest = stored.at("shapes_per_digest").get<std::int64_t>();
  REQUIRE(shapes == 5000);
  Shapes generated;
  std::size_t differ = 0;
  for (const Json& expected : stored.at("digests")) {
    Digest digest;
    for (std::int64_t i = 0; i < per_digest; ++i) add(generated.next(), context.catalog, digest);
    differ += digest.text() == expected.get<std::string>() ? 0 : 1;
  }
  CHECK(stored.at("digests").size() == static_cast<std::size_t>(shapes / per_digest));
  CHECK(differ == 0);
}

}  // namespace flash_attention_schedules_test
