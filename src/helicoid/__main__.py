"""`python -m helicoid` is the command line."""

from helicoid.cli.app import app

app(prog_name="helicoid")
