"""Which rows of a table are wrong?  Importing this imports scikit-learn."""

from homotopy_plugins.auditing.report import AuditReport
from homotopy_plugins.auditing.run import audit

__all__ = ["AuditReport", "audit"]
