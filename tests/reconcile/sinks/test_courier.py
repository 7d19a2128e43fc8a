# SPDX-License-Identifier: Apache-2.0
"""Messages reach their sink in order, or it is said that they did not."""

from dataclasses import dataclass, field

from tests.reconcile.sinks.receivers import Posted, message, web_server
from trueup.reconcile.sinks import Couriers, Message, Sink, sink_of


@dataclass
class Failing:
    """Does not take its first messages; `error` is raised for those."""

    failures: int
    error: Exception | None = None
    taken: list[str] = field(default_factory=list)

    def carry(self, message: Message, line: bytes) -> str:
        if self.failures:
            self.failures -= 1
            if self.error:
                raise self.error
            return "it is full"
        self.taken.append(message.id)
        return ""


def brought(sink: Sink, number: int = 3) -> list[str]:
    """What is said while so many messages are brought to a sink."""
    said: list[str] = []
    couriers = Couriers([sink], said.append, "run r", "Send them again.")
    for each in range(number):
        couriers.send(message(each))
    couriers.close()
    return said


def test_what_a_sink_did_not_take_is_tried_again_and_in_order():
    sink = Failing(2)
    assert brought(Sink("it", sink)) == [
        "it fails: it is full. The run continues; the message is sent again."
    ]
    assert sink.taken == ["run/0", "run/1", "run/2"]


def test_a_lost_sink_is_said_with_the_number_of_messages():
    sink = Failing(1_000, OSError("gone"))
    assert brought(Sink("it", sink)) == [
        "it fails: OSError: gone. The run continues; the message is sent again.",
        "3 of 3 messages about run r did not reach it: OSError: gone. Send them again.",
    ]


def test_a_sink_that_takes_all_is_not_spoken_of():
    assert brought(Sink("it", Failing(0))) == []


def test_a_lost_sink_takes_nothing_from_another():
    said: list[str] = []
    good, posted = Failing(0), Posted([503, 503, 204])
    with web_server(posted) as port:
        sinks = [
            sink_of("/no/such/program"),
            Sink("it", good),
            sink_of(f"http://127.0.0.1:{port}/"),
        ]
        couriers = Couriers(sinks, said.append, "run r", "Send them again.")
        couriers.send(message(1))
        couriers.close()
    assert good.taken == ["run/1"]
    assert [headers["webhook-id"] for headers in posted.headers] == ["run/1"] * 3
    assert [line.partition(" ")[0] for line in said if "did not reach" in line] == ["1"]
