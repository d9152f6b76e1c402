"""Which rows of a table are wrong?  Importing this imports scikit-learn."""

from homotopy_plugins.auditing.audit import audit
from homotopy_plugins.auditing.report import AuditReport

__all__ = ["AuditReport", "audit"]
