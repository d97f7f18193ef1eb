"""Programs on several ranks."""

from polyopt import building

__all__ = ["building"]  # loaded before a pure test hides the compiler from what is loaded then
