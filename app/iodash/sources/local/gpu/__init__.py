"""The GPUs: NVIDIA's through its library in a process of its own, others through what the kernel shows."""
