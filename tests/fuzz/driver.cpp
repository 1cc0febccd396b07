// All targets in one program: replays files, then mutates them for a while. Any compiler, no instrumentation.
//   fuzz_targets --list
//   fuzz_targets --replay CORPUS      every target its own folder of the corpus
//   fuzz_targets TARGET [--seconds S | --runs N] [--seed N] FILE|FOLDER...
// An input that ends the process, or takes over 60 s, is kept in fuzz-TARGET.crash of the current folder.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "fuzz/mutator.hpp"
#include "fuzz/target.hpp"
#include "random.hpp"

namespace {

using namespace natten_sim::fuzz;

constexpr unsigned kSecondsOfAHang = 60;  // of waiting, on a busy machine too

// What a signal handler needs.
std::string current_input;
std::string crash_path;

void keep_input(int signal) {
  const int file = ::open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  [[maybe_unused]] const ssize_t written = ::write(file, current_input.data(), current_input.size());
  ::close(file);
  const char said[] = "fuzz: the input that did it was kept\n";
  [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, said, sizeof said - 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void keep_inputs_of_crashes() {
  static std::vector<char> stack(1 << 16);  // a full stack is one way to crash
  stack_t alternate = {};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_handler = keep_input;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
    ::sigaction(signal, &action, nullptr);
}

bool run(Read read, const std::string& input) {
  current_input = input;
  ::alarm(kSecondsOfAHang);
  const bool accepted = try_input(read, input);
  ::alarm(0);
  return accepted;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Input {
  std::string name;
  std::string text;
};

/// The files, and those of the folders.
std::vector<Input> read_corpus(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> inputs;
  for (const auto& file : files) inputs.push_back({file.filename(), text_of(file)});
  return inputs;
}

/// Reads the corpus of a target: what is named a seed has to be accepted. @return its texts
std::vector<std::string> replay(const std::string& name, const std::vector<std::string>& paths) {
  crash_path = std::filesystem::absolute("fuzz-" + name + ".crash");
  std::vector<std::string> texts;
  for (const Input& input : read_corpus(paths)) {
    const bool accepted = run(targets().at(name), input.text);
    // The mutations of one that is refused would test little else than how that is said.
    if (!accepted && input.name.starts_with("seed-"))
      std::fprintf(stderr, "%s: refused: %s\n", name.c_str(), input.name.c_str());
    require(accepted || !input.name.starts_with("seed-"), "a seed is accepted");
    texts.push_back(input.text);
  }
  std::printf("%s: %zu files\n", name.c_str(), texts.size());
  return texts;
}

int replay_all(const std::filesystem::path& corpus) {
  for (const auto& [name, read] : targets()) {
    // A target may leave this folder for one of its own.
    const bool any = !replay(name, {(std::filesystem::absolute(corpus) / name).string()}).empty();
    require(any, "a target has a corpus");
  }
  return 0;
}

int list_all() {
  for (const auto& [name, read] : targets()) std::printf("%s\n", name.c_str());
  return 0;
}

int mutate(const std::string& name, std::vector<std::string> texts, double seconds, std::int64_t most_runs,
           std::uint64_t seed) {
  Mutator mutator(std::move(texts), seed);
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t runs = 0;
  std::int64_t accepted = 0;
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (runs < most_runs || (most_runs == 0 && elapsed() < seconds)) {
    const std::string input = mutator.next();
    const bool taken = run(targets().at(name), input);
    if (taken) mutator.keep(input);
    accepted += taken ? 1 : 0;
    ++runs;
  }
  if (runs > 0) {
    std::printf("%s: %lld mutated inputs in %.0f s, %lld accepted; seed %llu\n", name.c_str(),
                static_cast<long long>(runs), elapsed(), static_cast<long long>(accepted),
                static_cast<unsigned long long>(seed));
  }
  return 0;
}

int usage() {
  std::fputs(
      "usage: fuzz_targets --list | --replay CORPUS | TARGET [--seconds S | --runs N] [--seed N] FILE|FOLDER...\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  const std::string first = argv[1];
  keep_inputs_of_crashes();
  if (first == "--list") return list_all();
  if (first == "--replay" && argc == 3) return replay_all(argv[2]);
  if (!targets().contains(first)) return usage();
  double seconds = 0;
  std::int64_t most_runs = 0;
  std::uint64_t seed = natten_sim::test::stored_seed();
  std::vector<std::string> paths;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
      most_runs = std::atoll(argv[++i]);
    } else if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      paths.emplace_back(argv[i]);
    }
  }
  std::vector<std::string> texts = replay(first, paths);
  if (texts.empty()) return usage();
  return mutate(first, std::move(texts), seconds, most_runs, seed);
}
