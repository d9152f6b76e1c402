"""The commands under one name."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import homotopy
from homotopy_plugins.cli.answers import OneLine, PlainUsage
from homotopy_plugins.cli.arguments import Quiet
from homotopy_plugins.cli.commands.audit import audit
from homotopy_plugins.cli.commands.demo import demo
from homotopy_plugins.cli.commands.plugins import plugins
from homotopy_plugins.cli.commands.predict import predict
from homotopy_plugins.cli.commands.saved import certify, plot, report
from homotopy_plugins.cli.commands.select import select
from homotopy_plugins.cli.commands.trace import trace

__all__ = ["app"]

app = typer.Typer(
    name="homotopy",
    cls=OneLine,
    help="Find mislabelled rows in a table, train SVMs that are robust to them, and trace, check "
    "and plot whole solution paths of parametric quadratic programs.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (audit, trace, select, predict, certify, plot, report, plugins, demo):
    app.command(cls=PlainUsage)(command)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"homotopy-qp {homotopy.__version__}\n")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def _homotopy(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    context.obj = {"quiet": quiet}
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")
