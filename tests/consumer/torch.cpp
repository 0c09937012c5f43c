// The optional component for trainers whose tensors are those of libtorch.
#include <slimpack/adapters/torch.hpp>

int main() { return torch::ones({2, 3}).sum().item<float>() == 6 ? 0 : 1; }
