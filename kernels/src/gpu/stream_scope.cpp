#include <natten_sim/kernels/gpu/stream_scope.hpp>

namespace natten_sim::kernels {
namespace {

thread_local void* stream_of_thread = nullptr;

}  // namespace

void* current_stream() noexcept { return stream_of_thread; }

StreamScope::StreamScope(void* stream) noexcept : before_(stream_of_thread) { stream_of_thread = stream; }
StreamScope::~StreamScope() { stream_of_thread = before_; }

}  // namespace natten_sim::kernels
