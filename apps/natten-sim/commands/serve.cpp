#include "cli/limits.hpp"
#include "cli/line_source.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/server.hpp"
#include "commands.hpp"

namespace natten_sim::cli {
namespace {

struct ServeFlags {
  std::string requests = "-";
  std::optional<std::string> output;
  std::optional<double> request_time_s;
  LimitFlags limits;
};

int run_serve(const ServeFlags& flags) {
  LineSource source("requests", flags.requests);
  OutputSink sink(flags.output, OutputSink::Mode::kStreamed);
  Server server(commands(), flags.request_time_s);
  std::string_view line;
  while (source.next(line, [&] { sink.flush(); })) {
    if (const auto refused = source.refused()) {
      sink.write(Server::refusal(*refused));
    } else if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      sink.write(server.respond(line));
    }
  }
  sink.commit();
  return kExitDone;
}

}  // namespace

Command serve_command();
Command serve_command() {
  Options<ServeFlags> rows;
  rows.add("--requests", &ServeFlags::requests,
           {.value = "FILE", .help = "File of requests instead of standard input [default]"});
  rows.add("--output", &ServeFlags::output,
           {.value = "FILE", .help = "Write to FILE instead of stdout (complete or not at all)"});
  rows.add("--request-time", &ServeFlags::request_time_s,
           {.value = "SECONDS",
            .help = "Answer a request that takes longer with an error, and go on",
            .interval = {0.001, 31'536'000},
            .accepted = "seconds from 0.001 to 31536000"});
  rows.include(limit_rows(), &ServeFlags::limits);
  Command command{
      .name = "serve", .position = 90, .summary = "Answer requests of other programs, a JSON line each"};
  command.group = kManyCommands;
  command.examples = {"echo '{\"command\": \"count\", \"options\": {\"preset\": \"hunyuan-video\", \"window\": [18, 24, 24]}}' | natten-sim serve"};
  command.notes =
      "A request is {\"command\": SUBCOMMAND, \"options\": {NAME: VALUE, ..}, \"id\": ANYTHING} on one line. Names "
      "and values are those of its options, in any spelling, and of its input; a flag takes true or false. "
      "\"columns\": [NAME, ..] reduces the answer to these columns of a sweep's table.\n"
      "Its answer is what the subcommand prints with --json, on one line and in order, the id first; or "
      "{\"id\", \"error\": {\"message\", \"parameter\", \"value\", \"accepted\", \"hint\"}}.";
  command.exit_codes = "0 done, also where requests were bad; 1 internal error, 2 bad input.";
  bind(command, rows.essentials({"requests", "output"}), run_serve);
  return command;
}

}  // namespace natten_sim::cli
