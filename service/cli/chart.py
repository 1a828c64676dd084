"""The charts of ``service.reports`` under their earlier name."""

from service.reports.chart import *  # noqa: F403
