// All property tests as one program, over and over with new seeds, for so long or for so many random cases:
//     soak --seconds 600 --seed 7
//     soak --cases 1000000 --only schedule
// All tests get the same time, and none less than a 500th of the cases. Prints cases and their rate for each.
// A failure prints the test's output with its seed, and ends the run with exit code 1. Each test runs in a
// process of its own, since RapidCheck takes seed and number of cases once.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
constexpr const char* kListNames[] = {"--list-tests", "--verbosity", "quiet"};
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
constexpr const char* kListNames[] = {"--list-test-names-only"};
#endif

namespace {

constexpr std::int64_t kFewestCases = 500, kMostCases = 50'000;  // of one process
constexpr double kSecondsAtATime = 5;                            // of one process, about
constexpr std::int64_t kShare = 500;  // of --cases: no property has less than a 500th

struct Settings {
  std::int64_t cases = 100'000;
  double seconds = 0;  ///< if positive, instead of `cases`
  std::uint64_t seed = std::random_device{}();
  std::string only;  ///< tests whose name contains this
};

struct Tally {
  std::int64_t cases = 0;
  double seconds = 0;
};

struct Finished {
  int status = 0;
  std::string output;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs Catch2 with these words in a process of its own.
Finished run_catch(std::vector<std::string> words, std::uint64_t seed, std::int64_t most_cases) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    const std::string number = std::to_string(seed), cases = std::to_string(most_cases);
    ::setenv("NATTEN_SIM_SEED", number.c_str(), 1);
    ::setenv("RC_PARAMS", ("max_success=" + cases + " max_size=100 seed=" + number).c_str(), 1);
    words.insert(words.begin(), "soak");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    std::exit(Catch::Session().run(static_cast<int>(argv.size()), argv.data()));
  }
  ::close(ends[1]);
  Finished finished;
  char buffer[1 << 16];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    finished.output.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, &finished.status, 0);
  return finished;
}

std::vector<std::string> test_names(const std::string& only) {
  std::istringstream lines(run_catch({std::begin(kListNames), std::end(kListNames)}, 0, 1).output);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.find(only) != std::string::npos) names.push_back(line);
  }
  return names;
}

std::string quoted(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == ',' || c == '[' || c == ']' || c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

std::int64_t cases_in(const std::string& output) {
  static const std::regex kPassed("OK, passed ([0-9]+) test");
  std::int64_t sum = 0;
  for (std::sregex_iterator found(output.begin(), output.end(), kPassed), end; found != end; ++found)
    sum += std::stoll((*found)[1].str());
  return sum;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string flag = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    char* end = nullptr;
    if (flag == "--cases") settings.cases = std::strtoll(value.c_str(), &end, 10);
    if (flag == "--seconds") settings.seconds = std::strtod(value.c_str(), &end);
    if (flag == "--seed") settings.seed = std::strtoull(value.c_str(), &end, 10);
    if (flag == "--only") settings.only = value;
    if (flag != "--only" && (end == nullptr || end == value.c_str() || *end != '\0')) {
      std::fputs("usage: soak [--cases N | --seconds S] [--seed K] [--only TEXT]\n", stderr);
      std::exit(2);
    }
  }
  return settings;
}

/// So many that they take some seconds.
std::int64_t cases_to_run(const Tally& tally) {
  if (tally.cases == 0) return kFewestCases;
  const double rate = static_cast<double>(tally.cases) / tally.seconds;
  return std::clamp(static_cast<std::int64_t>(rate * kSecondsAtATime), kFewestCases, kMostCases);
}

/// The test that has had the least time; once there are enough cases, only of properties that have had too
/// few. None: it is over. Tests without RapidCheck count no cases.
std::optional<std::string> next_test(const Settings& settings, double seconds, std::int64_t cases,
                                     std::vector<std::string> names, std::map<std::string, Tally>& tallies) {
  const bool enough = settings.seconds > 0 ? seconds >= settings.seconds : cases >= settings.cases;
  if (enough) {
    std::erase_if(names, [&](const std::string& name) {
      const std::int64_t own = tallies[name].cases;
      return settings.seconds > 0 || own == 0 || own >= settings.cases / kShare;
    });
  }
  if (names.empty()) return std::nullopt;
  return *std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return tallies[a].seconds < tallies[b].seconds;
  });
}

void print_table(const std::vector<std::string>& names, std::map<std::string, Tally>& tallies) {
  std::printf("%-84s%12s%12s\n", "property", "cases", "cases/s");
  for (const std::string& name : names) {
    const Tally& tally = tallies[name];
    if (tally.cases == 0) continue;
    std::printf("%-84.83s%12lld%12.0f\n", name.c_str(), static_cast<long long>(tally.cases),
                static_cast<double>(tally.cases) / tally.seconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  std::vector<std::string> names = test_names(settings.only);
  if (names.empty()) {
    std::fprintf(stderr, "soak: no test has '%s' in its name\n", settings.only.c_str());
    return 2;
  }
  std::printf("seed %llu, %zu tests\n", static_cast<unsigned long long>(settings.seed), names.size());
  std::map<std::string, Tally> tallies;
  const double begin = now();
  std::int64_t cases = 0;
  std::size_t runs = 0;
  std::vector<std::string> again;  // what another seed changes
  const auto next = [&] {
    return runs < names.size() ? std::optional(names[runs])
                               : next_test(settings, now() - begin, cases, again, tallies);
  };
  for (auto chosen = next(); chosen; chosen = next()) {
    const std::string& name = *chosen;
    Tally& tally = tallies[name];
    const double started = now();
    const Finished finished = run_catch({quoted(name)}, settings.seed + runs, cases_to_run(tally));
    if (finished.status != 0) {
      std::printf("%s\nfailed with seed %llu: %s\n", finished.output.c_str(),
                  static_cast<unsigned long long>(settings.seed + runs), name.c_str());
      return 1;
    }
    tally.seconds += now() - started;
    tally.cases += cases_in(finished.output);
    cases += cases_in(finished.output);
    const bool random = finished.output.find("OK, passed") != std::string::npos ||
                        finished.output.find("NATTEN_SIM_SEED") != std::string::npos;
    if (runs < names.size() && random) again.push_back(name);
    ++runs;
  }
  print_table(names, tallies);
  const double seconds = now() - begin;
  std::printf("%lld cases in %.0f s (%.0f/s), %llu runs, none failed\n", static_cast<long long>(cases),
              seconds, static_cast<double>(cases) / seconds, static_cast<unsigned long long>(runs));
  return 0;
}
