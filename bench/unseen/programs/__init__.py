"""The programs, as their users write them: half of them in loops, half over whole arrays."""
