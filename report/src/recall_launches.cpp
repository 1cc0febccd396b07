#include <fmt/format.h>
#include <fmt/ranges.h>

#include <natten_sim/report/emit.hpp>
#include <natten_sim/report/window_recall.hpp>

namespace natten_sim::report {
namespace {

/// `3:8` where they follow each other, which copies nothing, else `[3, 5]`; empty: all there are.
std::string picked(const std::vector<std::size_t>& numbers, std::size_t all) {
  if (numbers.size() == all) return "";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != numbers.front() + i) return fmt::format("[{}]", fmt::join(numbers, ", "));
  }
  return fmt::format("{}:{}", numbers.front(), numbers.back() + 1);
}

std::string with_heads(const std::string& tensor, const std::string& heads) {
  return heads.empty() ? tensor : tensor + "[..., " + heads + ", :]";
}

}  // namespace

std::string launch_python(const study::SearchAnswer& answer, const study::RecallLaunch& launch, const study::Context& context) {
  const study::Setting& setting = answer.question.setting;
  const auto all = static_cast<std::size_t>(*setting.heads), all_kv = static_cast<std::size_t>(*setting.heads_kv);
  const std::string heads = picked(launch.heads, all), kv_heads = picked(launch.kv_heads, all_kv);
  study::CallParts parts = study::call_parts(answer, answer.candidates[launch.candidate], context.catalog);
  parts.setting.heads = static_cast<std::int64_t>(launch.heads.size());
  parts.setting.heads_kv = static_cast<std::int64_t>(launch.kv_heads.size());
  const NattenTensors tensors{with_heads("query", heads), with_heads("key", kv_heads), with_heads("value", kv_heads)};
  return with_heads("output", heads.empty() ? ":" : heads) + " = " +
         emitted_call(parts.setting, parts.forward, parts.backward ? &*parts.backward : nullptr, context, tensors);
}

std::string launches_python(const study::SearchAnswer& answer, const study::Context& context) {
  const study::RecallChoice& choice = *answer.choice;
  const study::Setting& setting = answer.question.setting;
  std::string text = fmt::format(
      "import natten\n"
      "{}\n\n"
      "def attention(layer, query, key, value):\n"
      "    \"\"\"Each head with its window. Tensors are (batch, {}, heads, head dim), of one layer of {}.\"\"\"\n"
      "    output = query.new_empty((*query.shape[:-1], value.shape[-1]))\n",
      setting.deterministic ? "import torch\n\ntorch.use_deterministic_algorithms(True)\n" : "",
      fmt::join(setting.input, ", "), choice.layers);
  std::optional<std::size_t> layer;
  for (const study::RecallLaunch& launch : choice.launches) {
    if (layer != launch.layer) text += fmt::format("    {} layer == {}:\n", layer ? "elif" : "if", launch.layer);
    layer = launch.layer;
    text += "        " + launch_python(answer, launch, context) + "\n";
  }
  return text + "    return output\n";
}

}  // namespace natten_sim::report
