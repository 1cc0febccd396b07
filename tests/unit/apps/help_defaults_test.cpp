// A default that help states is the default: the program answers the same with the option and without it.
// Walked over the rows of every subcommand, so that an option that is added is tested too.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include <natten_sim/io/json_text.hpp>

#include "catch.hpp"
#include "cli/command.hpp"
#include "commands.hpp"

namespace help_defaults_test {

using namespace natten_sim::cli;

/// One of the two streams of the process, kept from the terminal.
class KeptStream {
 public:
  KeptStream(std::FILE* stream, int descriptor)
      : stream_(stream), descriptor_(descriptor), terminal_(::dup(descriptor)), file_(std::tmpfile()) {
    std::fflush(stream_);
    ::dup2(::fileno(file_), descriptor_);
  }
  ~KeptStream() {
    std::fflush(stream_);
    ::dup2(terminal_, descriptor_);
    ::close(terminal_);
    std::fclose(file_);
  }
  KeptStream(const KeptStream&) = delete;
  KeptStream& operator=(const KeptStream&) = delete;
  [[nodiscard]] std::string text() {
    std::fflush(stream_);
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    return text;
  }

 private:
  std::FILE* stream_;
  int descriptor_, terminal_;
  std::FILE* file_;
};

/// What the program prints, or nothing when it refuses the line.
std::optional<std::string> printed(std::vector<std::string> words) {
  words.insert(words.begin(), "natten-sim");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  KeptStream out(stdout, STDOUT_FILENO), err(stderr, STDERR_FILENO);
  const int exit_code = run_program(static_cast<int>(words.size()), argv.data(), commands());
  if (exit_code != kExitDone) return std::nullopt;
  return out.text();
}

/// An answer without the option itself, which `input` of some shows only where it is given.
std::string without_echo(const std::string& answer, std::string option) {
  std::replace(option.begin(), option.end(), '-', '_');
  if (option == "dim") option = "head_dim";
  natten_sim::Json object = natten_sim::parse_json(answer);
  object["input"].erase(option);
  return object.dump();
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// The value that help says is the default, if it says one: "x" of "Help [x]" and of "Help [the kernel's, or
/// x]"; of "[x; with a file, all]" and "[x, as in all kernels]" too.
std::optional<std::string> stated_default(const std::string& help) {
  if (help.empty() || help.back() != ']') return std::nullopt;
  std::string text = help.substr(help.rfind('[') + 1);
  text.pop_back();
  if (const std::size_t other = text.find(", or "); other != std::string::npos) text = text.substr(other + 5);
  return text.substr(0, text.find_first_of(";,:"));
}

/// Lines that the options of a subcommand can be added to. An option is compared on the first that takes it.
/// They give neither a preset, nor a kernel, nor a device that would fill in what the struct leaves out.
const std::map<std::string, std::vector<std::string>> kLines = {
    {"count", {"-i 16 --backprop --json", "-i 16 --json"}},
    {"search", {"-i 16 --window-range 2:16 --json", "-i 256 -w 64 --q-tile 64 --kv-tile 64 --any --json"}},
    {"schedule",
     {"--q-tiles 4 --json", "-i 512 --json", "-i 512 --device h200 --json",
      "-i 4096 --device h200 --kernel fa4 --json"}},
    {"reuse",
     {"-i 1024 --json", "-i 1024 --fidelity lru --json", "--stream-bytes 4096 --json",
      "-i 1024 --fidelity lru --ways 4 --l2-bytes 65536 --json",
      "-i 4096 --device h200 --fidelity timed --json"}},
    {"atomics", {"--updates 1000 --json", "--rows 100 --json"}},
    {"msda", {"--config B4_800x1333_d256_L4 --json"}},
    {"advise", {"-i 16x16x16 --device h200 --json"}},
    {"plan", {"-i 16x16x16 -w 4x8x8 -d 128 --device h200 --json"}},
};

/// Options whose brackets hold a rule in words, not a value.
const std::set<std::string> kRules = {
    "advise attention-share",
    "advise dense-steps",
    "advise device",
    "advise dim-value",
    "advise heads-kv",
    "advise input",
    "advise natten",
    "advise recall-per",  // needs --recall and a wish
    "advise stride",
    "advise window",
    "count at-q-tile",
    "count attention-share",
    "count backward-kv-tile",
    "count backward-q-tile",
    "count dense-steps",
    "count dim-value",
    "count heads-kv",
    "count input",
    "count kernel",
    "count kv-tile",
    "count mask-cost",
    "count natten",
    "count q-tile",
    "count rest-ms",
    "count window",
    "msda accumulator",
    "msda dtype",  // fp16 with an fp16 accumulator, else bf16
    "msda l2-bytes",
    "msda update",
    "plan attention-share",
    "plan dense-steps",
    "plan dim",
    "plan dim-value",
    "plan dollars-per-hour",
    "plan heads-kv",
    "plan input",
    "plan natten",
    "plan parameters",
    "plan rest-flops",
    "plan stride",
    "plan window",
    "reuse dim-value",
    "reuse heads-kv",
    "reuse l2-bytes",
    "reuse sample",
    "reuse seqlen-k",
    "reuse tile",
    "reuse window",
    "reuse workers",
    "schedule compute-partial",
    "schedule costs",
    "schedule dispatch",
    "schedule effort",
    "schedule handoff-far",
    "schedule heads-in-flight",
    "schedule heads-kv",
    "schedule kv-tiles",
    "schedule launch-order",
    "schedule reduce-kv",
    "schedule seqlen-k",
    "schedule workers",
    "search attention-share",
    "search backward-kv-tile",
    "search backward-q-tile",
    "search dense-axes",
    "search dense-steps",
    "search dim-value",
    "search heads-kv",
    "search input",
    "search kernel",
    "search kv-tile",
    "search max-imbalance",  // 2.5 with a preset and free windows, else any
    "search min-speedup",
    "search natten",
    "search objective",
    "search q-tile",
    "search recall-per",
    "search rest-ms",
    "search sparsity",
    "search stride",
    "search stride-max",
    "search threads",
    "search window",
    "search window-range",
};

TEST_CASE("a default that help states is what the program takes without the option") {
  std::set<std::string> rules;
  int compared = 0;
  for (const Command& command : commands()) {
    const auto lines = kLines.find(command.name);
    if (lines == kLines.end()) continue;
    std::vector<std::optional<std::string>> plain;
    for (const std::string& line : lines->second) {
      INFO(command.name << " " << line);
      plain.push_back(printed(words_of(command.name + " " + line)));
      REQUIRE(plain.back());
    }
    for (const OptionSpec& option : command.options) {
      const std::optional<std::string> value = stated_default(option.help);
      if (!value || option.value_name.empty()) continue;
      bool taken = false;
      for (std::size_t i = 0; i < plain.size() && !taken; ++i) {
        std::vector<std::string> words = words_of(command.name + " " + lines->second[i]);
        words.push_back("--" + option.name() + "=" + *value);
        const std::optional<std::string> told = printed(words);
        taken = told.has_value();
        INFO(command.name << " " << lines->second[i] << ", " << words.back());
        if (taken) CHECK(without_echo(*told, option.name()) == without_echo(*plain[i], option.name()));
      }
      if (taken) {
        ++compared;
      } else {
        rules.insert(command.name + " " + option.name());
      }
    }
  }
  CHECK(rules == kRules);
  CHECK(compared > 70);
}

TEST_CASE("stated defaults are found in the three ways in which help writes them") {
  CHECK(stated_default("Heads [1]") == "1");
  CHECK(stated_default("Q tile [the kernel's, or 128]") == "128");
  CHECK(stated_default("Rows that are added [65536; with a file, all its rows]") == "65536");
  CHECK(stated_default("Q tiles of the backward pass [static, as in all of NATTEN's kernels]") == "static");
  CHECK_FALSE(stated_default("Draw the [middle] tile"));
}

}  // namespace help_defaults_test
