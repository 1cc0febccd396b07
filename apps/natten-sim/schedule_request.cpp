#include "schedule_request.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <natten_sim/core/catalog.hpp>
#include <natten_sim/core/error.hpp>

#include "mask_text.hpp"
#include "output.hpp"
#include "setting.hpp"
#include "values.hpp"

namespace natten_sim::cli {
namespace {

constexpr double kMostCost = 9007199254740992.0;  // 2^53

double cost(const Arguments& arguments, const char* name, double fallback) {
  return arguments.has(name)
             ? parse_number(name, arguments.text(name), 0, kMostCost, "a number from 0 to 2^53")
             : fallback;
}

BackwardCosts read_costs(const Arguments& arguments, const BackwardProblem& problem) {
  BackwardCosts costs;
  costs.compute = cost(arguments, "compute", costs.compute);
  costs.compute_partial = cost(arguments, "compute-partial", costs.compute);
  costs.reduce = cost(arguments, "reduce", costs.reduce);
  costs.reduce_kv = problem.heads_per_kv_head > 1 ? cost(arguments, "reduce-kv", costs.reduce) : 0.0;
  costs.per_tile_tax = cost(arguments, "tax", 0);
  if (arguments.has("handoff")) {
    const std::string text = arguments.text("handoff");
    const std::size_t comma = text.find(',');
    costs.handoff =
        parse_number("handoff", text.substr(0, comma), 0, kMostCost, "a number from 0 to 2^53, or NEAR,FAR");
    if (comma != std::string::npos)
      costs.handoff_far =
          parse_number("handoff", text.substr(comma + 1), 0, kMostCost, "a number from 0 to 2^53");
  }
  const std::string overlap = arguments.text("overlap", "serial");
  if (overlap.rfind("async:", 0) == 0) {
    costs.writer_stages = static_cast<std::int32_t>(parse_integer("overlap", overlap.substr(6), 1, 64));
  } else if (overlap != "serial") {
    throw InvalidParameter("overlap", overlap, "serial, or async:K with 1 to 64 buffers");
  }
  return costs;
}

std::int32_t read_workers(const Arguments& arguments) {
  if (arguments.has("workers") && arguments.has("device"))
    throw InvalidParameter("--device", "given together with --workers", "one of the two for 'schedule'");
  if (arguments.has("workers"))
    return static_cast<std::int32_t>(parse_integer("workers", arguments.text("workers"), 1, kMostWorkers));
  const Catalog catalog = read_catalog(arguments);
  const Device& device = catalog.device(arguments.text("device"));
  const auto sms = std::find_if(device.values.begin(), device.values.end(),
                                [](const DeviceValue& value) { return value.name == "sms"; });
  if (sms == device.values.end())
    throw InvalidParameter("device", device.name,
                           "a device whose profile has 'sms'; --workers says it directly");
  const std::int64_t ctas =
      arguments.has("ctas-per-sm") ? parse_integer("ctas-per-sm", arguments.text("ctas-per-sm"), 1, 32) : 1;
  return static_cast<std::int32_t>(std::llround(sms->value) * ctas);
}

std::int32_t small(const Arguments& arguments, const char* name, std::int32_t fallback) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return arguments.has(name) ? static_cast<std::int32_t>(parse_integer(name, arguments.text(name), 1, kMost))
                             : fallback;
}

void read_problem(const Arguments& arguments, ScheduleQuestion& question) {
  BackwardProblem& problem = question.request.problem;
  Json& input = question.input;
  NamedMask mask = read_mask(arguments);
  problem.mask = std::move(mask.mask);
  input["mask"] = mask.text;
  if (mask.of_tokens) {
    input["seqlen_q"] = mask.tokens.q_tokens;
    input["seqlen_k"] = mask.tokens.kv_tokens;
    input["q_tile"] = mask.tokens.q_tile;
    input["kv_tile"] = mask.tokens.kv_tile;
  }
  const std::int32_t heads = small(arguments, "heads", 1), batch = small(arguments, "batch-size", 1);
  const std::int32_t heads_kv = small(arguments, "heads-kv", heads);
  if (heads % heads_kv != 0)
    throw InvalidParameter("heads-kv", std::to_string(heads_kv),
                           "a divisor of the heads, " + std::to_string(heads));
  const std::int64_t all = std::int64_t{heads} * batch;
  if (all > std::numeric_limits<std::int32_t>::max())
    throw InvalidParameter("heads", std::to_string(all) + " with the batch", "heads times batch below 2^31");
  problem.heads = static_cast<std::int32_t>(all);
  problem.heads_per_kv_head = heads / heads_kv;
  question.workers_defaulted = !arguments.has("workers") && !arguments.has("device");
  problem.workers = question.workers_defaulted ? problem.mask.kv_tiles : read_workers(arguments);
  input["q_tiles"] = problem.mask.q_tiles;
  input["kv_tiles"] = problem.mask.kv_tiles;
  input["heads"] = heads;
  input["heads_kv"] = heads_kv;
  input["batch_size"] = batch;
}

void read_table(const Arguments& arguments, ScheduleQuestion& question) {
  const std::string path = arguments.text("table");
  for (const char* name :
       {"mask", "q-tiles", "kv-tiles", "seqlen-q", "seqlen-k", "q-tile", "kv-tile", "heads", "heads-kv",
        "batch-size", "algorithm", "dispatch", "launch-order", "effort", "seed", "emit-table"}) {
    if (arguments.has(name))
      throw InvalidParameter(std::string("--") + name, "given together with --table",
                             "costs and workers only: the table says the rest");
  }
  question.table = parse_schedule_table(read_file("table", path), "table " + path);
  question.request.problem = question.table->problem;
  BackwardProblem& problem = question.request.problem;
  if (arguments.has("workers") || arguments.has("device")) problem.workers = read_workers(arguments);
  if (question.table->schedule.dispatch == Dispatch::kStatic &&
      problem.workers < question.table->problem.workers) {
    throw InvalidParameter(
        "workers", std::to_string(problem.workers),
        std::to_string(question.table->problem.workers) + " or more: the table's dispatch is static");
  }
  question.input["table"] = path;
  question.input["q_tiles"] = problem.mask.q_tiles;
  question.input["kv_tiles"] = problem.mask.kv_tiles;
  question.input["heads"] = problem.heads;
  question.input["heads_kv"] = problem.heads / problem.heads_per_kv_head;
}

void read_algorithm(const Arguments& arguments, ScheduleQuestion& question) {
  ScheduleRequest& request = question.request;
  const std::string name = arguments.text("algorithm", "all");
  if (name == "all") {
    question.algorithms = backward_algorithms();
  } else {
    question.algorithms = {parse_backward_algorithm(name)};
  }
  question.input["algorithm"] = name;
  if (arguments.has("dispatch"))
    request.dispatch = arguments.text("dispatch") == "static" ? Dispatch::kStatic : Dispatch::kDynamic;
  question.input["dispatch"] = request.dispatch ? Json(to_string(*request.dispatch)) : Json();
  if (arguments.has("launch-order")) {
    const std::string order = arguments.text("launch-order");
    if (order == "heads") {
      request.launch = LaunchOrder{1};
    } else if (order.rfind("sections:", 0) == 0) {
      request.launch = LaunchOrder{
          static_cast<std::int32_t>(parse_integer("launch-order sections", order.substr(9), 1, 1 << 30))};
    } else {
      throw InvalidParameter("launch-order", order, "heads, or sections:K with K heads a section");
    }
  }
  question.input["launch_order"] =
      request.launch ? Json("sections:" + std::to_string(request.launch->heads_per_section)) : Json();
  constexpr std::int64_t kMostEffort = 1'000'000'000;
  if (arguments.has("effort"))
    request.effort = parse_integer("effort", arguments.text("effort"), 0, kMostEffort);
  if (arguments.has("seed"))
    request.seed = static_cast<std::uint64_t>(
        parse_integer("seed", arguments.text("seed"), 0, std::numeric_limits<std::int64_t>::max()));
  question.input["effort"] = request.effort ? Json(*request.effort) : Json();
  question.input["seed"] = request.seed;
}

}  // namespace

std::vector<OptionSpec> schedule_request_options() {
  std::string algorithms = "all";
  for (const BackwardAlgorithm algorithm : backward_algorithms())
    algorithms += std::string(" ") + to_string(algorithm);
  return {
      {"--q-tiles", "N", "Q tiles of one head; mask lengths then count tiles", 1, ""},
      {"--kv-tiles", "N", "KV tiles of one head [as --q-tiles]", 1, ""},
      {"-i,--seqlen-q", "N", "Tokens of the queries, instead of --q-tiles", 1, ""},
      {"--seqlen-k", "N", "Tokens of the keys [as --seqlen-q]", 1, ""},
      {"--q-tile", "N", "Tokens of a Q tile [128]", 1, ""},
      {"--kv-tile", "N", "Tokens of a KV tile [128]", 1, ""},
      {"-n,--heads", "N", "Query heads [1]", 1, ""},
      {"--heads-kv", "N", "KV heads; fewer than heads: dK/dV are reduced over each group in order [heads]", 1,
       ""},
      {"-b,--batch-size", "N", "Batch [1]", 1, ""},
      {"--workers", "N", "CTAs that run at a time: SMs times CTAs a SM [KV tiles]", 1, ""},
      {"--device", "NAME", "Workers of a GPU (see list devices)", 1, ""},
      {"--device-file", "FILE", "More devices, as JSON", 1, ""},
      {"--ctas-per-sm", "N", "With --device [1]", 1, ""},
      {"--mask", "MASK", "full, causal, window:L,R, document:LEN,LEN,.., gna:i=..,w=.., or FILE [full]", 1,
       ""},
      {"--algorithm", "NAME", "One schedule, or all of them side by side [all]", 1, algorithms},
      {"--dispatch", "WHERE", "dynamic: to the first free worker; static: assigned [the algorithm's own]", 1,
       "dynamic static"},
      {"--launch-order", "ORDER",
       "heads, or sections:K: K heads interleaved, KV tiles slowest [the algorithm's own]", 1, ""},
      {"--compute", "C", "Cost of a task's compute [1]", 1, ""},
      {"--compute-partial", "C", "The same for a tile masked in part [as --compute]", 1, ""},
      {"--reduce", "R", "Cost of its reduction into dQ [1]", 1, ""},
      {"--reduce-kv", "R", "Cost of a chain's reduction into dK/dV, with --heads-kv [as --reduce]", 1, ""},
      {"--handoff", "H",
       "Latency between reductions of two workers into one dQ tile; NEAR,FAR by L2 partition [0]", 1, ""},
      {"--tax", "T", "The semaphore's cost, added to every ordered reduction [0]", 1, ""},
      {"--overlap", "HOW", "serial, or async:K: a dQ writer with K buffers [serial]", 1, ""},
      {"--effort", "N", "Iterations of best [2^22 / tasks, 8 to 2000]", 1, ""},
      {"--seed", "N", "Of best [1]", 1, ""},
  };
}

ScheduleQuestion read_schedule_question(const Arguments& arguments) {
  ScheduleQuestion question;
  if (arguments.has("ctas-per-sm") && !arguments.has("device"))
    throw InvalidParameter("--ctas-per-sm", "given without --device", "--device too, or --workers alone");
  if (arguments.has("table")) {
    read_table(arguments, question);
  } else {
    read_problem(arguments, question);
    read_algorithm(arguments, question);
  }
  question.request.costs = read_costs(arguments, question.request.problem);
  const BackwardCosts& costs = question.request.costs;
  question.input["workers"] = question.request.problem.workers;
  question.input["compute"] = costs.compute;
  question.input["compute_partial"] = costs.compute_partial;
  question.input["reduce"] = costs.reduce;
  question.input["reduce_kv"] = costs.reduce_kv;
  question.input["handoff"] = costs.handoff;
  question.input["handoff_far"] = costs.handoff_far.value_or(costs.handoff);
  question.input["tax"] = costs.per_tile_tax;
  question.input["overlap"] =
      costs.writer_stages == 0 ? "serial" : "async:" + std::to_string(costs.writer_stages);
  return question;
}

}  // namespace natten_sim::cli
