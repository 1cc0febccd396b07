// Linked into the test programs of scripts/mutate.py: writes a JSON line for each test case, with its seconds of
// processor time and the mutants that it reaches, to the file that NATTEN_SIM_MUTANT_LOG names. Both include the
// programs that it starts (mutant_reached.cpp). With a mutant on it names only the cases that fail.
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/resource.h>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif

#include "mutant.hpp"

namespace {

double processor_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return seconds;
}

class MutantListener : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    if (name_.empty()) write("", 0, false);  // what static objects reach
    name_ = info.name;
    std::memset(natten_sim_mutant::reached, 0, natten_sim_mutant::kMost);
    start_ = processor_seconds();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    write(name_, processor_seconds() - start_, stats.totals.assertions.failed > 0);
  }

 private:
  static void write(const std::string& name, double seconds, bool failed) {
    if (natten_sim_mutant::active > 0 && !failed) return;
    const char* path = std::getenv("NATTEN_SIM_MUTANT_LOG");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
    if (file == nullptr) return;
    std::string escaped;
    for (const char c : name) {
      if (c == '"' || c == '\\') escaped += '\\';
      escaped += c;
    }
    std::fprintf(file, "{\"case\": \"%s\", \"seconds\": %.4f, \"failed\": %s, \"reached\": [", escaped.c_str(),
                 seconds, failed ? "true" : "false");
    const char* between = "";
    for (int n = 0; n < natten_sim_mutant::kMost && natten_sim_mutant::active < 0; ++n) {
      if (!natten_sim_mutant::reached[n]) continue;
      std::fprintf(file, "%s%d", between, n);
      between = ", ";
    }
    std::fputs("]}\n", file);
    std::fclose(file);
  }

  std::string name_;
  double start_ = 0;
};

CATCH_REGISTER_LISTENER(MutantListener)

}  // namespace
