#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include <unistd.h>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/file_access.hpp>

#include "cli/limits.hpp"
#include "cli/line_source.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/server.hpp"
#include "commands.hpp"
#include "serve/supervisor.hpp"

namespace natten_sim::cli {
namespace {

struct ServeFlags {
  std::string requests = "-";
  std::optional<std::string> output;
  std::optional<double> request_time_s;
  std::optional<std::int64_t> workers;
  bool as_ready = false;
  std::optional<std::string> root;
  std::optional<std::string> socket;
  std::optional<std::int64_t> http;
  std::vector<std::string> origins;
  bool quiet = false;
  LimitFlags limits;

  [[nodiscard]] bool listens() const { return socket || http; }
};

/// Who starts this program may name what it may read; who connects to it may not.
FileAccess access_of(const ServeFlags& flags) {
  using Files = FileAccess::Files;
  const Files files = flags.root ? Files::kBelow : flags.listens() ? Files::kNone : Files::kAll;
  return {.files = files, .root = flags.root.value_or(""), .standard_input = false};
}

/// In this process, one after the other.
void answer_in_turn(const ServeFlags& flags, OutputSink& sink) {
  LineSource source("requests", flags.requests);
  const FileAccess::Scope access({.standard_input = false});
  Server server(commands(), flags.request_time_s);
  std::string_view line;
  while (source.next(line, [&] { sink.flush(); })) {
    if (const auto refused = source.refused()) {
      sink.write(Server::refusal(*refused));
    } else if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      sink.write(server.respond(line));
    }
  }
}

#ifdef NATTEN_SIM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// A tenth of the machine's memory is left to others. A sanitizer maps more than any limit allows.
std::int64_t memory_of_each(std::int64_t workers) {
  if (kSanitized) return 0;
  const double machine = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return static_cast<std::int64_t>(0.9 * machine / static_cast<double>(workers));
}

SupervisorRules rules_of(const ServeFlags& flags) {
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t workers = flags.workers.value_or(cores);
  FileAccess files = access_of(flags);
  { const FileAccess::Scope wrong_ones_are_refused(files); }
  return {.worker = {.commands = &commands(),
                     .answer_s = flags.request_time_s,
                     .memory_bytes = memory_of_each(workers),
                     .files = std::move(files)},
          .workers = static_cast<std::size_t>(workers),
          .order = flags.as_ready ? AnswerOrder::kAsReady : AnswerOrder::kAsAsked,
          .http = {.origins = flags.origins}};
}

void listen(const ServeFlags& flags) {
  Supervisor supervisor(rules_of(flags));
  if (flags.socket) supervisor.listen_at(*flags.socket);
  const auto tell = [&](const std::string& place) {
    if (!flags.quiet) print_remark("answering at " + place);
  };
  if (flags.http) {
    const std::uint16_t port = supervisor.listen_http(static_cast<std::uint16_t>(*flags.http));
    tell(fmt::format("http://127.0.0.1:{}", port));
  }
  if (flags.socket) tell(*flags.socket);
  supervisor.run();
}

int run_serve(const ServeFlags& flags) {
  if (flags.listens()) {
    listen(flags);
    return kExitDone;
  }
  OutputSink sink(flags.output, OutputSink::Mode::kStreamed);
  if (flags.workers || flags.root) {
    Supervisor supervisor(rules_of(flags));
    supervisor.take_requests(flags.requests, sink);
    supervisor.run();
  } else {
    answer_in_turn(flags, sink);
  }
  sink.commit();
  return kExitDone;
}

Options<ServeFlags> serve_rows() {
  using F = ServeFlags;
  Options<F> rows;
  rows.add("--requests", &F::requests,
           {.value = "FILE", .help = "File of requests instead of standard input [default]"});
  rows.add("--output", &F::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.add("--request-time", &F::request_time_s,
           {.value = "SECONDS",
            .help = "Answer a request that takes longer with an error, and go on",
            .interval = {0.001, 31'536'000},
            .accepted = "seconds from 0.001 to 31536000"});
  rows.add("--workers", &F::workers,
           {.value = "N",
            .help = "Answer in N processes, so that no request can end the others [none; with --root and over sockets all "
                    "cores]",
            .range = {1, 256}});
  rows.add("--as-ready", &F::as_ready,
           {.help = "Write each answer as soon as it is ready: ids tell whose it is [in the order of requests]"});
  rows.add("--root", &F::root,
           {.value = "DIR",
            .help = "Requests may read files in DIR alone, where their paths begin [all; over sockets no file]"});
  rows.add("--socket", &F::socket,
           {.value = "PATH",
            .help = "Answer whoever connects to the local socket PATH, until a signal",
            .rules_out = {{"requests", "output"}}});
  rows.add("--http", &F::http,
           {.value = "PORT",
            .help = "Answer HTTP on this machine's loopback interface; 0: any port that is free",
            .range = {0, 65535},
            .rules_out = {{"requests", "output"}}});
  rows.add("--origin", &F::origins,
           {.value = "ORIGIN",
            .help = "With --http: pages of ORIGIN may ask, such as http://localhost:8000 [none]",
            .needs = {"http"}});
  rows.add("--quiet", &F::quiet, {.help = "No notes on stderr"});
  rows.include(limit_rows(), &F::limits);
  return rows;
}

}  // namespace

Command serve_command();
Command serve_command() {
  Command command{
      .name = "serve", .position = 90, .summary = "Answer requests of other programs, a JSON line each"};
  command.group = kManyCommands;
  command.examples = {"echo '{\"command\": \"count\", \"options\": {\"preset\": \"hunyuan-video\", \"window\": [18, 24, 24]}}' | natten-sim serve"};
  command.notes =
      "A request is {\"command\": SUBCOMMAND, \"options\": {NAME: VALUE, ..}, \"id\": ANYTHING} on one line. Names "
      "and values are those of its options, in any spelling, and of its input; a flag takes true or false. "
      "\"columns\": [NAME, ..] reduces the answer to these columns of a sweep's table, \"compact\": true to its "
      "result.\n"
      "Its answer is what the subcommand prints with --json, on one line and in order, the id first; or "
      "{\"id\", \"error\": {\"message\", \"parameter\", \"value\", \"accepted\", \"hint\"}}.\n"
      "{\"cancel\": ID} ends the request with this id, where there are workers; its answer is an error.\n"
      "Until a signal ends them:\n"
      "  natten-sim serve --socket /tmp/natten-sim.socket\n"
      "  natten-sim serve --http 8080 --root /data";
  command.exit_codes = "0 done, also where requests were bad; 1 internal error, 2 bad input.";
  bind(command, serve_rows().essentials({"requests", "output", "workers", "request-time", "socket", "http"}), run_serve);
  return command;
}

}  // namespace natten_sim::cli
