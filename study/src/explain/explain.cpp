#include <algorithm>
#include <cctype>
#include <cmath>

#include <natten_sim/core/checked.hpp>
#include <natten_sim/core/closest_name.hpp>
#include <natten_sim/models/reuse/attention_traffic.hpp>
#include <natten_sim/study/explain.hpp>

#include "complete.hpp"
#include "kernel_name.hpp"
#include "reads.hpp"

namespace natten_sim::study {
namespace {

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The device whose name is a word of the GPU's, with as many SMs. The longest such name wins.
const Device* device_of(const ProfiledKernel& launch, const Catalog& catalog) {
  if (!launch.gpu) return nullptr;
  std::string words = " " + lowered(*launch.gpu) + " ";
  std::replace(words.begin(), words.end(), '-', ' ');
  const Device* best = nullptr;
  for (const Device& device : catalog.devices) {
    std::string name = device.name;
    std::replace(name.begin(), name.end(), '-', ' ');
    const bool named = words.find(" " + lowered(name) + " ") != std::string::npos;
    const bool as_wide = !launch.sms || !device.sms || device.sms->value == *launch.sms;
    if (named && as_wide && (best == nullptr || device.name.size() > best->name.size())) best = &device;
  }
  return best;
}

/// Median; of an even number the lower of the two in the middle, so that it was measured.
std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

/// Launches of one kernel with one grid, as one with medians.
ProfiledKernel middle_of(const std::vector<const ProfiledKernel*>& launches) {
  ProfiledKernel middle = *launches.front();
  const auto take = [&](std::optional<double> ProfiledKernel::*member) {
    std::vector<double> values;
    for (const ProfiledKernel* launch : launches) {
      if (launch->*member) values.push_back(*(launch->*member));
    }
    middle.*member = median(values);
  };
  take(&ProfiledKernel::dram_read_bytes);
  take(&ProfiledKernel::dram_write_bytes);
  take(&ProfiledKernel::l2_read_sectors);
  take(&ProfiledKernel::time_ns);
  return middle;
}

/// Counters that differ by more than this belong to different problems of one kernel and grid.
constexpr double kOneProblem = 0.01;

bool same_problem(const ProfiledKernel& a, const ProfiledKernel& b) {
  if (a.name != b.name || a.grid != b.grid || a.block != b.block || a.shared_bytes != b.shared_bytes)
    return false;
  if (!a.l2_read_sectors || !b.l2_read_sectors) return true;
  return std::abs(*a.l2_read_sectors - *b.l2_read_sectors) <= kOneProblem * *a.l2_read_sectors;
}

std::vector<std::vector<const ProfiledKernel*>> grouped_launches(
    const std::vector<ProfiledKernel>& launches) {
  std::vector<std::vector<const ProfiledKernel*>> groups;
  for (const ProfiledKernel& launch : launches) {
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& each) { return same_problem(*each.front(), launch); });
    if (group == groups.end()) {
      groups.push_back({&launch});
    } else {
      group->push_back(&launch);
    }
  }
  return groups;
}

/// Forgets sizes below 1: of a profile without grids, or of a name that is not what it seems.
void keep_sizes(Recognised& found) {
  const auto keep = [&](std::optional<std::int64_t> ExplainedProblem::*member, const char* option) {
    if ((found.problem.*member).value_or(1) >= 1) return;
    (found.problem.*member).reset();
    std::erase_if(found.known, [&](const KnownMember& known) { return known.member == option; });
  };
  keep(&ExplainedProblem::batch, "batch-size");
  keep(&ExplainedProblem::heads, "heads");
  keep(&ExplainedProblem::head_dim, "dim");
  keep(&ExplainedProblem::q_tile, "q-tile");
  keep(&ExplainedProblem::kv_tile, "kv-tile");
  if (found.q_tiles.value_or(1) < 1) found.q_tiles.reset();
  if (found.head_dim_upto.value_or(1) < 1) found.head_dim_upto.reset();
}

using FamilyFound = std::optional<std::pair<const Family*, Recognised>>;

FamilyFound found_of(const Family& family, Recognised found) {
  keep_sizes(found);
  return std::pair(&family, std::move(found));
}

/// Kernels of kernel files, which say how their launches are named.
using OwnKernels = std::vector<std::pair<const AttentionKernel*, Family>>;

OwnKernels own_kernels(const std::vector<AttentionKernel>& kernels) {
  OwnKernels own;
  for (const AttentionKernel& kernel : kernels)
    own.push_back({&kernel, {kernel.name.c_str(), kernel.title.c_str(), kernel.name.c_str(), nullptr}});
  return own;
}

/// The family and what it tells: by a kernel file, by the whole name, by a part of it, or as the question says; none:
/// not of attention.
FamilyFound recognise(const ProfiledKernel& launch, const ExplainQuestion& question, const OwnKernels& own,
                      const Family* as) {
  for (const auto& [kernel, family] : own) {
    const auto named = [&](const std::string& part) { return launch.name.find(part) != std::string::npos; };
    if (std::any_of(kernel->names.begin(), kernel->names.end(), named))
      return found_of(family, recognise_kernel(*kernel, launch, question.given));
  }
  const std::string plain = plain_name(launch.name);
  for (const Family& family : families()) {
    if (std::optional<Recognised> found = family.recognise(launch, plain))
      return found_of(family, *std::move(found));
  }
  for (const Family& family : families()) {
    if (family.part != nullptr && launch.name.find(family.part) != std::string::npos)
      return found_of(family, recognise_launch(*family.launch, launch));
  }
  if (as == nullptr) return std::nullopt;
  if (!as->launch) return found_of(*as, infer(launch, question.given));
  return found_of(*as, recognise_launch(*as->launch, launch));
}

/// @throws UnknownName
const Family* named_family(const std::optional<std::string>& as) {
  static const Family kAny{kAnyFamily, "a kernel that is not known", nullptr, nullptr};
  if (!as) return nullptr;
  if (*as == kAnyFamily) return &kAny;
  std::vector<std::string> names = {kAnyFamily};
  for (const Family& family : families()) {
    if (!family.launch) continue;
    if (*as == family.name) return &family;
    names.emplace_back(family.name);
  }
  throw UnknownName("as", *as, closest_name(*as, names), joined(names));
}

/// Keeps the longest launches, one a name.
void add_other(const ProfiledKernel& launch, ExplainAnswer& answer) {
  std::vector<ProfiledKernel>& others = answer.others;
  const bool known = std::any_of(others.begin(), others.end(),
                                 [&](const ProfiledKernel& each) { return each.name == launch.name; });
  if (known) return;
  const auto shorter = [](const ProfiledKernel& a, const ProfiledKernel& b) {
    return a.time_ns.value_or(0) > b.time_ns.value_or(0);
  };
  others.insert(std::upper_bound(others.begin(), others.end(), launch, shorter), launch);
  if (others.size() > kMaxOtherNames) others.pop_back();
}

ExplainedKernel explained(const Family& family, const Recognised& found, const ProfiledKernel& launch,
                          const ExplainQuestion& question, const Device* device, const Context& context) {
  ExplainedKernel kernel;
  kernel.launch = launch;
  kernel.family = family.name;
  kernel.title = family.title;
  kernel.unmodelled = found.unmodelled;
  kernel.launch_order = found.launch_order;
  if (kernel.unmodelled) {
    kernel.problem = found.problem;
    kernel.known = found.known;
    return kernel;
  }
  Completed completed = complete(found, launch, question.given);
  kernel.problem = completed.problem;
  kernel.known = std::move(completed.known);
  kernel.missing = std::move(completed.missing);
  if (!kernel.missing.empty()) return kernel;
  kernel.predicted_sectors = loaded_sectors(kernel.problem, found.reloads_q);
  if (device == nullptr) {
    kernel.missing.emplace_back("device");
    return kernel;
  }
  add_reads(*device, family.catalog_kernel, context, kernel);
  return kernel;
}

void require_positive(const char* option, const std::optional<std::int64_t>& value, std::int64_t most) {
  if (!value || (*value >= 1 && *value <= most)) return;
  throw InvalidParameter(option, std::to_string(*value), "1.." + std::to_string(most));
}

void require_valid(const ExplainedProblem& given) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 31, kMostSize = std::int64_t{1} << 20;
  require_positive("seqlen", given.seqlen, kMostTokens);
  require_positive("seqlen-k", given.seqlen_k, kMostTokens);
  require_positive("batch-size", given.batch, kMostSize);
  require_positive("heads", given.heads, kMostSize);
  require_positive("heads-kv", given.heads_kv, kMostSize);
  require_positive("dim", given.head_dim, kMostSize);
  require_positive("q-tile", given.q_tile, kMostSize);
  require_positive("kv-tile", given.kv_tile, kMostSize);
}

}  // namespace

std::vector<AttentionKernel> profiled_kernels_of(const std::string& parameter, const std::string& text) {
  std::vector<AttentionKernel> kernels = kernels_of(parameter, text);
  for (const AttentionKernel& kernel : kernels) {
    if (kernel.names.empty())
      throw InvalidParameter(parameter, text,
                             "a kernel file whose kernels have \"names\"; launches of " + kernel.name +
                                 " are known by name, or by " + mention("as"));
  }
  return kernels;
}

ExplainAnswer explain(const ExplainQuestion& question, const Context& given) {
  Context context = given;
  for (const AttentionKernel& kernel : question.kernels) add_kernel(context.catalog, kernel);
  require_valid(question.given);
  ExplainAnswer answer;
  answer.question = question;
  const Device* device = question.device ? &context.catalog.device(*question.device) : nullptr;
  for (const ProfiledKernel& launch : question.launches) {
    if (device == nullptr) device = device_of(launch, context.catalog);
  }
  if (device != nullptr) answer.device = device->name;
  const Family* const as = named_family(question.as);
  const OwnKernels own = own_kernels(question.kernels);
  const auto groups = grouped_launches(question.launches);
  std::size_t done = 0;
  for (const auto& group : groups) {
    const ProfiledKernel launch = middle_of(group);
    if (const auto found = recognise(launch, question, own, as)) {
      answer.kernels.push_back(explained(*found->first, found->second, launch, question, device, context));
      answer.kernels.back().launches = static_cast<std::int64_t>(group.size());
    } else {
      answer.other_launches += static_cast<std::int64_t>(group.size());
      add_other(launch, answer);
      if (answer.other_names.size() < kMaxOtherNames &&
          std::find(answer.other_names.begin(), answer.other_names.end(), launch.name) ==
              answer.other_names.end())
        answer.other_names.push_back(launch.name);
    }
    if (context.progress) context.progress(static_cast<double>(++done) / static_cast<double>(groups.size()));
  }
  return answer;
}

}  // namespace natten_sim::study
