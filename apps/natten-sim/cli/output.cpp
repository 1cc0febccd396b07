#include "cli/output.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <natten_sim/core/error.hpp>

namespace natten_sim::cli {

namespace {

/// Temporary files that a signal must not leave behind. Fixed memory, since a handler may touch nothing else.
constexpr std::size_t kMaxTemporaries = 4;
constexpr std::size_t kMaxPathBytes = 4096;
char temporaries[kMaxTemporaries][kMaxPathBytes];
volatile std::sig_atomic_t temporary_used[kMaxTemporaries];

extern "C" void remove_temporaries(int signal) {
  for (std::size_t i = 0; i < kMaxTemporaries; ++i) {
    if (temporary_used[i]) unlink(temporaries[i]);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void guard_temporary(const std::string& path) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, remove_temporaries);
  for (std::size_t i = 0; i < kMaxTemporaries && path.size() < kMaxPathBytes; ++i) {
    if (temporary_used[i]) continue;
    std::strcpy(temporaries[i], path.c_str());
    temporary_used[i] = 1;
    return;
  }
}

void release_temporary(const std::string& path) {
  for (std::size_t i = 0; i < kMaxTemporaries; ++i) {
    if (temporary_used[i] && path == temporaries[i]) temporary_used[i] = 0;
  }
}

/// Files that this run writes or has written.
std::set<std::string>& claimed_paths() {
  static std::set<std::string> paths;
  return paths;
}

/// Creates the file that will replace `path`, readable by whom the old one was.
std::FILE* create_temporary(const std::string& path, const std::string& temporary) {
  struct stat old {};
  const bool exists = stat(path.c_str(), &old) == 0;
  guard_temporary(temporary);
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    release_temporary(temporary);
  } else if (exists) {
    (void)fchmod(fileno(file), old.st_mode & 07777);
  }
  return file;
}

}  // namespace

Options<OutputFlags> output_rows(const std::string& options_file) {
  Options<OutputFlags> rows;
  rows.add("--json", &OutputFlags::json, {.help = "One JSON object on stdout", .echo = Echo::kNever});
  rows.add(
      "--csv", &OutputFlags::csv,
      {.help = "Comma-separated rows with a header on stdout", .echo = Echo::kNever, .excludes = {"json"}});
  rows.add("--output", &OutputFlags::output,
           {.value = "FILE",
            .help = "Write to FILE instead of stdout (complete or not at all)",
            .echo = Echo::kNever});
  rows.add("--quiet", &OutputFlags::quiet,
           {.help = "No notes and no progress on stderr", .echo = Echo::kNever});
  rows.add("--" + options_file, &OutputFlags::options_file,
           {.value = "FILE",
            .help = "Read options from a TOML file; the command line wins",
            .echo = Echo::kNever});
  return rows;
}

OutputSink::OutputSink(const std::optional<std::string>& path, Mode mode) : mode_(mode) {
  if (!path) {
    file_ = stdout;
    return;
  }
  if (path->empty() || *path == "-") {
    throw InvalidParameter("output file", "'" + *path + "'",
                           "the path of a file; without it, standard output");
  }
  if (std::filesystem::is_directory(*path)) {
    throw InvalidParameter("output file", *path, "a file, this is a directory");
  }
  std::error_code ignored;
  const std::filesystem::path resolved =
      std::filesystem::weakly_canonical(*path, ignored);  // a link stays a link
  path_ = ignored ? *path : resolved.string();
  // Devices and pipes are written directly.
  const bool special = std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_);
  if (!special && !claimed_paths().insert(path_).second)
    throw InvalidParameter("output file", *path, "a file of its own: another option writes this one");
  temporary_ = special ? path_ : path_ + ".tmp" + std::to_string(getpid());
  file_ = special ? std::fopen(path_.c_str(), "wb") : create_temporary(path_, temporary_);
  if (file_ == nullptr) {
    throw InvalidParameter("output file", *path + " (" + std::strerror(errno) + ")",
                           "a path that can be written");
  }
}

OutputSink::~OutputSink() {
  if (path_.empty() || file_ == nullptr) return;
  std::fclose(file_);
  discard();
}

void OutputSink::discard() {
  if (temporary_ == path_) return;
  std::remove(temporary_.c_str());
  release_temporary(temporary_);
}

void OutputSink::write(std::string_view text) {
  if (mode_ == Mode::kBuffered) {
    buffer_ += text;
  } else {
    put(text);
  }
}

void OutputSink::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
    throw WriteError((path_.empty() ? "standard output" : path_) + ": cannot write: " + std::strerror(errno));
  }
}

void OutputSink::flush() {
  if (std::fflush(file_) != 0)
    throw WriteError((path_.empty() ? "standard output" : path_) + ": cannot write: " + std::strerror(errno));
}

void OutputSink::commit() {
  put(buffer_);
  buffer_.clear();
  const std::string name = path_.empty() ? "standard output" : path_;
  // The C library may have flushed by itself before, when standard input ran dry.
  if (std::fflush(file_) != 0 || std::ferror(file_) != 0)
    throw WriteError(name + ": cannot write: " + std::strerror(errno));
  if (path_.empty()) return;
  std::FILE* file = std::exchange(file_, nullptr);
  const bool closed = std::fclose(file) == 0;
  if (!closed || (temporary_ != path_ && std::rename(temporary_.c_str(), path_.c_str()) != 0)) {
    const std::string reason = std::strerror(errno);
    discard();
    throw WriteError(name + ": cannot write: " + reason);
  }
  release_temporary(temporary_);
}

void write_output(const OutputFlags& flags, std::string_view text) {
  OutputSink sink(flags.output, OutputSink::Mode::kBuffered);
  sink.write(text);
  sink.commit();
}

void write_file(const std::string& path, std::string_view text) {
  OutputSink sink(path, OutputSink::Mode::kStreamed);
  sink.write(text);
  sink.commit();
}

std::string read_file(const std::string& parameter, const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  std::string text;
  bool failed = file == nullptr;
  if (!failed) {
    char buffer[1 << 16];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
      text.append(buffer, got);
    failed = std::ferror(file) != 0;
  }
  const std::string reason = failed ? std::strerror(errno) : "";
  if (file != nullptr && file != stdin) std::fclose(file);
  if (failed) throw InvalidParameter(parameter, path, "a readable file: " + reason);
  return text;
}

void Notes::note(const std::string& text) const {
  if (!quiet_) std::fprintf(stderr, "natten-sim: %s\n", text.c_str());
}

ProgressBar::ProgressBar(std::string label, bool quiet)
    : label_(std::move(label)), enabled_(!quiet && isatty(2) != 0) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");
  drawn_ = false;
}

void ProgressBar::show(double fraction) {
  const int percent = static_cast<int>(fraction * 100.0);
  if (!enabled_ || percent == percent_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1))
    return;
  percent_ = percent;
  drawn_ = true;
  const std::string bar(static_cast<std::size_t>(percent / 4), '#');
  std::fprintf(stderr, "\r%s [%-25s] %3d%%", label_.c_str(), bar.c_str(), percent);
}

std::function<void(double)> ProgressBar::callback() {
  if (!enabled_) return {};
  return [this](double fraction) { show(fraction); };
}

}  // namespace natten_sim::cli
