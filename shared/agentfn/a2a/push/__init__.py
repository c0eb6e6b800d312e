"""Push notifications: their configurations, their delivery to webhooks, their signatures."""
