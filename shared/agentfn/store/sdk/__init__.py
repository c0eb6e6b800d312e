"""The task store, the event log and the push configs behind a2a-sdk's own interfaces."""

from agentfn.store.sdk.sdk_event_stream import SdkEventStream
from agentfn.store.sdk.sdk_push_config_store import SdkPushConfigStore
from agentfn.store.sdk.sdk_task_store import SdkTaskStore

__all__ = ["SdkEventStream", "SdkPushConfigStore", "SdkTaskStore"]
