#pragma once

#include <optional>
#include <string>
#include <vector>

#include <natten_sim/report/described.hpp>
#include <natten_sim/report/window_recall.hpp>
#include <natten_sim/study/search.hpp>

namespace natten_sim::report {

// What windows keep of a model's attention, in the answers of `search` and `advise`.

/// What some windows keep, or windows that were chosen for heads.
struct RecallTold {
  const std::string* table = nullptr;
  const study::MaskRecalls* recalls = nullptr;  ///< of windows that are listed
  const study::SearchAnswer* chosen = nullptr;  ///< with a choice
  const study::Context* context = nullptr;
};

struct RecallOfMask {
  const study::MaskRecalls* recalls;
  std::size_t mask;
};
inline std::vector<RecallOfMask> recalls_of_masks(const study::MaskRecalls& recalls) {
  std::vector<RecallOfMask> all;
  for (std::size_t mask = 0; mask < recalls.masks; ++mask) all.push_back({&recalls, mask});
  return all;
}
/// Layers, heads.
inline std::vector<std::vector<double>> recalls_of_heads(const RecallOfMask& of) {
  std::vector<std::vector<double>> layers(of.recalls->layers);
  for (std::size_t layer = 0; layer < of.recalls->layers; ++layer) {
    for (std::size_t head = 0; head < of.recalls->heads; ++head)
      layers[layer].push_back(of.recalls->at(layer, head, of.mask));
  }
  return layers;
}

struct ToldLaunch {
  const RecallTold* told;
  const study::RecallLaunch* launch;
};
inline std::vector<ToldLaunch> launches_of(const RecallTold& told) {
  std::vector<ToldLaunch> all;
  for (const study::RecallLaunch& launch : told.chosen->choice->launches) all.push_back({&told, &launch});
  return all;
}

template <typename Members>
void describe(Members& m, Of<RecallOfMask>) {
  m.put("recall", [](const RecallOfMask& of) { return of.recalls->mean(of.mask); });
  m.put(
      "least_recall", [](const RecallOfMask& of) { return of.recalls->least(of.mask); },
      "The least of any head, 0..1");
  m.put("head_recalls", &recalls_of_heads, "Of each layer the heads, 0..1");
}

template <typename Members>
void describe(Members& m, Of<ToldLaunch>) {
  using L = study::RecallLaunch;
  const auto of = [](auto member) { return path(&ToldLaunch::launch, member); };
  m.put("layer", of(&L::layer), "The layer, from 0");
  m.put("heads", of(&L::heads), "Its heads with this window");
  m.put("kv_heads", of(&L::kv_heads), "Their KV heads");
  m.put("candidate", of(&L::candidate), "The window, as a place in the candidates that were tried");
  m.put("recall", of(&L::recall));
  m.put("total_ms", of(&L::ms), "Predicted time");
  m.put(
      "natten_call",
      [](const ToldLaunch& each) {
        return launch_python(*each.told->chosen, *each.launch, *each.told->context);
      },
      "The Python call of this launch");
}

template <typename Members>
void describe(Members& m, Of<RecallTold>) {
  using C = study::RecallChoice;
  m.put("table", &RecallTold::table, "File of attention by offset");
  m.put(
      "layers",
      [](const RecallTold& told) { return told.chosen ? told.chosen->choice->layers : told.recalls->layers; },
      "Layers in the file");
  m.put(
      "heads",
      [](const RecallTold& told) { return told.chosen ? told.chosen->choice->heads : told.recalls->heads; },
      "Heads of a layer");
  m.include(&RecallTold::chosen, [](auto& chosen) {
    const auto of = [](auto member) {
      return [member](const study::SearchAnswer& answer) { return *answer.choice.*member; };
    };
    chosen.put("recall", of(&C::recall));
    chosen.put("total_ms", of(&C::ms), "Predicted time of all launches");
    chosen.put("dense_ms", of(&C::dense_ms), "Dense attention in all layers; null: not known");
    chosen.put("e2e_speedup_time", of(&C::end_to_end_speedup),
               "Speedup of the whole model; null: attention's share is not known");
    chosen.put("least_ms", of(&C::least_ms), "No choice of these windows takes less; null with a budget");
    chosen.put("most_recall", of(&C::most_recall),
               "No choice of these windows keeps more; null without a budget");
  });
  m.when([](const RecallTold& told) { return told.chosen != nullptr; },
         [](auto& chosen) {
           chosen.put("launches", &launches_of, "Launches by layer, the fastest of a layer first");
         });
  m.include(&RecallTold::recalls, [](auto& recalls) {
    recalls.put("windows", &recalls_of_masks, "What each listed window keeps, in their order");
  });
}

}  // namespace natten_sim::report
