"""Other methods for the same problems, for comparison."""

from homotopy_plugins.baselines.cccp import CCCPResult, cccp

__all__ = ["CCCPResult", "cccp"]
