#include "reuse_request.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/core/error.hpp>

#include "output.hpp"
#include "setting.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostWorkers = std::int64_t{1} << 20;
constexpr std::int64_t kMostSweepPoints = 10000;

/// Options that make no sense for a subject, each with the subject's own option.
void refuse_with(const Arguments& arguments, const char* subject, const std::vector<const char*>& others) {
  for (const char* other : others) {
    if (!arguments.has(other)) continue;
    throw InvalidParameter(std::string("--") + other, std::string("given together with --") + subject,
                           "one of the two");
  }
}

std::int64_t integer_or(const Arguments& arguments, const char* name, std::int64_t fallback, std::int64_t lo,
                        std::int64_t hi) {
  return arguments.has(name) ? parse_integer(name, arguments.text(name), lo, hi) : fallback;
}

/// A whole number of the device's profile.
std::optional<std::int64_t> device_integer(const std::optional<Device>& device, const char* name) {
  const DeviceValue* value = device ? find_value(*device, name) : nullptr;
  if (value == nullptr) return std::nullopt;
  if (!(value->value >= 1 && value->value <= static_cast<double>(kMostBytes))) {
    throw InvalidParameter(std::string(name) + " of device " + device->name, fmt::format("{}", value->value),
                           "a number of 1 or more");
  }
  return static_cast<std::int64_t>(value->value);
}

KvPermutations read_permutations(const std::string& parameter, const std::string& path) {
  const std::string text = read_file(parameter, path);
  KvPermutations permutations;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++line_number;
    std::vector<std::int32_t> pass;
    for (std::size_t at = begin; at < end;) {
      if (text[at] == ' ' || text[at] == ',' || text[at] == '\t' || text[at] == '\r') {
        ++at;
        continue;
      }
      if (text[at] == '#') break;
      std::int32_t tile = 0;
      const auto [stop, problem] = std::from_chars(text.data() + at, text.data() + end, tile);
      if (problem != std::errc() || tile < 0) {
        throw MalformedData(
            parameter + " " + path + ", line " + std::to_string(line_number),
            "not a tile number at column " + std::to_string(at - begin + 1),
            "cyclic, sawtooth, descending, best, or a file with one permutation of the KV tiles "
            "a line, numbered from 0");
      }
      pass.push_back(tile);
      at = static_cast<std::size_t>(stop - text.data());
    }
    if (!pass.empty()) permutations.passes.push_back(std::move(pass));
    begin = end + 1;
  }
  if (permutations.passes.empty())
    throw MalformedData(parameter + " " + path, "no permutation", "one permutation of the KV tiles a line");
  return permutations;
}

OrderChoice parse_order(const std::string& parameter, const std::string& text) {
  for (const Traversal traversal : {Traversal::kCyclic, Traversal::kSawtooth, Traversal::kDescending}) {
    if (text == to_string(traversal)) return {text, traversal};
  }
  if (text == "best") return {text, BestOrder{}};
  try {
    return {text, read_permutations(parameter, text)};
  } catch (const InvalidParameter&) {  // no such file: more likely a misspelt name
    const std::vector<std::string> names = {"cyclic", "sawtooth", "descending", "best"};
    throw UnknownName(parameter, text, closest_name(text, names),
                      "cyclic, sawtooth, descending, best, or a readable file");
  }
}

SeqlenSweep parse_sweep(const std::string& text) {
  constexpr std::string_view kPrefix = "seqlen=";
  const char* accepted = "seqlen=LO:HI:STEP";
  const auto fail = [&] { throw InvalidParameter("sweep", text, accepted); };
  if (!text.starts_with(kPrefix)) fail();
  const std::string rest = text.substr(kPrefix.size());
  const std::size_t first = rest.find(':');
  const std::size_t second = first == std::string::npos ? first : rest.find(':', first + 1);
  if (second == std::string::npos) fail();
  SeqlenSweep sweep;
  sweep.lo = parse_integer("sweep", rest.substr(0, first), 1, kMaxAxisLength);
  sweep.hi = parse_integer("sweep", rest.substr(first + 1, second - first - 1), 1, kMaxAxisLength);
  sweep.step = parse_integer("sweep", rest.substr(second + 1), 1, kMaxAxisLength);
  if (sweep.lo > sweep.hi) throw InvalidParameter("sweep", text, "LO <= HI");
  if ((sweep.hi - sweep.lo) / sweep.step >= kMostSweepPoints)
    throw InvalidParameter("sweep", text, fmt::format("at most {} lengths", kMostSweepPoints));
  return sweep;
}

void read_cache(const Arguments& arguments, const Catalog& catalog, ReuseRequest& request) {
  if (arguments.has("device")) {
    refuse_with(arguments, "device", {"sms"});
    request.device = catalog.device(arguments.text("device"));
  }
  const std::optional<Device>& device = request.device;
  request.sector_bytes = integer_or(arguments, "sector-bytes",
                                    device_integer(device, "l2_sector_bytes").value_or(32), 1, 1 << 20);
  request.line_bytes =
      std::max(request.sector_bytes, device_integer(device, "l2_line_bytes").value_or(request.sector_bytes));
  request.sms = integer_or(arguments, "sms", device_integer(device, "sms").value_or(1), 1, kMostWorkers);
  if (arguments.has("l2-bytes")) {
    request.capacity_bytes = parse_integer("l2-bytes", arguments.text("l2-bytes"), 1, kMostBytes);
  } else {
    request.capacity_bytes = device_integer(device, "l2_effective_bytes");
    if (!request.capacity_bytes) request.capacity_bytes = device_integer(device, "l2_bytes");
  }
  if (arguments.has("ways"))
    request.ways = static_cast<std::int32_t>(parse_integer("ways", arguments.text("ways"), 1, 64));
  for (const char* needs_ways : {"replacement", "hashed"}) {
    if (arguments.has(needs_ways) && !request.ways)
      throw InvalidParameter(needs_ways, "given without --ways", "--ways N too");
  }
  const std::string replacement = arguments.text("replacement", "lru");
  request.replacement = replacement == "fifo"     ? Replacement::kFifo
                        : replacement == "plru"   ? Replacement::kTreePlru
                        : replacement == "nru"    ? Replacement::kNotRecent
                        : replacement == "random" ? Replacement::kRandom
                                                  : Replacement::kLru;
  request.index = arguments.has("hashed") ? SetIndex::kHashed : SetIndex::kModulo;
}

std::int64_t kernel_kv_tile(const AttentionKernel& kernel, std::int64_t head_dim) {
  for (const KernelTile& tile : kernel.kv_tiles) {
    if (tile.head_dim == head_dim) return tile.kv_tile;
  }
  std::string known;
  for (const KernelTile& tile : kernel.kv_tiles)
    known += (known.empty() ? "" : ", ") + std::to_string(tile.head_dim);
  throw InvalidParameter("dim", std::to_string(head_dim), known + " (" + kernel.name + "), or --kv-tile");
}

Extents tile_or(const Arguments& arguments, const char* name, std::int64_t fallback, std::size_t rank) {
  if (arguments.has(name)) return parse_extents(name, arguments.values(name));
  if (arguments.has("tile")) return parse_extents("tile", arguments.values("tile"));
  if (rank == 1) return {fallback};
  throw InvalidParameter(name, "not given", "a tile shape for layouts of several axes");
}

void read_sizes(const Arguments& arguments, ReuseRequest& request) {
  OperandSizes& sizes = request.problem.sizes;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  sizes.batch = integer_or(arguments, "batch-size", 1, 1, kMost);
  sizes.heads = integer_or(arguments, "heads", 1, 1, kMost);
  sizes.heads_kv = integer_or(arguments, "heads-kv", sizes.heads, 1, kMost);
  if (sizes.heads % sizes.heads_kv != 0) {
    throw InvalidParameter("heads-kv", std::to_string(sizes.heads_kv),
                           "a divisor of the heads (" + std::to_string(sizes.heads) + ")");
  }
  sizes.head_dim = integer_or(arguments, "dim", 64, 1, kMost);
  sizes.head_dim_value = integer_or(arguments, "dim-value", sizes.head_dim, 1, kMost);
  request.dtype = arguments.text("dtype", "fp16");
  sizes.element_bytes = element_bytes(request.dtype);
  sizes.sector_bytes = request.sector_bytes;
}

void read_problem(const Arguments& arguments, const Catalog& catalog, ReuseRequest& request) {
  if (arguments.has("sweep")) {
    refuse_with(arguments, "sweep", {"seqlen"});
    request.sweep = parse_sweep(arguments.text("sweep"));
  } else if (!arguments.has("seqlen")) {
    throw InvalidParameter("seqlen", "not given", "--seqlen N, --sweep, --stream-bytes or --trace");
  }
  const Extents input =
      request.sweep ? Extents{request.sweep->lo} : parse_extents("seqlen", arguments.values("seqlen"));
  const std::size_t rank = input.rank();
  read_sizes(arguments, request);
  request.causal = arguments.has("causal");
  request.windowed = arguments.has("window");
  const Extents window = request.windowed ? parse_extents("window", arguments.values("window")) : input;
  const Extents stride =
      arguments.has("stride") ? parse_extents("stride", arguments.values("stride")) : Extents();
  if (arguments.has("kernel")) request.kernel = catalog.kernel(arguments.text("kernel"));
  const std::optional<AttentionKernel>& kernel = request.kernel;
  const std::int64_t q_tile = kernel ? kernel->q_tile : 128;
  const bool kv_given = arguments.has("kv-tile") || arguments.has("tile");
  request.problem.tiles.q_tile = tile_or(arguments, "q-tile", q_tile, rank);
  request.problem.tiles.kv_tile =
      tile_or(arguments, "kv-tile",
              kernel && !kv_given ? kernel_kv_tile(*kernel, request.problem.sizes.head_dim) : 128, rank);
  // Windows of a sweep may be longer than its shortest sequence; each length cuts them for itself.
  if (request.sweep) {
    if (window.rank() != 1) throw InvalidParameter("window", to_string(window), "one value with --sweep");
    request.problem.mask = make_mask({kMaxAxisLength}, request.windowed ? window : Extents{kMaxAxisLength},
                                     stride, {}, PerAxis<bool>(1, request.causal));
    return;
  }
  request.problem.mask = make_mask(input, window, stride, {}, PerAxis<bool>(rank, request.causal));
  require_valid(request.problem);
}

void read_schedule(const Arguments& arguments, ReuseRequest& request) {
  const std::optional<AttentionKernel>& kernel = request.kernel;
  const std::string schedule = arguments.text("schedule", kernel ? kernel->schedule : "persistent");
  request.schedule.schedule = schedule == "grid"   ? Schedule::kGrid
                              : schedule == "tile" ? Schedule::kTile
                                                   : Schedule::kPersistent;
  request.schedule.launch =
      arguments.has("interleave-heads") ? LaunchOrder::kHeadsFirst : LaunchOrder::kTilesFirst;
  request.schedule.last_q_tile_first = arguments.has("longest-first");
  request.ctas_per_sm = integer_or(arguments, "ctas-per-sm", kernel ? kernel->ctas_per_sm : 1, 1, 32);
  request.schedule.workers = static_cast<std::int32_t>(integer_or(
      arguments, "workers", std::min(kMostWorkers, request.sms * request.ctas_per_sm), 1, kMostWorkers));
  if (arguments.has("order")) {
    request.order = parse_order("order", arguments.text("order"));
  } else if (kernel) {
    request.order = {to_string(kernel->order), kernel->order};
  } else {
    request.order = {"cyclic", Traversal::kCyclic};
  }
  if (arguments.has("compare")) request.compare = parse_order("compare", arguments.text("compare"));
  if (request.sweep) {
    for (const OrderChoice* choice : {&request.order, request.compare ? &*request.compare : nullptr}) {
      if (choice != nullptr && std::holds_alternative<KvPermutations>(choice->order))
        throw InvalidParameter("order", choice->text,
                               "a named order with --sweep: a permutation fits one length");
    }
  }
}

void read_stream(const Arguments& arguments, ReuseRequest& request) {
  StreamSubject stream;
  stream.bytes = parse_integer("stream-bytes", arguments.text("stream-bytes"), 1, kMostBytes);
  stream.passes = integer_or(arguments, "passes", 1, 1, std::int64_t{1} << 40);
  stream.readers = integer_or(arguments, "workers", request.sms, 1, kMostWorkers);
  request.stream = stream;
  request.order = parse_order("order", arguments.text("order", "cyclic"));
  if (arguments.has("compare")) request.compare = parse_order("compare", arguments.text("compare"));
  for (const OrderChoice* choice : {&request.order, request.compare ? &*request.compare : nullptr}) {
    if (choice != nullptr && std::holds_alternative<KvPermutations>(choice->order))
      throw InvalidParameter("order", choice->text, "cyclic, sawtooth, descending or best for a stream");
  }
}

const std::vector<const char*> kAttentionOnly = {
    "seqlen", "dim",         "dim-value",  "dtype",       "q-tile",           "kv-tile",       "tile",
    "heads",  "heads-kv",    "batch-size", "causal",      "window",           "stride",        "schedule",
    "kernel", "ctas-per-sm", "sweep",      "granularity", "interleave-heads", "longest-first", "jitter"};

void require_consistent(const Arguments& arguments, const ReuseRequest& request) {
  const bool attention = !request.stream && !request.trace_path;
  if (request.fidelity == Fidelity::kTimed && !attention)
    throw InvalidParameter("fidelity", "timed", "closed-form or lru for a stream, lru for a trace");
  if (request.trace_path && arguments.has("fidelity") && request.fidelity != Fidelity::kLru)
    throw InvalidParameter("fidelity", arguments.text("fidelity"), "lru for a trace");
  const auto needs = [&](const char* option, Fidelity fidelity, const char* accepted) {
    if (arguments.has(option) && request.fidelity != fidelity)
      throw InvalidParameter(option, "with --fidelity " + std::string(to_string(request.fidelity)), accepted);
  };
  needs("ways", Fidelity::kLru, "--fidelity lru");
  needs("granularity", Fidelity::kLru, "--fidelity lru");
  needs("sample", Fidelity::kLru, "--fidelity lru");
  needs("jitter", Fidelity::kTimed, "--fidelity timed");
  if (request.ways && !request.capacity_bytes)
    throw InvalidParameter("ways", std::to_string(*request.ways), "together with --l2-bytes or --device");
  if (request.sample && request.ways)
    throw InvalidParameter("sample", "given together with --ways", "one of the two");
  if (request.sample && attention)
    throw InvalidParameter("sample", "with attention", "a stream or a trace; attention is simulated exactly");
  if (arguments.has("passes") && !request.stream)
    throw InvalidParameter("passes", "given without --stream-bytes", "--stream-bytes N too");
}

}  // namespace

const char* to_string(Fidelity fidelity) noexcept {
  switch (fidelity) {
    case Fidelity::kClosedForm:
      return "closed-form";
    case Fidelity::kLru:
      return "lru";
    case Fidelity::kTimed:
      return "timed";
  }
  return "";
}

std::vector<OptionSpec> reuse_options() {
  return {
      {"-i,--seqlen,--input", "N", "Sequence length, or a layout of 1 to 4 axes", 4, ""},
      {"-d,--dim,--head-dim", "D", "Head dim of Q and K [64]", 1, ""},
      {"--dim-value", "D", "Head dim of V and O [that of Q and K]", 1, ""},
      {"--dtype", "TYPE", "Element type [fp16]", 1, "fp16 bf16 fp32 e4m3 e5m2"},
      {"--q-tile", "N", "Q tile [the kernel's, or 128]", 4, ""},
      {"--kv-tile", "N", "KV tile [the kernel's, or 128]", 4, ""},
      {"--tile", "N", "Both tiles", 4, ""},
      {"-n,--heads", "N", "Heads [1]", 1, ""},
      {"--heads-kv", "N", "KV heads, a divisor of the heads [heads]", 1, ""},
      {"-b,--batch-size", "N", "Batch size [1]", 1, ""},
      {"-c,--causal", "", "Causal mask, on every axis", 1, ""},
      {"-w,--window,--window-size", "N", "Neighborhood window [the whole axis: dense]", 4, ""},
      {"-s,--stride", "N", "Stride of the window [1]", 4, ""},
      {"--kernel", "NAME", "Take tiles, schedule, order, CTAs an SM and speed of a known kernel (fa2, cudnn)",
       1, ""},
      {"--schedule", "KIND",
       "Which CTA takes which Q tile: persistent round-robin, grid launch in order (or an atomic counter), "
       "tile: two Q tiles at a time [persistent]",
       1, "persistent grid tile"},
      {"--order", "ORDER",
       "Order of the KV tiles: cyclic, sawtooth, descending, best, or a file with a permutation a line "
       "[cyclic]",
       1, ""},
      {"--compare", "ORDER", "A second order beside the first, with the reduction", 1, ""},
      {"--interleave-heads", "", "Launch the heads and batches of one Q tile before the next Q tile", 1, ""},
      {"--longest-first", "", "Launch the last Q tile of a head first", 1, ""},
      {"--workers", "N", "CTAs resident at once [SMs times CTAs an SM]; readers of a stream [SMs]", 1, ""},
      {"--ctas-per-sm", "N", "CTAs resident on an SM [1]", 1, ""},
      {"--device", "NAME", "Cache and speed of a GPU (see list devices)", 1, ""},
      {"--device-file", "FILE", "More devices, as JSON", 1, ""},
      {"--l2-bytes", "N", "Effective capacity of the L2 [the device's]", 1, ""},
      {"--sector-bytes", "N", "Sector [the device's, or 32]", 1, ""},
      {"--sms", "N", "SMs [the device's, or 1]", 1, ""},
      {"--fidelity", "KIND",
       "closed-form: sectors always, misses where a formula is exact; lru: lockstep in front of an exact "
       "LRU; "
       "timed: CTAs in time [closed-form]",
       1, "closed-form lru timed"},
      {"--granularity", "KIND", "lru: one stack distance a tile, or a sector [tile]", 1, "tile sector"},
      {"--ways", "N", "lru: a set-associative cache of N ways instead of a fully associative one", 1, ""},
      {"--replacement", "KIND", "With --ways: what makes room in a set [lru]", 1, "lru fifo plru nru random"},
      {"--hashed", "", "With --ways: sets by a hash of the line instead of its number", 1, ""},
      {"--jitter", "X",
       "timed: standard deviation of a tile's compute time, as a fraction [the kernel's, else 0]", 1, ""},
      {"--stream-bytes", "N", "A plain buffer of N bytes that all workers read, instead of attention", 1, ""},
      {"--passes", "P", "How often the buffer is read [1]", 1, ""},
      {"--trace", "FILE",
       "A trace of yours, - for standard input: a byte address and, if not one sector, a size a line", 1, ""},
      {"--sample", "RATE",
       "Follow this share of the sectors of a stream or trace only, 0..1; misses with their error", 1, ""},
      {"--sweep", "seqlen=LO:HI:STEP", "The same for many sequence lengths", 1, ""},
      {"--svg", "FILE", "Draw a picture", 1, ""},
      {"--picture", "KIND",
       "What --svg draws, and whose rows --csv prints: histogram of stack distances, miss curve over "
       "capacities, "
       "or the sweep [sweep with --sweep, else histogram]",
       1, "histogram curve sweep"},
      {"--predictions", "",
       "Print the table of predictions for fa2 and cudnn on --device [h200] as a JSON array", 1, ""},
  };
}

ReuseRequest read_reuse_request(const Arguments& arguments) {
  ReuseRequest request;
  const Catalog catalog = read_catalog(arguments);
  const std::string fidelity = arguments.text("fidelity", arguments.has("trace") ? "lru" : "closed-form");
  request.fidelity = fidelity == "lru"     ? Fidelity::kLru
                     : fidelity == "timed" ? Fidelity::kTimed
                                           : Fidelity::kClosedForm;
  read_cache(arguments, catalog, request);
  if (arguments.has("sample")) {
    request.sample = parse_number("sample", arguments.text("sample"), 1e-9, 1, "a rate in 0 < R <= 1");
  }
  if (arguments.has("jitter"))
    request.jitter = parse_number("jitter", arguments.text("jitter"), 0, 0.5, "a fraction in 0..0.5");
  if (arguments.has("trace")) {
    refuse_with(arguments, "trace", kAttentionOnly);
    refuse_with(arguments, "trace", {"stream-bytes", "order", "compare", "workers"});
    request.trace_path = arguments.text("trace");
  } else if (arguments.has("stream-bytes")) {
    refuse_with(arguments, "stream-bytes", kAttentionOnly);
    read_stream(arguments, request);
  } else {
    read_problem(arguments, catalog, request);
    read_schedule(arguments, request);
    request.granularity =
        arguments.text("granularity", "tile") == "sector" ? Granularity::kSector : Granularity::kTile;
  }
  require_consistent(arguments, request);
  return request;
}

ReuseRequest with_seqlen(const ReuseRequest& request, std::int64_t seqlen) {
  ReuseRequest at = request;
  at.sweep.reset();
  AxisMask& axis = at.problem.mask[0];
  axis.length = seqlen;
  axis.window = std::min(axis.window, seqlen);
  require_valid(at.problem);
  return at;
}

WavefrontDevice wavefront_device(const ReuseRequest& request) {
  if (!request.device)
    throw InvalidParameter("device", "not given",
                           "a device whose profile has its bandwidths, for --fidelity timed");
  const Device& device = *request.device;
  const auto number = [&](const char* name) {
    const DeviceValue* value = find_value(device, name);
    if (value == nullptr || !(value->value > 0)) {
      throw InvalidParameter("device", device.name + " without " + name,
                             "a device whose profile has it, for --fidelity timed (see --device-file)");
    }
    return value->value;
  };
  const double sms = number("sms");
  if (!request.capacity_bytes)
    throw InvalidParameter("l2-bytes", "not given", "the effective capacity, for --fidelity timed");
  WavefrontDevice wavefront;
  wavefront.capacity_bytes = *request.capacity_bytes;
  wavefront.sms = static_cast<std::int32_t>(request.sms);
  const auto count = [&](const char* name, std::int32_t fallback) {
    return static_cast<std::int32_t>(device_integer(request.device, name).value_or(fallback));
  };
  wavefront.l2_partitions = count("l2_partitions", 1);
  wavefront.l2_ways = count("l2_ways", 0);
  wavefront.gpc_sms = count("gpc_sms", 0);
  wavefront.hit_bytes_per_ns = number("l2_hit_bandwidth_bytes_per_s") / sms * 1e-9;
  wavefront.miss_bytes_per_ns = number("l2_miss_bandwidth_bytes_per_s") / sms * 1e-9;
  wavefront.dram_bytes_per_ns = number("dram_bandwidth_bytes_per_s") * 1e-9;
  const OperandSizes& sizes = request.problem.sizes;
  double flops_per_s = 0;
  if (request.kernel) {
    for (const KernelRate& rate : request.kernel->rates) {
      if (rate.device != device.name || rate.head_dim != sizes.head_dim) continue;
      // The measured kernel ran in whole rounds: its last one left SMs idle.
      const auto slots = static_cast<std::int64_t>(sms) * request.kernel->ctas_per_sm;
      const std::int64_t items = ceil_divide(rate.tokens, request.kernel->q_tile) * rate.heads;
      flops_per_s = rate.flops_per_s * static_cast<double>(ceil_divide(items, slots) * slots) /
                    static_cast<double>(items);
      wavefront.lone_share = rate.lone_share;
      wavefront.slot_skew = rate.slot_skew;
      wavefront.jitter = rate.jitter;
    }
    if (flops_per_s == 0) {
      throw InvalidParameter(
          "kernel", request.kernel->name,
          fmt::format("a kernel whose rate at head dim {} on {} is known", sizes.head_dim, device.name));
    }
  } else {
    flops_per_s = number("dense_bf16_flops_per_s");
  }
  const auto flops_a_pair = static_cast<double>(2 * (sizes.head_dim + sizes.head_dim_value));
  wavefront.pairs_per_ns = flops_per_s / sms / flops_a_pair * 1e-9;
  if (request.jitter) wavefront.jitter = *request.jitter;
  return wavefront;
}

/// As many KV tiles ahead as shared memory holds besides the Q tile and the KV tile in use.
WavefrontOptions wavefront_options(const ReuseRequest& request) {
  WavefrontOptions options;
  const std::optional<std::int64_t> shared = device_integer(request.device, "shared_memory_per_block_bytes");
  if (!shared) return options;
  const OperandSizes& sizes = request.problem.sizes;
  const std::int64_t q = product(request.problem.tiles.q_tile, "q_tile") * sizes.key_row_bytes();
  const std::int64_t kv =
      product(request.problem.tiles.kv_tile, "kv_tile") * (sizes.key_row_bytes() + sizes.value_row_bytes());
  const std::int64_t tiles = (*shared / request.ctas_per_sm - q) / kv;
  options.lookahead_tiles = static_cast<std::int32_t>(std::clamp<std::int64_t>(tiles - 1, 0, 15));
  return options;
}

}  // namespace natten_sim::cli
