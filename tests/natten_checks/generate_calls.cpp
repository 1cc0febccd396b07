// generate_calls VERSION ACCEPTED REFUSED [SEED]: random calls of a release of NATTEN as JSON Lines: as many that the
// library's rules accept as asked for on the compute capability of each device, and as many refused ones; then what
// 127 searches on a GB10 advise, which has fewer tiles than 0.21.6 gave it. Without SEED that of NATTEN_SIM_SEED, else always
// the same one. check_calls.py puts the calls to NATTEN itself.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>
#include <natten_sim/core/natten_call.hpp>
#include <natten_sim/io/catalog.hpp>
#include <natten_sim/models/tiles/tile_count.hpp>
#include <natten_sim/report/json.hpp>
#include <natten_sim/report/natten_emit.hpp>
#include <natten_sim/study/search.hpp>

namespace {

using namespace natten_sim;
using namespace natten_sim::report;

class RandomCalls {
 public:
  RandomCalls(std::uint64_t seed, const NattenRules& rules) : random_(seed), rules_(rules) {}

  /// On this compute capability, or on any.
  NattenCall call(std::optional<std::int64_t> capability) {
    NattenCall call;
    const auto rank = static_cast<std::size_t>(pick(1, 3));
    add_mask(call, rank);
    call.batch = pick(1, 4);
    call.heads_kv = pick(1, 4);
    call.heads = call.heads_kv * pick(1, 3);
    call.compute_capability = one_of<std::int64_t>({70, 75, 80, 86, 89, 90, 90, 90, 100, 100, 103, 120, 121});
    if (capability) call.compute_capability = *capability;
    call.head_dim = one_of<std::int64_t>({16, 32, 32, 64, 64, 64, 128, 128, 128, 256, 40, 72, 8, 512, 192});
    call.head_dim_value = chance(15) ? call.head_dim : one_of<std::int64_t>({32, 64, 128, 24});
    call.dtype = one_of<Dtype>(
        {Dtype::kFp16, Dtype::kBf16, Dtype::kFp16, Dtype::kBf16, Dtype::kFp32, Dtype::kE4m3, Dtype::kE5m2});
    call.requires_grad = chance(2);
    call.deterministic = !chance(10);
    if (chance(2)) call.backend = pick_backend(call);
    add_tiles(call, rank);
    if (!chance(4)) call.kernel_schedule = one_of<std::string>({"non", "coop", "pp"});
    if (!chance(4)) call.additional_keys = pick(1, 300);
    call.torch_compile = !chance(8);
    if (!chance(3)) break_something(call, rank);
    if (capability) call.compute_capability = *capability;
    return call;
  }

 private:
  /// Where most calls go: the device's own backends.
  NattenBackend pick_backend(const NattenCall& call) {
    if (!chance(8)) return one_of<NattenBackend>({NattenBackend::kHopperFna, NattenBackend::kBlackwellFna});
    if (call.compute_capability == 90 && chance(2)) return NattenBackend::kHopperFna;
    if (call.compute_capability >= 100 && call.compute_capability < 110 && chance(2)) {
      return NattenBackend::kBlackwellFna;
    }
    return chance(2) ? NattenBackend::kCutlassFna : NattenBackend::kFlexFna;
  }

  void add_mask(NattenCall& call, std::size_t rank) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t length = pick(2, 60), dilation = chance(2) ? 1 : pick(1, 3);
      const std::int64_t widest = std::max<std::int64_t>(2, length / dilation);
      const std::int64_t window = chance(6) ? pick(2, widest) : widest;
      call.input.push_back(std::max(length, 2 * dilation));
      call.window.push_back(window);
      call.stride.push_back(chance(2) ? 1 : pick(1, window));
      call.dilation.push_back(dilation);
      call.causal.push_back(!chance(4));
    }
    if (chance(2)) return;
    if (!chance(5)) call.stride = {};
    if (!chance(5)) call.causal = {};
    if (!chance(8)) {  // dense
      call.window = call.input;
      call.dilation = Extents(rank, 1);
      call.causal = PerAxis<bool>(rank, rank == 1 && chance(2));
    }
  }

  void add_tiles(NattenCall& call, std::size_t rank) {
    const NattenBackend backend = call.backend ? *call.backend : pick_backend(call);
    for (const Walk pass : {Walk::kForward, Walk::kBackward}) {
      if (chance(2)) continue;
      const auto& table = pass == Walk::kForward ? rules_.of(backend).forward : rules_.of(backend).backward;
      if (table.empty()) continue;
      for (int attempt = 0; attempt < 50; ++attempt) {
        const BackendTiles& entry =
            table[static_cast<std::size_t>(pick(0, static_cast<int>(table.size()) - 1))];
        if (entry.tiles.q_tile.rank() != rank) continue;
        if (chance(6) && entry.head_dim && *entry.head_dim != call.head_dim) continue;
        (pass == Walk::kForward ? call.tiles : call.backward_tiles) = entry.tiles;
        break;
      }
    }
  }

  /// One thing that NATTEN refuses, mostly.
  void break_something(NattenCall& call, std::size_t rank) {
    const auto axis = static_cast<std::size_t>(pick(0, static_cast<int>(rank) - 1));
    switch (pick(0, 10)) {
      case 0:
        call.window[axis] = pick(-1, 1);
        break;
      case 1:
        call.window[axis] = call.input[axis] / call.dilation[axis] + pick(1, 3);
        break;
      case 2:
        call.stride = Extents(rank, 1);
        call.stride[axis] = chance(2) ? call.window[axis] + pick(1, 3) : pick(-1, 0);
        break;
      case 3:
        call.dilation[axis] = pick(-1, 0);
        break;
      case 4:
        call.heads = call.heads_kv + 1;
        call.heads_kv += 2;
        break;
      case 5:
        call.head_dim += pick(1, 7);
        if (chance(2)) call.head_dim_value = call.head_dim;
        break;
      case 6:
        call.kernel_schedule = one_of<std::string>({"cooperative", "ws", "pingpong"});
        break;
      case 7:
        if (call.tiles) call.tiles->q_tile[axis] += pick(1, 4);
        break;
      case 8:
        if (call.backward_tiles) std::swap(call.backward_tiles->q_tile, call.backward_tiles->kv_tile);
        break;
      case 9:
        call.compute_capability = one_of<std::int64_t>({50, 52, 60, 61, 87});
        break;
      default:
        call.stride.push_back(1);
        if (call.stride.rank() == rank) call.stride.push_back(1);
        break;
    }
  }

  std::int64_t pick(std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random_);
  }
  /// False once in `n`.
  bool chance(std::int64_t n) { return pick(1, n) != 1; }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[pick(0, static_cast<std::int64_t>(values.size()) - 1)];
  }

  std::mt19937_64 random_;
  const NattenRules& rules_;
};

/// The argument, or the variable that the tests read, or the stored one.
std::uint64_t seed_of(int argc, char** argv) {
  constexpr std::uint64_t kStored = 2161;
  const char* given = argc > 4 ? argv[4] : std::getenv("NATTEN_SIM_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : kStored;
}

template <typename T>
Json array_of(const PerAxis<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(value);
  return array;
}

Json tiles_of(const std::optional<TilePair>& tiles) {
  return tiles ? Json::array({array_of(tiles->q_tile), array_of(tiles->kv_tile)}) : Json(nullptr);
}

Json fields_of(const NattenCall& call) {
  return {{"input", array_of(call.input)},
          {"window", array_of(call.window)},
          {"stride", array_of(call.stride)},
          {"dilation", array_of(call.dilation)},
          {"causal", array_of(call.causal)},
          {"batch", call.batch},
          {"heads", call.heads},
          {"heads_kv", call.heads_kv},
          {"dim", call.head_dim},
          {"dim_value", call.head_dim_value},
          {"dtype", to_string(call.dtype)},
          {"compute_capability", call.compute_capability},
          {"requires_grad", call.requires_grad},
          {"deterministic", call.deterministic},
          {"backend", call.backend ? Json(to_string(*call.backend)) : Json(nullptr)},
          {"tiles", tiles_of(call.tiles)},
          {"backward_tiles", tiles_of(call.backward_tiles)},
          {"kernel_schedule", call.kernel_schedule},
          {"additional_keys", call.additional_keys},
          {"torch_compile", call.torch_compile}};
}

/// Null for additional keys in tiles that the profiler would hand on to a dense kernel without them.
Json profiler_line(const NattenRules& rules, const NattenCall& call) {
  try {
    return natten_profiler_command(rules, call);
  } catch (const InvalidParameter&) {
    if (call.additional_keys == 0) throw;
    return nullptr;
  }
}

void print_accepted(const NattenRules& rules, const NattenCall& call, bool winner = false) {
  const NattenDispatch dispatch = dispatch_of(rules, call);
  Json line = {
      {"accepted", true},
      {"winner", winner},
      {"call", fields_of(call)},
      {"python", natten_python(rules, call)},
      {"profiler", profiler_line(rules, call)},
      {"kernel", dispatch.dense_path ? fmha_name(dispatch.fmha) : to_string(dispatch.backend)},
      {"tiles", tiles_of(dispatch.dense_path ? dispatch.fmha_tiles : dispatch.tiles)},
      {"backward_tiles",
       tiles_of(dispatch.dense_path ? dispatch.fmha_backward_tiles : dispatch.backward_tiles)},
      {"schedule", dispatch.kernel_schedule},
      {"additional_kernel",
       !dispatch.dense_path && call.additional_keys > 0 ? Json(fmha_name(dispatch.fmha)) : Json(nullptr)}};
  const bool fp8 = call.dtype == Dtype::kE4m3 || call.dtype == Dtype::kE5m2;  // FlexAttention has none
  if (call.additional_keys == 0 && !fp8 && product(call.input, "tokens") <= 100) {
    NeighborhoodMask mask = make_mask(call.input, call.window, call.stride, call.dilation, call.causal);
    for (AxisMask& axis : mask)  // in every other script
      axis.cyclic = call.batch % 2 == 0 && !axis.causal && axis.length % axis.dilation == 0;
    const Extents ones(mask.rank(), 1);
    line["flex_script"] = flex_attention_script(call, cyclic_of(mask));
    line["attended_pairs"] = count_tiles({.mask = mask, .tiles = {ones, ones}}).attended_pairs;
  }
  std::cout << line.dump() << "\n";
}

void print_refused(const NattenCall& call, const NattenRefusal& refusal) {
  std::cout << Json{{"accepted", false},      {"call", fields_of(call)},
                    {"rule", refusal.rule},   {"parameter", refusal.parameter},
                    {"value", refusal.value}, {"nearest", refusal.nearest}}
                   .dump()
            << "\n";
}

/// A question of which the layout, the head dim, the type and the passes are drawn.
study::SearchQuestion random_search(std::mt19937_64& random, const std::string& version) {
  const auto pick = [&](std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
  };
  study::SearchQuestion question;
  question.setting.device = "gb10";
  question.setting.natten = version;
  question.setting.head_dim = std::int64_t{16} << pick(1, 3);
  question.setting.heads = pick(1, 8);
  question.setting.dtype = pick(0, 1) == 0 ? Dtype::kFp16 : Dtype::kBf16;
  question.phase = pick(0, 3) == 0 ? SearchPhase::kBoth : SearchPhase::kForward;
  question.top = 1;
  const std::int64_t rank = pick(1, 3), longest = rank == 1 ? 4'096 : rank == 2 ? 96 : 24;
  for (std::int64_t axis = 0; axis < rank; ++axis) question.setting.input.push_back(pick(8, longest));
  if (pick(0, 1) == 0) return question;
  for (const std::int64_t length : question.setting.input) question.window.push_back(pick(2, length));
  if (pick(0, 1) == 0) question.objective = Objective::kWorst;  // by time the largest tiles lose
  return question;
}

void print_winners(const NattenRules& rules, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const study::Context context = study::default_context();
  constexpr int kWinners = 127;
  for (int printed = 0; printed < kWinners;) {
    const study::SearchAnswer answer = study::search(random_search(random, rules.version), context);
    if (answer.candidates.empty()) continue;
    const study::CallParts parts = study::call_parts(answer, answer.candidates.front(), context.catalog);
    const auto call = study::natten_call_of(parts.setting, parts.forward, parts.backward ? &*parts.backward : nullptr, context);
    print_accepted(rules, call.value(), true);
    ++printed;
  }
}

/// Of the devices that the catalog knows, each once.
std::set<std::int64_t> capabilities() {
  std::set<std::int64_t> found;
  for (const Device& device : builtin_catalog().devices) {
    if (const std::optional<std::int64_t> capability = compute_capability(device)) found.insert(*capability);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const NattenRules& rules = builtin_catalog().natten_release(argv[1]);
  const std::int64_t accepted = std::atoll(argv[2]), refused = std::atoll(argv[3]);
  const std::uint64_t seed = seed_of(argc, argv);
  std::fprintf(stderr, "NATTEN_SIM_SEED=%llu\n", static_cast<unsigned long long>(seed));
  RandomCalls calls(seed, rules);
  for (const std::int64_t capability : capabilities()) {
    for (std::int64_t printed = 0; printed < accepted;) {
      const NattenCall call = calls.call(capability);
      if (refusal_of(rules, call)) continue;
      print_accepted(rules, call);
      ++printed;
    }
  }
  print_winners(rules, seed);
  for (std::int64_t printed = 0; printed < refused;) {
    const NattenCall call = calls.call(std::nullopt);
    const std::optional<NattenRefusal> refusal = refusal_of(rules, call);
    if (!refusal) continue;
    print_refused(call, *refusal);
    ++printed;
  }
  return 0;
}
