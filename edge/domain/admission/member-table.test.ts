import { describe, expect, it } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { admissionRequestOf, subCallOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { AdmissionAnswer, ExchangeAnswer, ExchangeMessage } from "./exchange-messages.ts";
import { MemberTable } from "./member-table.ts";
import type { AdmissionRequest, Grant, Settlement } from "./rpc.ts";

const GRANT: Grant = { admission: "queued", queueWaitMs: 7, level: null };
const GRANTED = { verdict: "granted", grant: GRANT } as const;
const WAITS = { verdict: "waiting" } as const;
const OLD = { verdict: "stale", items: [] } as const;
const SILENCE: ExchangeAnswer = { decided: [], hits: [], stored: [], refused: [], unknown: [] };
const AWAY = new Error("the Cell is away");

const askOf = (id: string): AdmissionRequest => admissionRequestOf(id, "t");
const endOf = (id: string): Settlement => ({ row: zeroUsageRow(id, 0), actualTokens: 1 });
const hitOf = (id: string) => ({ revs: [], limits: null, row: zeroUsageRow(id, 0) });
const idsOf = (rows: readonly { readonly row: { readonly request_id: string } }[]) =>
  rows.map(({ row }) => row.request_id);

/** A message by ids; null if there is none. */
function sent(message: ExchangeMessage | null) {
  if (message === null) return null;
  const { ends, departures, records, hits, returns, asks } = message;
  const left = (isLost: boolean) => departures.filter((one) => one.isLost === isLost).map(({ requestId }) => requestId);
  const of = (requests: readonly AdmissionRequest[]) => requests.map(({ requestId }) => requestId);
  const all = {
    ends: idsOf(ends),
    departures: left(true),
    withdrawals: left(false),
    records: idsOf(records),
    hits: idsOf(hits),
  };
  return Object.fromEntries(
    Object.entries({ ...all, returns: of(returns), asks: of(asks) }).filter(([, list]) => list.length > 0),
  );
}

/** What became of some work, by now. */
function outcome(work: Promise<unknown>): { now: unknown } {
  const seen: { now: unknown } = { now: "waits" };
  work.then(
    (value) => (seen.now = value),
    (error: unknown) => (seen.now = error),
  );
  return seen;
}

/** The isolate has read all of this. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

class Table extends MemberTable {
  /** Takes an answer to a message without departures. */
  answer(answer: Partial<ExchangeAnswer>): readonly string[] {
    return idsOf(this.applyAnswer({ ...SILENCE, ...answer }));
  }

  /** Requests that asked, and got this answer. */
  answered(answer: AdmissionAnswer, ...ids: readonly string[]): void {
    for (const id of ids) this.ask(askOf(id)).catch(() => undefined);
    this.take();
    this.answer({ decided: ids.map((id) => [id, answer]) });
  }
}

function tableOf({ running = [], waiting = [] }: { running?: readonly string[]; waiting?: readonly string[] }): Table {
  const table = new Table();
  table.answered(GRANTED, ...running);
  table.answered(WAITS, ...waiting);
  return table;
}

describe("what an isolate has to send", () => {
  it("keeps admission requests in order, sends each once, and is urgent while one waits", async () => {
    const table = new Table();
    const answers = ["one", "two"].map(async (id) => await table.ask(askOf(id)));
    expect(table.isUrgent).toBe(true);
    const first = table.take();
    expect({ n: first?.n, ...sent(first) }).toEqual({ n: 1, asks: ["one", "two"] });
    expect({ message: table.take(), isUrgent: table.isUrgent, hasNewAsker: table.hasNewAsker }).toEqual({
      message: null,
      isUrgent: false,
      hasNewAsker: true,
    });
    table.answer({ decided: [["two", GRANTED]] });
    table.answer({ decided: [["one", WAITS]] });
    expect(await Promise.all(answers)).toEqual([WAITS, GRANTED]);
    const { n, ...rest } = table.first();
    expect({ n, rest: Object.values(rest).flat() }).toEqual({ n: 3, rest: [] });
    expect(table.living()).toEqual({ waiting: ["one"], running: ["two"], others: [] });
  });

  it("keeps a row until it is stored, or has gone another way", async () => {
    const table = tableOf({ running: ["one", "two"] });
    for (const id of ["one", "two"]) table.end(endOf(id));
    const saved = ["one", "two"].map((id) => outcome(table.saved(id)));
    expect(sent(table.take())).toEqual({ ends: ["one", "two"] });
    expect(table.answer({ stored: ["one"], refused: ["two"] })).toEqual(["two"]);
    expect({ isEmpty: table.isEmpty, rows: idsOf(table.rows) }).toEqual({ isEmpty: false, rows: ["two"] });
    table.rowSaved("two");
    await settled();
    expect({ isEmpty: table.isEmpty, saved: saved.map(({ now }) => now) }).toEqual({
      isEmpty: true,
      saved: [undefined, undefined],
    });
  });

  it("keeps one answer for two rows of a request", async () => {
    const table = new Table();
    table.record({ row: zeroUsageRow("one", 0) });
    const first = outcome(table.saved("one"));
    table.end(endOf("one"));
    table.answer({ stored: ["one"] });
    await settled();
    expect(first.now).toBeUndefined();
  });

  it("keeps the row of a hit that is sent, and drops that of an outdated one", async () => {
    const table = new Table();
    const hits = ["good", "old"].map(async (id) => await table.hit(hitOf(id)));
    table.take();
    table.answer({
      hits: [
        ["good", { verdict: "current", level: null }],
        ["old", { verdict: "stale", items: [] }],
      ],
    });
    expect((await Promise.all(hits)).map(({ verdict }) => verdict)).toEqual(["current", "stale"]);
    expect(idsOf(table.rows)).toEqual(["good"]);
  });

  it("is not more than 512 of each kind in one message", () => {
    const table = new Table();
    for (let at = 0; at < 600; at += 1) void table.ask(askOf(`r${at}`));
    expect([table.take()?.asks.length, table.take()?.asks.length, table.take()]).toEqual([512, 88, null]);
  });

  it("leaves out what has got its answer meanwhile", () => {
    const table = tableOf({ running: ["ended"] });
    void table.ask(askOf("asked"));
    table.end(endOf("ended"));
    table.take();
    table.sendAgain();
    table.answer({ decided: [["asked", GRANTED]], stored: ["ended"] });
    expect({ message: table.take(), hasMessage: table.hasMessage }).toEqual({ message: null, hasMessage: false });
  });
});

describe("a request that waits", () => {
  it("gets its decision, even if it overtakes the answer to wait, and comes only once", async () => {
    const table = new Table();
    const [first, second] = [table.ask(askOf("first")), table.ask(askOf("second"))];
    table.take();
    table.answer({ decided: [["second", GRANTED]] });
    table.answer({ decided: ["first", "second"].map((id) => [id, WAITS] as const) });
    const decision = table.decision("first");
    table.answer({ decided: ["first", "second"].map((id) => [id, OLD] as const) });
    table.answer({ decided: [["first", GRANTED]] });
    expect({ first: await first, second: await second, decision: await decision }).toEqual({
      first: WAITS,
      second: GRANTED,
      decision: OLD,
    });
    expect(table.living()).toEqual({ waiting: ["first"], running: ["second"], others: [] });
  });

  it.each([
    ["ends", (table: Table) => table.end(endOf("one"))],
    ["leaves", (table: Table) => table.depart("one")],
  ])("waits for nothing more when it %s", async (_, end) => {
    const table = tableOf({ waiting: ["one"] });
    const decision = outcome(table.decision("one"));
    void table.ask(askOf("two")).catch(() => undefined);
    const asked = outcome(table.ask(askOf("two")));
    end(table);
    table.depart("two");
    await settled();
    const ended = new Error("the request has ended");
    expect({ decision: decision.now, asked: asked.now, isOpen: table.has("one") }).toEqual({
      decision: ended,
      asked: ended,
      isOpen: false,
    });
  });

  it("keeps its place while it is checked again, and loses nothing that it never had", async () => {
    const table = tableOf({ waiting: ["placed"] });
    table.answer({ decided: [["placed", OLD]] });
    const asks = [{ ...askOf("placed"), waitedMs: 5 }, askOf("new")];
    const answers = asks.map(async (request) => await table.ask(request));
    table.take();
    table.answer({ decided: ["placed", "new"].map((id) => [id, OLD] as const) });
    expect(await Promise.all(answers)).toEqual([OLD, OLD]);
    expect({ placed: table.has("placed"), isNewOpen: table.has("new") }).toEqual({ placed: true, isNewOpen: false });
  });
});

describe("after a session is lost", () => {
  it("whatever has no answer is sent again, and what has one is not", () => {
    const table = tableOf({ running: ["runs", "ends", "stored"], waiting: ["waits", "leaves"] });
    void table.ask({ ...askOf("asks"), anew: true });
    void table.hit(hitOf("hit"));
    table.record({ row: zeroUsageRow("record", 0) });
    for (const id of ["ends", "stored"]) table.end(endOf(id));
    table.depart("leaves");
    table.take();
    table.answer({ stored: ["stored"] });
    expect(table.take()).toBeNull();
    table.sendAgain();
    const message = table.take();
    expect(sent(message)).toEqual({
      ends: ["record", "ends"],
      departures: ["leaves"],
      hits: ["hit"],
      asks: ["asks"],
    });
    expect({
      hit: message?.hits[0]?.again,
      waitedMs: message?.asks[0]?.waitedMs,
      again: message?.asks[0]?.again,
      anew: message?.asks[0]?.anew,
    }).toEqual({ hit: true, waitedMs: null, again: true, anew: false });
    expect(table.living()).toEqual({
      waiting: ["waits"],
      running: ["runs"],
      others: ["asks", "record", "ends", "leaves"],
    });
    table.applyAnswer(SILENCE, message?.departures);
    table.sendAgain();
    expect(sent(table.take())).toEqual({ ends: ["record", "ends"], hits: ["hit"], asks: ["asks"] });
  });

  it("a request that asks again takes no answer to what it asked before", async () => {
    const table = new Table();
    table.ask(askOf("one")).catch(() => undefined);
    const [before] = table.take()?.asks ?? [];
    const answered = outcome(table.ask({ ...askOf("one"), anew: true }));
    const [after] = table.take()?.asks ?? [];
    table.answer({ decided: [["one", GRANTED, before?.ask]] });
    await settled();
    expect({ answered: answered.now, running: table.living().running }).toEqual({ answered: "waits", running: [] });
    table.answer({ decided: [["one", GRANTED, after?.ask]] });
    await settled();
    expect({ answered: answered.now, running: table.living().running }).toEqual({
      answered: GRANTED,
      running: ["one"],
    });
  });

  it("a request that asked may have a place, and keeps it when it is stale", () => {
    const table = new Table();
    void table.ask(askOf("one"));
    table.take();
    table.sendAgain();
    table.answer({ decided: [["one", OLD]] });
    expect(table.living()).toEqual({ waiting: ["one"], running: [], others: [] });
  });

  it("a running request that the Cell does not know comes back with its grant", () => {
    const table = tableOf({ running: ["one", "gone"] });
    void table.ask(subCallOf(askOf("sub")));
    table.take();
    table.answer({ decided: [["sub", GRANTED]] });
    table.answer({ unknown: ["one", "gone", "sub", "another isolate's"] });
    table.depart("gone");
    const message = table.take();
    expect(sent(message)).toEqual({ departures: ["gone"], returns: ["one", "sub"] });
    const held = [...(message?.returns ?? []), ...(message?.departures ?? []).flatMap((one) => one.held ?? [])];
    expect(held.map(({ waitedMs, row }) => [waitedMs, row.admission, row.queue_wait_ms])).toEqual([
      [0, "queued", 7],
      [0, "boon", 7],
      [0, "queued", 7],
    ]);
  });
});

describe("a Cell that is away", () => {
  it("is told to those who ask, not to those who wait or run; what they asked for is given up", async () => {
    const table = tableOf({ running: ["runs"], waiting: ["waits"] });
    const asked = outcome(table.ask(askOf("asks")));
    const hit = outcome(table.hit(hitOf("hit")));
    const decision = outcome(table.decision("waits"));
    table.take();
    table.sendAgain();
    table.failed(AWAY);
    await settled();
    expect({ asked: asked.now, hit: hit.now, decision: decision.now }).toEqual({
      asked: AWAY,
      hit: AWAY,
      decision: "waits",
    });
    expect({ message: sent(table.take()), living: table.living(), rows: table.rows }).toEqual({
      message: { withdrawals: ["asks"] },
      living: { waiting: ["waits"], running: ["runs"], others: ["asks"] },
      rows: [],
    });
    table.failedToDecide(AWAY);
    await settled();
    expect({ decision: decision.now, living: table.living() }).toEqual({
      decision: AWAY,
      living: { waiting: [], running: ["runs"], others: ["asks", "waits"] },
    });
  });

  it("does not get the withdrawal of a request that has asked again", () => {
    const table = new Table();
    for (let at = 0; at < 600; at += 1) void table.ask(askOf(`r${at}`)).catch(() => undefined);
    table.failed(AWAY);
    void table.ask(askOf("r599"));
    const messages = [table.take(), table.take()];
    expect(messages.map((message) => message?.departures.length)).toEqual([512, 87]);
    expect(messages.flatMap((message) => message?.asks.map(({ requestId }) => requestId) ?? [])).toEqual(["r599"]);
    table.sendAgain();
    expect([table.take(), table.take()].flatMap((message) => sent(message)?.["withdrawals"] ?? [])).not.toContain(
      "r599",
    );
  });

  it("leaves no more than 20,000 departures behind", () => {
    const table = new Table();
    for (let at = 0; at < 20_100; at += 1) {
      void table.ask(askOf(`r${at}`)).catch(() => undefined);
      table.depart(`r${at}`);
    }
    table.sendAgain();
    const departures: string[] = [];
    for (let message = table.take(); message !== null; message = table.take())
      departures.push(...message.departures.map(({ requestId }) => requestId));
    expect({ count: departures.length, oldest: departures[0] }).toEqual({ count: 20_000, oldest: "r100" });
  });
});

it("departs a request whose code gave no sign for five looks", () => {
  const table = tableOf({ running: ["gone", "lives"], waiting: ["waits"] });
  const left: unknown[] = [];
  for (let look = 1; look <= 6; look += 1) {
    if (look === 4) table.signOf("lives")();
    table.signOf("waits")();
    table.look();
    left.push(sent(table.take()));
  }
  expect(left).toEqual([null, null, null, null, { departures: ["gone"] }, null]);
  expect(table.living()).toEqual({ waiting: ["waits"], running: ["lives"], others: ["gone"] });
});

it("takes signs of a request until it ends, and not for another one with its id", () => {
  const table = tableOf({ waiting: ["one"] });
  const sign = table.signOf("one");
  table.answer({ decided: [["one", OLD]] });
  table.ask(askOf("one")).catch(() => undefined);
  const whileOpen = sign();
  table.end(endOf("one"));
  const atEnd = sign();
  table.answered(WAITS, "one");
  expect({ whileOpen, atEnd, isTakenForAnother: sign() }).toEqual({
    whileOpen: true,
    atEnd: false,
    isTakenForAnother: false,
  });
});
