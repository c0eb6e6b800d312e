"""The sources of the function's events, one class each: API Gateway, the queue (SQS) and the schedule (EventBridge)."""
