"""The advice of ``service.reports`` under its earlier name."""

from service.reports.advice import *  # noqa: F403
