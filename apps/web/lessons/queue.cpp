#include <vector>

#include <natten_sim/report/json.hpp>
#include <natten_sim/sim/scatter/contention_queue.hpp>

#include "cli/context.hpp"
#include "cli/reply.hpp"

namespace natten_sim::cli {
namespace {

/// Warps update addresses that serve one request at a time; `hot` of every 100 updates go to address 0.
struct QueueFlags {
  std::int64_t updates = 400, addresses = 16, hot = 100, warps = 8;
  std::int64_t service_ns = 5, round_trip_ns = 600, changing = 100;
  std::int64_t listed = 0;
  bool compare_and_swap = false;
  OutputFlags output;
};

Options<QueueFlags> queue_rows() {
  Options<QueueFlags> rows;
  rows.add("--updates", &QueueFlags::updates, {.value = "N", .help = "Updates [default]", .range = {1, 20'000}});
  rows.add("--addresses", &QueueFlags::addresses, {.value = "N", .help = "Addresses [default]", .range = {1, 4096}});
  rows.add("--hot", &QueueFlags::hot,
           {.value = "N", .help = "Of 100 updates so many go to one address [default]", .range = {0, 100}});
  rows.add("--warps", &QueueFlags::warps, {.value = "N", .help = "Warps in flight [default]", .range = {1, 2048}});
  rows.add("--service-ns", &QueueFlags::service_ns,
           {.value = "NS", .help = "Time that an address takes for a request [default]", .range = {1, 100'000}});
  rows.add("--round-trip-ns", &QueueFlags::round_trip_ns,
           {.value = "NS", .help = "From a warp to an address and back [default]", .range = {0, 100'000}});
  rows.add("--changing", &QueueFlags::changing,
           {.value = "N", .help = "Of 100 successes so many change the word [default]", .range = {0, 100}});
  rows.add(
      "--listed", &QueueFlags::listed,
      {.value = "N", .help = "First requests of address 0 that are listed [default]", .range = {0, 1000}});
  rows.add("--compare-and-swap", &QueueFlags::compare_and_swap, {.help = "A compare-and-swap loop, not a reduction"});
  return rows.include(output_rows(), &QueueFlags::output);
}

/// Updates spread evenly: number i is hot when the hot share reaches a further whole number there.
std::vector<std::int64_t> addresses_of(const QueueFlags& flags) {
  std::vector<std::int64_t> addresses;
  for (std::int64_t i = 0; i < flags.updates; ++i) {
    const bool hot = (i + 1) * flags.hot / 100 > i * flags.hot / 100;
    addresses.push_back(hot ? 0 : i % flags.addresses);
  }
  return addresses;
}

/// [warp, arrives, starts, ends, done] of the first requests of address 0.
Json first_requests(const ContentionRun& run, std::int64_t listed) {
  Json rows = Json::array();
  for (const ServedRequest& request : run.first_requests) {
    if (request.address != 0 || std::ssize(rows) == listed) continue;
    Json row = Json::array();
    row.push_back(request.warp);
    for (const double ns : {request.arrives_ns, request.starts_ns, request.ends_ns}) row.push_back(ns);
    row.push_back(request.done ? 1 : 0);
    rows.push_back(row);
  }
  return rows;
}

int run_queue(const QueueFlags& flags, Reply& reply) {
  const ContentionQueue queue{
      .kind = flags.compare_and_swap ? QueuedUpdate::kCompareAndSwap : QueuedUpdate::kReduction,
      .warps = flags.warps,
      .issue_ns = 1,
      .service_ns = static_cast<double>(flags.service_ns),
      .round_trip_ns = static_cast<double>(flags.round_trip_ns),
      .changing_share = static_cast<double>(flags.changing) / 100,
      .listed_requests = flags.listed * flags.addresses};
  const std::vector<std::int64_t> addresses = addresses_of(flags);
  const ContentionRun run = run_contention(addresses, flags.addresses, queue);
  std::vector<std::int64_t> load(static_cast<std::size_t>(flags.addresses));
  for (const std::int64_t address : addresses) ++load[static_cast<std::size_t>(address)];
  Json loads = Json::array();
  for (const std::int64_t updates : load) loads.push_back(updates);
  Json result = {{"time_ns", run.time_ns},      {"requests", run.requests},
                 {"retries", run.retries},      {"most_waiting", run.most_waiting},
                 {"updates_of_address", loads}, {"first_requests", first_requests(run, flags.listed)}};
  put_answer(flags.output, reply, JsonAnswer("queue", Json::object(), std::move(result)));
  return kExitDone;
}

}  // namespace

Command queue_lesson();
Command queue_lesson() {
  Command command{.name = "queue", .summary = "Warps that update a few addresses, as a queue"};
  bind(command, queue_rows(), run_queue);
  return command;
}

}  // namespace natten_sim::cli
