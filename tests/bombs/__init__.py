"""Programs and schedules made to keep a compiler busy, and the harness that runs them."""
