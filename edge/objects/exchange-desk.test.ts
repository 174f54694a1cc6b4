/** The Cell's side of a session of exchanges, with the real front desk: what is open in it when it ends, and what it tells. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { UsageRow } from "../../shared/usage-row.ts";
import type { Ask, Settlement } from "../domain/ask.ts";
import type { ExchangeAnswer, ExchangeMessage } from "../domain/exchange/messages.ts";
import { ExchangeDesk } from "./exchange-desk.ts";
import { askOf } from "./testing/asks.ts";
import { type Desk, deskOf } from "./testing/desk.ts";

const NOTHING: ExchangeMessage = { ends: [], departures: [], withdrawals: [], records: [], hits: [], asks: [] };

class Stage {
  readonly world: Desk;
  readonly exchanges: ExchangeDesk;
  readonly recorded: UsageRow[] = [];
  readonly failures: unknown[] = [];
  stores: (row: UsageRow) => Promise<void> = async () => undefined;

  constructor(slots: number) {
    this.world = deskOf("weighted", slots);
    const take = async ({ row }: { readonly row: UsageRow }) => {
      this.recorded.push(row);
      await this.stores(row);
    };
    this.exchanges = new ExchangeDesk({
      desk: this.world.desk,
      revisions: this.world.revisions,
      rows: { record: take, settleOrphan: take },
      level: async () => null,
      later: (delayMs, run) => void setTimeout(run, delayMs),
      failed: (error) => void this.failures.push(error),
    });
  }

  open(...asks: readonly Ask[]) {
    return this.exchanges.open({ ...NOTHING, asks });
  }

  /** Of the rows that the front desk made: whose, their status and their tokens. */
  get rows() {
    return this.world.rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);
  }

  get load() {
    const { scheduler, desk } = this.world;
    return [scheduler.inFlight, scheduler.queued, desk.seated];
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

const endOf = ({ requestId, row }: Ask): Settlement => ({ row: { ...row, request_id: requestId }, actualTokens: 3 });
const verdicts = ({ decided }: ExchangeAnswer) => decided.map(([id, { verdict }]) => `${id} ${verdict}`);

beforeEach(() => vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("an exchange", () => {
  it("is followed by news of whoever waited and is granted; a grant that is not used costs nothing", async () => {
    const stage = new Stage(1);
    const [first, second] = [askOf("first", "t"), askOf("second", "t")];
    const { session } = stage.open(first, second);
    const news = stage.exchanges.news(session);
    stage.exchanges.exchange(session, { ...NOTHING, ends: [endOf(first)] });
    expect(verdicts(await news)).toEqual(["second granted"]);
    stage.exchanges.exchange(session, { ...NOTHING, withdrawals: [second.requestId] });
    expect(stage.load).toEqual([0, 0, 0]);
    await stage.pass(0);
    expect(stage.rows).toEqual([
      ["first", 0, 0],
      ["second", 499, 0],
    ]);
  });

  it("is not followed by news of a request that has taken a permit of its own", async () => {
    const stage = new Stage(1);
    const [first, second] = [askOf("first", "t"), askOf("second", "t")];
    const { session } = stage.open(first, second);
    const own = stage.world.desk.hold(second.requestId);
    if (own === null) throw new Error("nobody waits");
    stage.exchanges.exchange(session, { ...NOTHING, ends: [endOf(first)] });
    expect(await stage.world.desk.decision(own)).toMatchObject({ verdict: "granted" });
    await stage.pass(0);
    expect(verdicts(stage.exchanges.exchange(session, NOTHING))).toEqual([]);
    stage.exchanges.exchange(session, { ...NOTHING, withdrawals: [second.requestId] });
    expect(stage.load).toEqual([1, 0, 1]);
  });

  it("decides asks in their order, behind what its ends give back", () => {
    const stage = new Stage(1);
    const [first, second, third] = ["first", "second", "third"].map((id) => askOf(id, "t"));
    if (first === undefined || second === undefined || third === undefined) throw new Error("three ask");
    const { session, answer } = stage.open(first);
    const next = stage.exchanges.exchange(session, { ...NOTHING, ends: [endOf(first)], asks: [second, third] });
    expect([...verdicts(answer), ...verdicts(next)]).toEqual(["first granted", "second granted", "third waiting"]);
    expect(stage.load).toEqual([1, 1, 2]);
  });

  it("compares what each ask rests on, and gives no place to one that is outdated", () => {
    const stage = new Stage(1);
    stage.world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
    const { answer } = stage.open(
      askOf("old", "t"),
      askOf("new", "t", { revs: [{ kind: "tenant", id: "t", rev: 2 }] }),
    );
    expect(verdicts(answer)).toEqual(["old stale", "new granted"]);
    expect(stage.load).toEqual([1, 0, 1]);
  });

  it("says nothing of a request that has its place by another way, and takes nothing from it", () => {
    const stage = new Stage(1);
    const ask = askOf("one", "t");
    const seat = stage.world.desk.arrive(ask);
    const { session, answer } = stage.open(ask);
    stage.exchanges.end(session);
    expect([answer.decided, seat.decision?.verdict, stage.load, stage.rows]).toEqual([[], "granted", [1, 0, 1], []]);
  });

  it("takes the row of a request that it does not know as one that may have come before", () => {
    const stage = new Stage(1);
    const { session } = stage.open();
    stage.exchanges.exchange(session, { ...NOTHING, ends: [endOf(askOf("one", "t"))] });
    expect(stage.recorded.map((row) => row.request_id)).toEqual(["one"]);
  });

  it("tells which rows are stored, and which are not taken, a moment later or with the next answer", async () => {
    const stage = new Stage(1);
    stage.stores = async (row) => await (row.request_id === "bad" ? Promise.reject(new Error("full")) : undefined);
    const { session } = stage.open();
    const news = stage.exchanges.news(session);
    const records = ["good", "bad"].map((id) => ({ row: askOf(id, "t").row }));
    stage.exchanges.exchange(session, { ...NOTHING, records });
    await stage.pass(50);
    expect(await news).toMatchObject({ stored: ["good"], refused: ["bad"] });
    stage.exchanges.exchange(session, { ...NOTHING, records: records.slice(0, 1) });
    await stage.pass(0);
    expect(stage.exchanges.exchange(session, NOTHING)).toMatchObject({ stored: ["good"], refused: [] });
  });

  it("that fails as its session opens leaves nothing behind", () => {
    const stage = new Stage(1);
    const broken = { ...askOf("two", "t"), revs: null } as unknown as Ask;
    expect(() => stage.open(askOf("one", "t"), broken)).toThrow();
    expect([stage.load, stage.rows]).toEqual([[0, 0, 0], [["one", 499, 10]]]);
  });
});

describe("a session that ends", () => {
  it("settles what was granted in it at the estimate, once, and hears nothing any more", () => {
    const stage = new Stage(2);
    const [one, two] = [askOf("one", "t"), askOf("two", "t")];
    const { session } = stage.open(one, two);
    stage.exchanges.exchange(session, { ...NOTHING, ends: [endOf(two)] });
    stage.exchanges.end(session);
    stage.exchanges.end(session);
    expect([stage.load, stage.rows.filter(([, status]) => status === 499)]).toEqual([[0, 0, 0], [["one", 499, 10]]]);
    expect(() => stage.exchanges.exchange(session, NOTHING)).toThrow("the session is over");
  });

  it("takes nothing from a request that has a permit of its own by then", async () => {
    const stage = new Stage(1);
    const [one, two] = [askOf("one", "t"), askOf("two", "t")];
    const { session } = stage.open(one, two);
    stage.world.desk.adopt(one);
    stage.world.desk.hold("two");
    stage.exchanges.end(session);
    await stage.pass(1_000);
    expect([stage.load, stage.rows]).toEqual([[1, 1, 2], []]);
  });

  it("leaves whoever waits its place for a second, in which it may take its permit", async () => {
    const stage = new Stage(1);
    const { session } = stage.open(askOf("holder", "t"), askOf("waits", "t"), askOf("takes", "t"));
    stage.exchanges.end(session);
    expect(stage.load).toEqual([1, 1, 2]);
    await stage.pass(999);
    const taken = stage.world.desk.hold("takes");
    expect([taken === null, stage.load]).toEqual([false, [1, 1, 2]]);
    await stage.pass(1);
    expect([stage.load, stage.rows]).toEqual([
      [1, 0, 1],
      [
        ["holder", 499, 10],
        // Its turn came, and nobody was told: it has used nothing.
        ["waits", 499, 0],
      ],
    ]);
    if (taken !== null) expect(await stage.world.desk.decision(taken)).toMatchObject({ verdict: "granted" });
  });

  it("grants nothing of what comes back to those that go with it", async () => {
    const stage = new Stage(1);
    const holder = stage.world.desk.arrive(askOf("holder", "h"));
    const { session } = stage.open(...Array.from({ length: 4 }, (_, at) => askOf(`gone${at}`, "t")));
    stage.exchanges.end(session);
    await stage.world.desk.settle(holder, { row: holder.ask.row, actualTokens: 1 });
    const other = stage.world.desk.arrive(askOf("other", "o"));
    expect(stage.load).toEqual([1, 4, 5]);
    const granted = vi.spyOn(stage.world.scheduler, "apply");
    await stage.pass(1_000);
    expect(granted.mock.results.flatMap(({ value }) => value).map(({ requestId }) => requestId)).toEqual(["other"]);
    expect([stage.load, await stage.world.desk.decision(other)]).toMatchObject([[1, 0, 1], { verdict: "granted" }]);
  });

  it("answers whoever waits for news of it", async () => {
    const stage = new Stage(1);
    const { session } = stage.open();
    const news = stage.exchanges.news(session);
    stage.exchanges.end(session);
    expect(await news).toMatchObject({ decided: [], stored: [] });
  });
});
