"""The one logger, and how a line about a task looks."""

from aws_lambda_powertools import Logger

logger = Logger(service="agentfn", utc=True, log_uncaught_exceptions=False)
