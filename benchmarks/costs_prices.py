"""List prices of AWS in us-east-1, in dollars, without free tiers, discounts and taxes. Look them up before you rely on
them: they are from the pages named here, as they were in November 2026.
"""

MILLION = 1_000_000
GB = 1024**3

# https://aws.amazon.com/dynamodb/pricing/on-demand/
WRITE_UNIT = 0.625 / MILLION
READ_UNIT = 0.125 / MILLION
TABLE_GB_MONTH = 0.25

# https://aws.amazon.com/sqs/pricing/ - standard queue, each call of up to 64 KB
QUEUE_CALL = 0.40 / MILLION

# https://aws.amazon.com/lambda/pricing/ - x86, first tier
INVOCATION = 0.20 / MILLION
GB_SECOND = 0.0000166667

# https://aws.amazon.com/lambda/pricing/ - durable functions: the start, each step, each wait is an operation
DURABLE_OPERATION = 8.00 / MILLION
DURABLE_GB_WRITTEN = 0.25
DURABLE_GB_MONTH = 0.15
