"""Programs of the sciences, of signal processing and of finance."""
