"""The agents of the stories."""

from typing import Any

from agentfn import Agent, Context, File, InputFile, Output, Skill, Toolkit, tool


@tool(idempotent=True)
def look_up(city: str, days: int = 1) -> dict[str, Any]:
    """Tells the weather of a city.

    Args:
        city: Its name.
        days: For how many days.
    """
    return {"city": city, "weather": "rain ☔", "days": days, "chance": 0.5, "source": None}


@tool(requires_approval=True)
def book(seat: int) -> str:
    """Books a seat."""
    return f"Seat {seat} is booked."


@tool(idempotent=True)
def count(file: InputFile) -> str:
    """Counts the bytes of a file."""
    return f"{file.name}: {len(file.read_bytes())}"


@tool(idempotent=True)
def draw(name: str = "chart größe.svg") -> Output:
    """Draws a chart."""
    return Output("drawn", files=[File(name, b"<svg/>", "image/svg+xml"), File("table.csv", b"a,b\n1,2\n", "text/csv")])


@tool(idempotent=True)
def tell(context: Context, text: str) -> str:
    """Tells what files there are."""
    return f"{text}: {', '.join(str(info) for info in context.files)}"


@tool(idempotent=True)
def explode() -> str:
    """Fails."""
    raise RuntimeError("the fuse was short")


@tool(idempotent=True)
def recite(length: int) -> str:
    """Recites a long text."""
    return "é" * length


def clerk() -> Agent:
    return Agent(
        name="clerk",
        version="1.2.3",
        description="A clerk für Tests: 你好.",
        instructions="You are a clerk.",
        tools=[Toolkit([look_up, recite], instructions="Look it up first."), book, count, draw, tell, explode],
        skills=[
            Skill("weather", "Weather", "Tells the weather.", tags=("weather",), examples=("Will it rain?",)),
            Skill("audit", "Audit", "Looks at the books.", public=False),
        ],
    )


def plain() -> Agent:
    return Agent(name="plain", description="Answers.")
