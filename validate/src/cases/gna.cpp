#include <algorithm>
#include <memory>
#include <optional>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/io/strict_object.hpp>
#include <natten_sim/kernels/attention_forward/oracle.hpp>
#include <natten_sim/sim/tiles/tile_walk.hpp>
#include <natten_sim/validate/cases/gna.hpp>
#include <natten_sim/validate/cases/registry.hpp>
#include <natten_sim/validate/compare/comparison.hpp>
#include <natten_sim/validate/record/gna_costs.hpp>

#include "device_number.hpp"
#include "registry/point_fields.hpp"

namespace natten_sim::validate {
namespace {

namespace forward = kernels::attention_forward;

Point read_gna(const StrictObject& fields) {
  GnaCase point;
  point.heads = fields.integer_or("heads", 1, {1, 1 << 16});
  point.heads_kv = fields.integer_or("heads_kv", point.heads, {1, point.heads});
  if (point.heads % point.heads_kv != 0) fields.fail("heads_kv", "a divisor of heads");
  point.head_dim = fields.integer_or("head_dim", 128, {16, 1024});
  point.dtype = parse_name<Dtype>(fields.text_or("dtype", "bf16"));
  point.input = read_extents(fields, "input");
  const std::size_t rank = point.input.rank();
  point.window = read_extents(fields, "window");
  point.stride = fields.has("stride") ? read_extents(fields, "stride") : ones(rank);
  point.dilation = fields.has("dilation") ? read_extents(fields, "dilation") : ones(rank);
  point.causal = read_causal(fields, rank);
  point.add_kv = fields.integer_or("add_kv", 0, {0, 1 << 24});
  point.q_tile = read_extents(fields, "q_tile");
  point.kv_tile = read_extents(fields, "kv_tile");
  point.dispatch = parse_name<forward::Dispatch>(fields.text_or("dispatch", "ticket"));
  require_valid(point.mask());
  require_extents("q_tile", point.q_tile, rank, 1, 256);
  require_extents("kv_tile", point.kv_tile, rank, 1, 256);
  return point;
}

std::int64_t tokens_of(const GnaCase& point) { return product(point.input, "tokens"); }

bool dilated(const GnaCase& point) { return !(point.dilation == ones(point.input.rank())); }

std::string causal_text(const GnaCase& point) {
  std::string text;
  for (const bool causal : point.causal) text += (text.empty() ? "" : "x") + std::string(causal ? "1" : "0");
  return text;
}
bool causal_somewhere(const GnaCase& point) {
  return std::find(point.causal.begin(), point.causal.end(), true) != point.causal.end();
}

/// Tokens of a box that lie within its dilation group.
std::int64_t tokens_in_box(const NeighborhoodMask& mask, std::int64_t group, const Extents& origin,
                           const Extents& tile) {
  std::int64_t tokens = 1;
  for (std::size_t axis = mask.rank(); axis-- > 0; group /= mask[axis].dilation) {
    const std::int64_t length = residue_class(mask[axis], group % mask[axis].dilation).length;
    tokens *= std::clamp<std::int64_t>(length - origin[axis], 0, tile[axis]);
  }
  return tokens;
}

struct Storage {
  kernels::DeviceBuffer q, k, v, o, lse, extra_k, extra_v;

  [[nodiscard]] forward::Tensors tensors() const {
    return {q.data(),       k.data(),      v.data(), o.data(), static_cast<float*>(lse.data()),
            extra_k.data(), extra_v.data()};
  }
};

Storage random_storage(const GnaCase& point, std::uint64_t seed) {
  const std::int64_t rows = point.heads * tokens_of(point);
  const std::int64_t elements = rows * point.head_dim;
  const std::int64_t kv_elements = elements / point.heads * point.heads_kv;
  const auto bytes = static_cast<std::size_t>(elements) * 2,
             kv_bytes = static_cast<std::size_t>(kv_elements) * 2;
  Storage made{kernels::DeviceBuffer(bytes),
               kernels::DeviceBuffer(kv_bytes),
               kernels::DeviceBuffer(kv_bytes),
               kernels::DeviceBuffer(bytes),
               kernels::DeviceBuffer(static_cast<std::size_t>(rows) * 4),
               kernels::DeviceBuffer(),
               kernels::DeviceBuffer()};
  kernels::fill_random(made.q, elements, point.dtype, seed * 3);
  kernels::fill_random(made.k, kv_elements, point.dtype, seed * 3 + 1);
  kernels::fill_random(made.v, kv_elements, point.dtype, seed * 3 + 2);
  if (point.add_kv > 0) {
    const std::int64_t extra_elements = point.heads_kv * point.add_kv * point.head_dim;
    made.extra_k = kernels::DeviceBuffer(static_cast<std::size_t>(extra_elements) * 2);
    made.extra_v = kernels::DeviceBuffer(static_cast<std::size_t>(extra_elements) * 2);
    kernels::fill_random(made.extra_k, extra_elements, point.dtype, seed * 5 + 3);
    kernels::fill_random(made.extra_v, extra_elements, point.dtype, seed * 5 + 4);
  }
  made.o.fill(0xff);  // NaN
  made.lse.fill(0xff);
  return made;
}

forward::Plan plan_of(const Bench& bench, const GnaCase& point, const forward::Problem& problem,
                      const Storage& storage) {
  forward::Schedule schedule;
  schedule.dispatch = point.dispatch;
  return forward::Plan(bench.gpu(), problem, forward::best_kernel(problem), schedule, storage.tensors());
}

}  // namespace

namespace cases {

CaseKind gna();
CaseKind gna() {
  return {"gna",
          {"heads", "heads_kv", "head_dim", "dtype", "input", "window", "stride", "dilation", "causal",
           "add_kv", "q_tile", "kv_tile", "dispatch"},
          read_gna};
}

}  // namespace cases

std::vector<forward::VisitedTile> visited_tiles(const NeighborhoodMask& mask, const Extents& q_tile,
                                                const Extents& kv_tile) {
  TilingProblem problem;
  problem.mask = mask;
  problem.tiles = {q_tile, kv_tile};
  std::vector<forward::VisitedTile> tiles;
  for_each_tile_visit(problem, [&](const TileVisit& visit) {
    const bool inside =
        tokens_in_box(mask, visit.group, visit.kv_origin, kv_tile) == product(kv_tile, "kv_tile");
    tiles.push_back(
        {visit.group, visit.q_origin, visit.kv_origin, inside && visit.work == TileWork::kFull});
  });
  return tiles;
}

std::int64_t loaded_sectors(const GnaCase& point, const std::vector<forward::VisitedTile>& visits,
                            std::int64_t sector_bytes) {
  std::int64_t q_tiles = 0;
  const forward::VisitedTile* before = nullptr;
  for (const forward::VisitedTile& visit : visits) {
    if (before == nullptr || before->group != visit.group || !(before->q_origin == visit.q_origin)) ++q_tiles;
    before = &visit;
  }
  const std::int64_t side = product(point.kv_tile, "kv_tile");
  const std::int64_t kv_tiles =
      static_cast<std::int64_t>(visits.size()) + q_tiles * ((point.add_kv + side - 1) / side);
  const std::int64_t rows = q_tiles * product(point.q_tile, "q_tile") + 2 * kv_tiles * side;
  const std::int64_t row_bytes = point.head_dim * element_bytes(point.dtype);
  return checked_multiply(checked_multiply(rows, point.heads, "sectors"), row_bytes, "sectors") /
         sector_bytes;
}

NeighborhoodMask GnaCase::mask() const { return make_mask(input, window, stride, dilation, causal); }

forward::Problem GnaCase::problem() const {
  forward::Problem made;
  made.heads = heads;
  made.heads_kv = heads_kv;
  made.q_tokens = made.kv_tokens = tokens_of(*this);
  made.head_dim = head_dim;
  made.dtype = dtype;
  made.q = made.o = forward::heads_last(heads, made.q_tokens, head_dim);
  made.k = made.v = forward::heads_last(heads_kv, made.q_tokens, head_dim);
  made.mask = forward::Neighborhood{mask(), q_tile, kv_tile, visited_tiles(mask(), q_tile, kv_tile)};
  made.extra_tokens = add_kv;
  made.extra_k = made.extra_v = forward::heads_last(heads_kv, add_kv, head_dim);
  return made;
}

std::string GnaCase::key() const {
  return "gna h" + std::to_string(heads) + (heads_kv != heads ? "/" + std::to_string(heads_kv) : "") + " d" +
         std::to_string(head_dim) + " " + to_string(dtype) + " " + to_string(input) + " window " +
         to_string(window) + " stride " + to_string(stride) +
         (dilated(*this) ? " dilation " + to_string(dilation) : "") +
         (causal_somewhere(*this) ? " causal " + causal_text(*this) : "") +
         (add_kv > 0 ? " add_kv " + std::to_string(add_kv) : "") + " tiles " + to_string(q_tile) + "/" +
         to_string(kv_tile) + " " + to_string(dispatch);
}

std::string GnaCase::group() const {
  return "gna " + std::to_string(input.rank()) + "-D" + (dilated(*this) ? ", dilated" : "") +
         (causal_somewhere(*this) ? ", causal" : "") + (add_kv > 0 ? ", additional keys" : "");
}

std::vector<Parameter> GnaCase::parameters() const {
  return {{"kernel", "gna"},
          {"heads", heads},
          {"heads_kv", heads_kv},
          {"head_dim", head_dim},
          {"dtype", to_string(dtype)},
          {"input", to_string(input)},
          {"window", to_string(window)},
          {"stride", to_string(stride)},
          {"dilation", to_string(dilation)},
          {"causal", causal_text(*this)},
          {"add_kv", add_kv},
          {"q_tile", to_string(q_tile)},
          {"kv_tile", to_string(kv_tile)},
          {"dispatch", to_string(dispatch)}};
}

std::vector<Prediction> GnaCase::predict(const Device& device, Fidelity fidelity) const {
  const std::vector<forward::VisitedTile> visits = visited_tiles(mask(), q_tile, kv_tile);
  const std::int64_t sector_bytes = number(device, device.l2.sector_bytes, "l2_sector_bytes");
  std::vector<Prediction> predictions = {{"l2_read_sectors", "visited tiles, whole boxes",
                                          static_cast<double>(loaded_sectors(*this, visits, sector_bytes)),
                                          false}};
  const std::optional<double> cold = cold_reads(*this, device);
  if (cold) predictions.push_back({"dram_read_bytes", "every operand once", *cold, false});
  const std::optional<double> timed =
      fidelity == Fidelity::kTimed ? timed_reads(*this, device) : std::nullopt;
  if (timed) predictions.push_back({"dram_read_bytes", "timed wavefronts", *timed, false});
  if (cold || fidelity == Fidelity::kTimed) {
    if (const std::optional<GnaTime> time = predicted_time(*this, device))
      predictions.push_back({std::string(kLaunchTime),
                             cold ? "item costs, cold reads" : "item costs, timed reads", time->ns,
                             time->fitted});
  }
  return predictions;
}

Launch GnaCase::prepare(Bench& bench, std::uint64_t seed) const {
  const Storage storage = random_storage(*this, seed);
  const auto plan = std::make_shared<const forward::Plan>(plan_of(bench, *this, problem(), storage));
  return [plan, storage] { plan->launch(); };
}

CheckedPoint GnaCase::check(Bench& bench, std::uint64_t seed) const {
  const forward::Problem whole = problem();
  const Storage storage = random_storage(*this, seed);
  const forward::Plan plan = plan_of(bench, *this, whole, storage);
  plan.launch();
  const forward::Deviation off =
      forward::deviation(whole, storage.tensors(), forward::reference_on_gpu(whole, storage.tensors()));
  CheckedPoint checked;
  checked.ran = true;
  checked.error = off.relative_norm;
  checked.passed = off.within_bound();
  return checked;
}

std::vector<Point> GnaCase::to_check(CheckLengths) const {
  const std::size_t rank = input.rank();
  const std::int64_t most = rank == 1 ? 1000 : rank == 2 ? 45 : rank == 3 ? 20 : 10;
  GnaCase checked = *this;
  checked.heads = heads == heads_kv ? std::min<std::int64_t>(heads, 3) : 4;
  checked.heads_kv = heads == heads_kv ? checked.heads : 2;
  checked.add_kv = std::min<std::int64_t>(add_kv, 300);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    checked.input[axis] = std::min(input[axis], most - static_cast<std::int64_t>(axis));
    checked.dilation[axis] = std::min<std::int64_t>(dilation[axis], 3);
    checked.window[axis] =
        std::min(window[axis], std::max<std::int64_t>(checked.input[axis] / checked.dilation[axis] / 2, 1));
    checked.stride[axis] = std::min(stride[axis], checked.window[axis]);
  }
  return {checked};
}

std::optional<KernelRun> GnaCase::kernel_run() const {
  if (add_kv > 0) return std::nullopt;  // a pass of its own in a KernelRun
  KernelRun run{.kernel = "gna", .device = "", .input = input, .window = window};
  run.stride = stride;
  run.dilation = dilation;
  run.causal = causal;
  run.q_tile = q_tile;
  run.kv_tile = kv_tile;
  if (dispatch == forward::Dispatch::kStatic) run.schedule = KernelSchedule::kPingpong;
  run.heads = heads;
  run.head_dim = head_dim;
  run.dtype = dtype;
  return run;
}

void GnaCase::require_built() const {
  forward::Problem shape;
  shape.head_dim = head_dim;
  shape.dtype = dtype;
  shape.mask = forward::Neighborhood{};
  const forward::KernelShape kernel = forward::best_kernel(shape);
  const auto require_tokens = [](const char* name, const Extents& tile, int tokens) {
    if (product(tile, name) != tokens)
      throw InvalidParameter(name, to_string(tile), std::to_string(tokens) + " tokens");
  };
  require_tokens("q_tile", q_tile, kernel.q_tile);
  require_tokens("kv_tile", kv_tile, kernel.kv_tile);
  if (input.rank() == 4 && (q_tile[0] != 1 || kv_tile[0] != 1)) {
    throw InvalidParameter(q_tile[0] != 1 ? "q_tile" : "kv_tile",
                           to_string(q_tile[0] != 1 ? q_tile : kv_tile),
                           "side 1 along the first of four axes");
  }
}

std::optional<double> GnaCase::operations() const {
  double pairs = 1;
  const NeighborhoodMask axes = mask();
  for (std::size_t axis = 0; axis < axes.rank(); ++axis) {
    double of_axis = 0;
    for (std::int64_t residue = 0; residue < axes[axis].dilation; ++residue) {
      const AxisGroup group = residue_class(axes[axis], residue);
      for (std::int64_t query = 0; query < group.length; ++query) {
        const TokenRange range = attended_range(group, query);
        of_axis += static_cast<double>(range.end - range.begin);
      }
    }
    pairs *= of_axis;
  }
  pairs += static_cast<double>(tokens_of(*this)) * static_cast<double>(add_kv);
  return 4 * pairs * static_cast<double>(head_dim * heads);
}

}  // namespace natten_sim::validate
