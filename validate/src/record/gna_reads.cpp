// What neighborhood attention reads from DRAM.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/kernels/attention_forward/tile_order.hpp>
#include <natten_sim/validate/cases/gna.hpp>
#include <natten_sim/validate/record/kernel_pace.hpp>

#include "device_number.hpp"
#include "reuse_answer.hpp"

namespace natten_sim::validate {
namespace {

namespace forward = kernels::attention_forward;

/// Bytes of Q, or of O, of one head.
std::int64_t operand_bytes(const GnaCase& point) {
  return product(point.input, "tokens") * point.head_dim * element_bytes(point.dtype);
}

/// Where a tile stands in a row-major grid of the layout's tiles, axes in `order`.
std::int64_t place_of(const Extents& origin, const Extents& tile, const GnaCase& point,
                      const PerAxis<std::size_t>& order) {
  std::int64_t place = 0;
  for (const std::size_t axis : order)
    place = place * ceil_divide(point.input[axis], tile[axis]) + origin[axis] / tile[axis];
  return place;
}

/// The KV tiles of each Q tile, as the kernel walks them: those that need no mask first.
KvLists kernel_lists(const GnaCase& point, const forward::Neighborhood& neighborhood,
                     const PerAxis<std::size_t>& order) {
  KvLists walk;
  for (const forward::WalkedTile& walked : forward::walked_tiles(neighborhood)) {
    const auto q_tile = static_cast<std::size_t>(place_of(walked.tile->q_origin, point.q_tile, point, order));
    if (walk.lists.size() <= q_tile) walk.lists.resize(q_tile + 1);
    walk.lists[q_tile].push_back(
        static_cast<std::int32_t>(place_of(walked.tile->kv_origin, point.kv_tile, point, order)));
  }
  return walk;
}

/// The question's axes stand as the kernel takes its tiles, the fastest last.
std::optional<double> simulate(const GnaCase& point, const Device& device) {
  const auto dilated = [](std::int64_t dilation) { return dilation != 1; };
  const auto causal = std::count(point.causal.begin(), point.causal.end(), true);
  if (point.add_kv > 0 || std::any_of(point.dilation.begin(), point.dilation.end(), dilated))
    return std::nullopt;
  if (causal != 0 && static_cast<std::size_t>(causal) != point.causal.rank()) return std::nullopt;
  kernels::AttentionProblem sequence;
  sequence.head_dim = point.head_dim;
  const forward::Problem problem = point.problem();
  const forward::KernelShape shape = forward::best_kernel(problem);
  kernels::AttentionVariant variant{shape.q_tile, shape.kv_tile, shape.stages, 1};
  variant.engine = kernels::AttentionEngine::kWgmma;
  const std::optional<study::TimedRun> timed = timed_run(device, sequence, variant);
  if (!timed) return std::nullopt;
  const PerAxis<std::size_t> order = forward::tile_order(point.mask());
  study::ReuseQuestion question;
  question.subject = study::AttentionSubject{.seqlen = forward::in_order(point.input, order),
                                             .window = forward::in_order(point.window, order),
                                             .stride = forward::in_order(point.stride, order),
                                             .causal = causal != 0,
                                             .heads = point.heads,
                                             .heads_kv = point.heads_kv,
                                             .head_dim = point.head_dim,
                                             .dtype = point.dtype,
                                             .q_tile = forward::in_order(point.q_tile, order),
                                             .kv_tile = forward::in_order(point.kv_tile, order),
                                             .schedule = point.dispatch == forward::Dispatch::kStatic
                                                             ? CtaSchedule::kPersistent
                                                             : CtaSchedule::kGrid,
                                             .workers = device.sms->value};
  question.sector_bytes = number(device, device.l2.sector_bytes, "l2_sector_bytes");
  question.method = *timed;
  question.order =
      study::OwnOrder{"kernel", kernel_lists(point, std::get<forward::Neighborhood>(problem.mask), order)};
  return static_cast<double>(*reuse_on(device, std::move(question)).dram_read_bytes);
}

}  // namespace

std::optional<double> cold_reads(const GnaCase& point, const Device& device) {
  const std::int64_t operand = operand_bytes(point);
  if (!device.l2.effective_bytes || 4 * operand > device.l2.effective_bytes->value) return std::nullopt;
  return static_cast<double>((point.heads + 2 * point.heads_kv) * operand +
                             2 * point.heads_kv * point.add_kv * point.head_dim * element_bytes(point.dtype));
}

std::optional<double> timed_reads(const GnaCase& point, const Device& device) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, std::optional<double>> known;
  const std::pair key(constants_key(device), point.key());
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const std::optional<double> reads = simulate(point, device);
  const std::lock_guard lock(mutex);
  return known[key] = reads;
}

}  // namespace natten_sim::validate
