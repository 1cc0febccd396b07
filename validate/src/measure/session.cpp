#include <cctype>
#include <utility>

#include <natten_sim/core/error.hpp>
#include <natten_sim/io/files.hpp>
#include <natten_sim/validate/measure/session.hpp>

namespace natten_sim::validate {
namespace {

/// Progress of one suite, or none.
std::function<void(double)> of_suite(const Session::Progress& progress, const Suite& suite) {
  if (!progress) return {};
  return [&progress, name = suite.name](double fraction) { progress(name, fraction); };
}

}  // namespace

struct Session::Part {
  Suite suite;
  std::unique_ptr<GpuMeasurer> measurer;
  RecordingFile file;
};

Session::Session(const kernels::GpuInfo& gpu, const std::vector<Suite>& suites, const std::string& folder,
                 const RunOptions& options, IfExists if_exists)
    : options_(options) {
  make_folder("out", folder);
  for (const Suite& suite : suites) {
    auto measurer = std::make_unique<GpuMeasurer>(gpu, suite, options);
    if (!measurer->counts())
      remarks_.push_back(suite.name + ": times only, no counters: " + measurer->counters_absent());
    RecordingFile file(recording_path(folder, measurer->head()), measurer->head(), if_exists);
    parts_.push_back({suite, std::move(measurer), std::move(file)});
  }
}

Session::~Session() = default;

std::vector<CheckedPoint> Session::wrong_kernels(std::uint64_t seed, const Progress& progress) {
  std::vector<CheckedPoint> wrong;
  for (const Part& part : parts_) {
    for (CheckedPoint& check : check_kernels(*part.measurer, part.suite, CheckLengths::kShort, seed,
                                             of_suite(progress, part.suite))) {
      if (is_wrong(check)) wrong.push_back(std::move(check));
    }
  }
  return wrong;
}

std::vector<Recording> Session::run(const Progress& progress) {
  std::vector<Recording> recordings;
  for (Part& part : parts_) {
    path_ = part.file.path();
    const std::function<void(double)> report = of_suite(progress, part.suite);
    run_suite(*part.measurer, part.suite, part.file, options_,
              [&](double fraction, const std::string&) { if (report) report(fraction); });
    recordings.push_back(part.file.recording());
    part.measurer.reset();  // with its profiler: one at a time counts in a context
  }
  parts_.clear();  // other runs may write these files now
  return recordings;
}

std::vector<CheckedPoint> check_suites(const kernels::GpuInfo& gpu, const std::vector<Suite>& suites,
                                       std::uint64_t seed, const Session::Progress& progress) {
  std::vector<CheckedPoint> checks;
  for (const Suite& suite : suites) {
    GpuMeasurer measurer(gpu, suite, {});
    for (CheckedPoint& check :
         check_kernels(measurer, suite, CheckLengths::kShortAndLong, seed, of_suite(progress, suite))) {
      checks.push_back(std::move(check));
    }
  }
  return checks;
}

bool is_wrong(const CheckedPoint& check) noexcept { return check.ran && !check.passed; }

std::string recording_path(const std::string& folder, const RecordingHead& head) {
  std::string name;
  for (const char c : head.device.name + "-" + head.suite) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0
                ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                : '-';
  }
  return folder + "/" + name + ".json";
}

}  // namespace natten_sim::validate
