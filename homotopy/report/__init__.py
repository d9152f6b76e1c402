"""A path as one self-contained HTML page with a slider; see `Path.report`.

`sampling` reads the path, `content` decides what is on the page, `document` renders and writes it.
``page.html``, ``page.css`` and ``page.js`` are the page itself.

The few hundred lines of ``page.js`` draw the charts without a plotting library.  A page is then a
tenth of a megabyte plus its data, needs no extra package, opens at once, follows the reader's
light or dark scheme, and evaluates the path exactly (linear between break-points, two values at a
jump) at any t.
"""

from homotopy.report.content import Content, path_content
from homotopy.report.document import Report

__all__ = ["Content", "Report", "path_content"]
