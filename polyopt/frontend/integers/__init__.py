"""Integer expressions of sizes and loop variables: ranges, limits, what is affine."""
