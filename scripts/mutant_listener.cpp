// Linked into the test programs of scripts/mutate.py: writes a JSON line for each test case, with its seconds of
// processor time and the mutants that it reaches, to the file that NATTEN_SIM_MUTANT_LOG names.
#include <ctime>
#include <cstdio>
#include <cstring>
#include <string>

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

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class MutantListener : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    if (name_.empty()) write("", 0, false);  // what static objects reach
    name_ = info.name;
    std::memset(natten_sim_mutant::reached, 0, sizeof natten_sim_mutant::reached);
    start_ = processor_seconds();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    write(name_, processor_seconds() - start_, stats.totals.assertions.failed > 0);
  }

 private:
  static void write(const std::string& name, double seconds, bool failed) {
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
    for (int n = 0; n < natten_sim_mutant::kMost; ++n) {
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
