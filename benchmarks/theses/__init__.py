"""Tables and figures of two theses, with Helicoid's figures beside the published ones: `make thesis`."""
