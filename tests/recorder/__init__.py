"""Records what the agent answers, stores and sends, byte for byte, so that a change of any of it is noticed.

A story (`*_stories.py`) calls the Lambda handler with events of API Gateway and SQS. Its recording holds each request
and its answer (status, headers, body), the messages sent to SQS, the items in DynamoDB and the objects in S3. Values
that differ from run to run are replaced by placeholders (`placeholders.py`).

`tests/a2a/test_recorded_answers.py` plays every story again and compares. After a change that is meant, record anew
with `PYTHONPATH=tests .venv/bin/python -m recorder [name of a story …]` and review the difference with git.
"""
