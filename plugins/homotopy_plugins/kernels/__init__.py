"""Kernel functions and what all kernel machines share."""

from homotopy_plugins.kernels.kernel_model import KernelModel, KernelOptions

__all__ = ["KernelModel", "KernelOptions"]
