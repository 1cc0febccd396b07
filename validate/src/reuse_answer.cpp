#include "reuse_answer.hpp"

namespace natten_sim::validate {

study::ReuseResult reuse_on(const Device& device, study::ReuseQuestion question) {
  study::Context context;
  context.catalog.devices = {device};
  question.device = device.name;
  return study::reuse(question, context).results.front().first;
}

}  // namespace natten_sim::validate
