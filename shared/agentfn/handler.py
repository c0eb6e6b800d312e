"""Being written."""


def serve(agent: object) -> object:
    return agent
