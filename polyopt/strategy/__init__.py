"""Which steps to take: the automatic schedules, composed of proven transformations."""

from polyopt.strategy.auto import auto_schedule

__all__ = ["auto_schedule"]
