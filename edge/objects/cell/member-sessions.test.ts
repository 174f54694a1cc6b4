/** The requests of an isolate whose sessions end, overlap, break, and are followed by others, with the real admission. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  EMPTY_MESSAGE,
  endOf,
  GRACE_MS,
  MembersHarness,
  NEWS_MS,
  ROW_WAITS_MS,
  requestOf,
  verdicts,
} from "../../../test/harness/edge/cell/members-harness.ts";

const NOTHING = { inFlight: 0, queued: 0, entries: 0 };

beforeEach(() => vi.useFakeTimers());

describe("an isolate that opens its next session", () => {
  it("within the grace keeps what it names, and loses what it does not name", async () => {
    const stage = new MembersHarness(3);
    const asked = ["runs", "ends", "dies", "waits", "leaves"].map((id) => requestOf(id));
    stage.members.end(stage.open(asked).session);
    await stage.pass(GRACE_MS - 1);
    const { answer } = stage.open([], { running: ["runs"], waiting: ["waits"] }, { ends: [endOf("ends")] });
    await stage.pass(60_000);
    expect({ states: stage.states("runs", "ends", "dies", "waits", "leaves"), unknown: answer.unknown }).toEqual({
      states: { runs: "running", ends: null, dies: null, waits: "running", leaves: null },
      unknown: [],
    });
    expect(stage.rows).toEqual([
      ["ends", 200, 3],
      ["leaves", 499, 0],
      ["dies", 499, 10],
    ]);
  });

  it("after the grace has its running requests counted again, and its places back", async () => {
    const stage = new MembersHarness(1);
    stage.members.end(stage.open([requestOf("runs"), requestOf("waits")]).session);
    await stage.pass(GRACE_MS + ROW_WAITS_MS - 1);
    const other = stage.world.ask(requestOf("other"), "other");
    const { session, answer } = stage.open([], { running: ["runs"], waiting: ["waits"] });
    expect({ unknown: answer.unknown, told: verdicts(answer), other: other.state }).toEqual({
      unknown: ["runs"],
      told: [],
      other: "running",
    });
    stage.members.exchange(session, { ...EMPTY_MESSAGE, returns: [{ ...requestOf("runs"), waitedMs: 0 }] });
    await stage.pass(60_000);
    expect({ states: stage.states("runs", "waits"), load: stage.load, rows: stage.rows }).toEqual({
      states: { runs: "running", waits: "waiting" },
      load: { inFlight: 2, queued: 1, entries: 3 },
      rows: [],
    });
    await stage.world.admission.end(endOf("runs"));
    expect(stage.rows).toEqual([["runs", 200, 3]]);
  });

  it("to a Cell that was reset learns which of its requests that does not know", () => {
    const stage = new MembersHarness(1);
    const { answer } = stage.open([], { running: ["runs"], waiting: ["waits"] });
    expect({ unknown: answer.unknown, decided: answer.decided, load: stage.load }).toEqual({
      unknown: ["runs"],
      decided: [["waits", { verdict: "stale", items: [] }]],
      load: NOTHING,
    });
  });

  it("is told again what its last session may not have delivered", async () => {
    const stage = new MembersHarness(2);
    stage.world.ask(requestOf("holder"), "other");
    const { session } = stage.open([requestOf("first"), requestOf("second"), requestOf("third")]);
    const lost = stage.members.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf("first")] });
    expect(verdicts(lost)).toEqual(["second granted"]);
    stage.members.end(session);
    // No answer came to the requests, nor to the end.
    const asks = [requestOf("third")];
    const { answer } = stage.open(asks, { waiting: ["second"] }, { ends: [endOf("first")] });
    await stage.pass(0);
    expect({ told: verdicts(answer), load: stage.load, rows: stage.rows }).toEqual({
      told: ["second granted", "third waiting"],
      load: { inFlight: 2, queued: 1, entries: 3 },
      rows: [["first", 200, 3]],
    });
  });

  it("has the place of a request judged again whose records have changed", async () => {
    const stage = new MembersHarness(1);
    stage.world.ask(requestOf("holder"), "other");
    stage.members.end(stage.open([requestOf("waits")]).session);
    await stage.pass(GRACE_MS);
    stage.world.revisions.note([{ kind: "tenant", id: "t", rev: 6 }], 0);
    const { answer } = stage.open([], { waiting: ["waits"] });
    expect({ decided: answer.decided, queued: stage.load.queued }).toEqual({
      decided: [["waits", { verdict: "stale", items: [{ kind: "tenant", id: "t", rev: 6 }] }]],
      queued: 0,
    });
  });
});

describe("an isolate whose sessions overlap", () => {
  it("keeps all its requests when the older one ends, and whatever the newer one does not name", async () => {
    const stage = new MembersHarness(2);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const second = stage.open([], { running: ["one"] });
    stage.members.end(first.session);
    await stage.pass(60_000);
    expect({ states: stage.states("one", "two"), isQuiet: stage.members.isQuiet("isolate") }).toEqual({
      states: { one: "running", two: "running" },
      isQuiet: false,
    });
    stage.members.end(second.session);
    await stage.pass(GRACE_MS);
    expect(stage.load.inFlight).toBe(0);
  });

  it("is told by the newer one, because the code behind the older one may be gone", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const older = stage.members.news(first.session);
    const second = stage.open([], { running: ["one"], waiting: ["two"] });
    const newer = stage.members.news(second.session);
    await stage.world.admission.end(endOf("one"));
    await stage.pass(0);
    stage.members.end(first.session);
    expect({ older: verdicts(await older), newer: verdicts(await newer) }).toEqual({
      older: [],
      newer: ["two granted"],
    });
  });

  it("is told by the older one while it may not know yet of the newer one", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const older = stage.members.news(first.session);
    stage.open([], { running: ["one"], waiting: ["two"] });
    await stage.world.admission.end(endOf("one"));
    expect(verdicts(await older)).toEqual(["two granted"]);
  });

  it("is told by the newer one what was decided when the older one has ended", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const older = stage.members.news(first.session);
    const second = stage.open([], { running: ["one"], waiting: ["two"] });
    const newer = stage.members.news(second.session);
    stage.members.end(first.session);
    await stage.world.admission.end(endOf("one"));
    expect({ older: verdicts(await older), newer: verdicts(await newer) }).toEqual({
      older: [],
      newer: ["two granted"],
    });
  });

  it("loses no news to the end of the older one", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one")]);
    const older = stage.members.news(first.session);
    const second = stage.open([], { running: ["one"] });
    const newer = stage.members.news(second.session);
    stage.members.exchange(second.session, { ...EMPTY_MESSAGE, ends: [endOf("one")] });
    await stage.pass(NEWS_MS - 1);
    stage.members.end(first.session);
    await stage.pass(1);
    expect({ older: (await older).stored, newer: (await newer).stored }).toEqual({ older: [], newer: ["one"] });
  });

  it("keeps an exchange of the older one that arrives late", async () => {
    const stage = new MembersHarness(2);
    const first = stage.open([requestOf("one")]);
    stage.open([], { running: ["one"] });
    const answer = stage.members.exchange(first.session, { ...EMPTY_MESSAGE, asks: [requestOf("two")] });
    expect({ told: verdicts(answer), load: stage.load.inFlight }).toEqual({ told: ["two granted"], load: 2 });
  });
});

it("knows isolates apart: what one of them loses is not lost to the others", async () => {
  const stage = new MembersHarness(2);
  const gone = stage.open([requestOf("gone")], { member: "a" });
  stage.open([requestOf("here")], { member: "b" });
  stage.members.end(gone.session);
  await stage.pass(GRACE_MS + ROW_WAITS_MS);
  expect({ here: stage.world.stateOf("here", "b"), rows: stage.rows }).toEqual({
    here: "running",
    rows: [["gone", 499, 10]],
  });
});
