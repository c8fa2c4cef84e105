"""Helicoid timed beside other libraries, on the same robots and states, after checking that all agree."""
