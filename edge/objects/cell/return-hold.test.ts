/** The grants of a Cell after a reset, before the isolates with requests are back. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { endOf, MembersHarness, requestOf } from "../../../test/harness/edge/cell/members-harness.ts";

beforeEach(() => vi.useFakeTimers());

/** A Cell with two slots that was reset while two isolates had requests; then another isolate asks for a slot. */
function resetCell() {
  const stage = new MembersHarness(2, ["one", "two"]);
  const asked = stage.world.ask(requestOf("new"), "another");
  return { stage, asked };
}

const back = (id: string) => ({ ...requestOf(id), waitedMs: 0 });

describe("a Cell that was reset", () => {
  it("gives no slot before each isolate has handed in what it runs, however late", async () => {
    const { stage, asked } = resetCell();
    await stage.pass(1_500);
    const one = stage.open([], { member: "one", running: ["a"] });
    const two = stage.open([], { member: "two", running: ["b"] });
    stage.exchange(one.session, { returns: [back("a")] });
    await stage.pass(400);
    const before = { state: asked.state, ...stage.load };
    stage.exchange(two.session, { returns: [back("b")] });
    const after = { state: asked.state, ...stage.load };
    const counted = { state: "waiting", queued: 1 };
    expect({ before, after }).toMatchObject({
      before: { ...counted, inFlight: 1 },
      after: { ...counted, inFlight: 2 },
    });
  });

  it("gives slots once both are back, also when what they ran has ended meanwhile", () => {
    const { stage, asked } = resetCell();
    const { session } = stage.open([], { member: "one", running: ["a", "b"] });
    stage.open([], { member: "two" });
    stage.exchange(session, { ends: [endOf("a")] });
    const before = asked.state;
    stage.exchange(session, { departures: [{ requestId: "b", isLost: false, held: null }] });
    expect({ before, after: asked.state }).toEqual({ before: "waiting", after: "running" });
  });

  it("gives slots by age once what waited before has asked again", () => {
    const { stage, asked } = resetCell();
    stage.open([], { member: "two" });
    const { session } = stage.open([requestOf("young")], { member: "one", waiting: ["old"] }, { ends: [endOf("a")] });
    const before = asked.state;
    stage.exchange(session, { asks: [{ ...requestOf("old"), waitedMs: 10_000 }] });
    expect({ before, after: [asked.state, ...["young", "old"].map((id) => stage.world.stateOf(id, "one"))] }).toEqual({
      before: "waiting",
      after: ["running", "waiting", "running"],
    });
  });

  it("waits for an isolate that is gone for 2 s", async () => {
    const { stage, asked } = resetCell();
    stage.open([], { member: "one" });
    await stage.pass(1_999);
    const before = asked.state;
    await stage.pass(1);
    expect({ before, after: asked.state }).toEqual({ before: "waiting", after: "running" });
  });
});
