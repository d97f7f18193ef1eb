"""Programs of deep learning and statistics."""
