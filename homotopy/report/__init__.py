"""A path as one self-contained HTML page with a slider; see `Path.report`.

`sampling` reads the path, `content` says what is on the page, `document` makes the page of it and
writes it.  ``page.html``, ``page.css`` and ``page.js`` are the page itself.

The pictures are drawn by the few hundred lines of ``page.js`` instead of a plotting library: a page
is then a tenth of a megabyte plus its data, needs no extra to be made, opens at once, follows the
reader's light or dark scheme, and evaluates the path by its own rule (straight lines between
break-points, two values at a jump) at whatever t is asked for.
"""

from homotopy.report.content import Content, path_content, path_report
from homotopy.report.document import Report

__all__ = ["Content", "Report", "path_content", "path_report"]
