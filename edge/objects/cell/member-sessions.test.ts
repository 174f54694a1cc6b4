/** The requests of an isolate whose sessions end, overlap, break, and are followed by others, with the real admission. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import {
  endOf,
  GRACE_MS,
  MembersHarness,
  NEWS_MS,
  ROW_WAITS_MS,
  requestOf,
  verdicts,
} from "../../../test/harness/edge/cell/members-harness.ts";
import { MemberTable } from "../../domain/admission/member-table.ts";

const NOTHING = { inFlight: 0, queued: 0, entries: 0 };

beforeEach(() => vi.useFakeTimers());

describe("an isolate that opens its next session", () => {
  it("within the grace keeps what it names, and loses what it does not name", async () => {
    const stage = new MembersHarness(3);
    const asked = ["runs", "ends", "dies", "waits", "leaves"].map((id) => requestOf(id));
    stage.members.end(stage.open(asked).session);
    await stage.pass(GRACE_MS - 1);
    const { answer } = stage.open(
      [],
      { running: ["runs"], waiting: ["waits"], others: ["ends"] },
      { ends: [endOf("ends")] },
    );
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
    const { answer } = stage.open([], { running: ["runs"], waiting: ["waits"] });
    expect({
      unknown: answer.unknown,
      told: verdicts(answer),
      other: other.state,
      runs: stage.world.stateOf("runs"),
    }).toEqual({
      unknown: [],
      told: [],
      other: "running",
      runs: "running",
    });
    await stage.pass(60_000);
    expect({ states: stage.states("runs", "waits"), load: stage.load, rows: stage.rows }).toEqual({
      states: { runs: "running", waits: "waiting" },
      load: { inFlight: 2, queued: 1, entries: 3 },
      rows: [],
    });
    await stage.world.admission.end(endOf("runs"));
    expect(stage.rows).toEqual([["runs", 200, 3]]);
  });

  it("gets no slot of a request of its own that still runs for one that waits", async () => {
    const stage = new MembersHarness(1);
    stage.members.end(stage.open([requestOf("runs"), requestOf("waits")]).session);
    await stage.pass(GRACE_MS);
    stage.open([], { running: ["runs"], waiting: ["waits"] });
    expect({ states: stage.states("runs", "waits"), inFlight: stage.load.inFlight }).toEqual({
      states: { runs: "running", waits: "waiting" },
      inFlight: 1,
    });
  });

  it("gets no slot for a request that was refused by its budgets", async () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open([admissionRequestOf("refused", "t", {}, { tenantTokens: 0 })]);
    await stage.pass(0);
    expect(stage.states("refused")).toEqual({ refused: "refused" });
    stage.members.end(session);
    await stage.pass(GRACE_MS);
    const { answer } = stage.open([], { running: ["refused"] });
    expect({ unknown: answer.unknown, load: stage.load.inFlight }).toEqual({ unknown: ["refused"], load: 0 });
  });

  it("keeps its slots when it was taken for gone within the grace of its last session", async () => {
    const stage = new MembersHarness(1);
    const leaseMs = 5_000;
    const { session } = stage.open([requestOf("runs")], { leaseMs });
    for (let interval = 0; interval < 5; interval += 1) stage.members.pass();
    stage.members.end(session);
    stage.members.pass();
    expect(stage.load.inFlight).toBe(0);
    stage.open([], { running: ["runs"], leaseMs });
    await stage.pass(60_000);
    expect({ state: stage.states("runs"), inFlight: stage.load.inFlight }).toEqual({
      state: { runs: "running" },
      inFlight: 1,
    });
  });

  it("after it was forgotten is not given up for the session before", async () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open([requestOf("first")]);
    stage.members.end(session);
    await stage.world.admission.end(endOf("first"));
    stage.members.pass();
    stage.open([requestOf("second")]);
    await stage.pass(60_000);
    expect({ state: stage.states("second"), inFlight: stage.load.inFlight }).toEqual({
      state: { second: "running" },
      inFlight: 1,
    });
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
    const lost = stage.exchange(session, { ends: [endOf("first")] });
    expect(verdicts(lost)).toEqual(["second granted"]);
    stage.members.end(session);
    // No answer came to the requests, nor to the end.
    const asks = [requestOf("third")];
    const { answer } = stage.open(
      asks,
      { waiting: ["second"], others: ["first", "third"] },
      { ends: [endOf("first")] },
    );
    await stage.pass(0);
    expect({ told: verdicts(answer), load: stage.load, rows: stage.rows }).toEqual({
      told: ["second granted", "third waiting"],
      load: { inFlight: 2, queued: 1, entries: 3 },
      rows: [["first", 200, 3]],
    });
  });

  it("has a request with changed records checked again", async () => {
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

describe("an isolate that opens a session while an earlier one stands", () => {
  it("is heard through the new one only, and loses what it does not name", async () => {
    const stage = new MembersHarness(2);
    const { session } = stage.open([requestOf("one"), requestOf("two")]);
    const news = stage.members.news(session);
    stage.open([], { running: ["one"] });
    expect(() => stage.exchange(session, { asks: [requestOf("late")] })).toThrow("the session is over");
    expect({ states: stage.states("one", "two", "late"), news: verdicts(await news) }).toEqual({
      states: { one: "running", two: null, late: null },
      news: [],
    });
  });

  it("keeps its requests when the Cell sees later that the earlier one has ended", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one")]);
    const second = stage.open([], { running: ["one"] });
    stage.members.end(first.session);
    await stage.pass(60_000);
    expect({ states: stage.states("one"), isQuiet: stage.members.isQuiet("isolate") }).toEqual({
      states: { one: "running" },
      isQuiet: false,
    });
    stage.members.end(second.session);
    await stage.pass(GRACE_MS);
    expect(stage.states("one")).toEqual({ one: null });
  });

  it("is told what was decided between two calls of the earlier one", async () => {
    const stage = new MembersHarness(1);
    const holder = stage.world.ask(requestOf("holder", "other tenant"), "other");
    const table = new MemberTable();
    const { session } = stage.members.open({ member: "isolate", ...table.living() }, table.first());
    const asked = table.ask(requestOf("asks"));
    const message = table.take() ?? table.first();
    const opening = [{ member: "isolate", ...table.living() }, table.first()] as const;
    const answer = stage.members.exchange(session, message);
    await stage.world.end(holder, 0);
    const next = stage.members.open(...opening);
    table.applyAnswer(answer);
    table.applyAnswer(next.answer);
    const { verdict } = await asked;
    expect({ verdict, decided: (await table.decision("asks")).verdict, atCell: stage.world.stateOf("asks") }).toEqual({
      verdict: "waiting",
      decided: "granted",
      atCell: "running",
    });
  });

  it("opens no session with a message that a newer one has overtaken", () => {
    const stage = new MembersHarness(1);
    const { session } = stage.open([requestOf("one")]);
    const { decided } = stage.exchange(session, { n: 5, asks: [requestOf("two")] });
    for (const n of [4, 5]) expect(() => stage.open([], {}, { n })).toThrow("the member has said more since");
    expect({ decided: decided.length, states: stage.states("one", "two") }).toEqual({
      decided: 1,
      states: { one: "running", two: "waiting" },
    });
  });

  it("is told by the new one what was decided or stored since", async () => {
    const stage = new MembersHarness(1);
    const first = stage.open([requestOf("one"), requestOf("two")]);
    const older = stage.members.news(first.session);
    stage.exchange(first.session, { records: [{ row: requestOf("refusal").row }] });
    await stage.pass(NEWS_MS - 1);
    const second = stage.open([], { running: ["one"], waiting: ["two"] });
    const newer = stage.members.news(second.session);
    stage.members.end(first.session);
    await stage.world.admission.end(endOf("one"));
    await stage.pass(1);
    expect({
      older: await older,
      opened: second.answer.stored,
      newer: verdicts(await newer),
    }).toEqual({
      older: { decided: [], hits: [], stored: [], refused: [], unknown: [] },
      opened: ["refusal"],
      newer: ["two granted"],
    });
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
