/**
 * The Cell's side of a session of exchanges, with the real admission controller: the result of each exchange, what it reports,
 * and what happens when it ends to what is open in it.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { UsageRow } from "../../../shared/usage-row.ts";
import { type AdmissionHarness, admissionHarnessOf } from "../../../test/harness/edge/cell/admission-harness.ts";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import type { ExchangeAnswer, ExchangeMessage } from "../../domain/admission/exchange-messages.ts";
import type { AdmissionRequest, Settlement } from "../../domain/admission/rpc.ts";
import { ExchangeController } from "./exchange-controller.ts";

/** How long a request that is disconnected keeps what it holds (admission-controller.ts), ms. */
const GRACE_MS = 2_000;
/** After the grace its row waits for so long (detached-requests.ts), ms. */
const ROW_WAITS_MS = 6_000;
/** A message without content. */
const EMPTY_MESSAGE: ExchangeMessage = { ends: [], departures: [], records: [], hits: [], asks: [] };

/** A session's Cell side with the real admission controller; a test moves the time. */
class ExchangeControllerHarness {
  readonly world: AdmissionHarness;
  readonly exchanges: ExchangeController;
  readonly recorded: UsageRow[] = [];
  stores: (row: UsageRow) => Promise<void> = async () => undefined;

  constructor(slots: number) {
    this.world = admissionHarnessOf("weighted", slots);
    const take = async ({ row }: { readonly row: UsageRow }) => {
      this.recorded.push(row);
      await this.stores(row);
    };
    this.exchanges = new ExchangeController({
      admission: this.world.admission,
      revisions: this.world.revisions,
      rows: { record: take, settleOrphan: take },
      level: async () => null,
      later: (delayMs, run) => void setTimeout(run, delayMs),
      failed: (error) => {
        throw error;
      },
    });
  }

  open(...requests: readonly AdmissionRequest[]) {
    return this.exchanges.open({ ...EMPTY_MESSAGE, asks: requests });
  }

  /** The rows that the admission controller made: request, status and tokens. */
  get rows() {
    return this.world.rows.map((row) => [row.request_id, row.status_code, row.total_tokens]);
  }

  get load() {
    const { scheduler, admission } = this.world;
    return [scheduler.inFlight, scheduler.queued, admission.entryCount];
  }

  async pass(ms: number): Promise<void> {
    this.world.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }
}

/** An end as the isolate sends it. */
const endOf = ({ requestId, row }: AdmissionRequest): Settlement => ({
  row: { ...row, request_id: requestId },
  actualTokens: 3,
});
/** The verdict for each request. */
const verdicts = ({ decided }: ExchangeAnswer) => decided.map(([id, { verdict }]) => `${id} ${verdict}`);

beforeEach(() => vi.useFakeTimers());

describe("an exchange", () => {
  it("is not followed by news of a request that has taken a permit of its own", async () => {
    const stage = new ExchangeControllerHarness(1);
    const [first, second] = [admissionRequestOf("first", "t"), admissionRequestOf("second", "t")];
    const { session } = stage.open(first, second);
    const own = stage.world.admission.hold(second.requestId);
    if (own === null) throw new Error("nobody waits");
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(first)] });
    expect(await stage.world.admission.decision(own)).toMatchObject({ verdict: "granted" });
    await stage.pass(0);
    expect(verdicts(stage.exchanges.exchange(session, EMPTY_MESSAGE))).toEqual([]);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, departures: [second.requestId] });
    expect(stage.load).toEqual([1, 0, 1]);
  });

  it("decides its admission requests in order, after its ends have released theirs", () => {
    const stage = new ExchangeControllerHarness(1);
    const [first, second, third] = ["first", "second", "third"].map((id) => admissionRequestOf(id, "t"));
    if (first === undefined || second === undefined || third === undefined) throw new Error("three ask");
    const { session, answer } = stage.open(first);
    const next = stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(first)], asks: [second, third] });
    expect([...verdicts(answer), ...verdicts(next)]).toEqual(["first granted", "second granted", "third waiting"]);
    expect(stage.load).toEqual([1, 1, 2]);
  });

  it("reports nothing on a request that got its place another way, and takes nothing from it", () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    const entry = stage.world.admission.arrive(request);
    const { session, answer } = stage.open(request);
    stage.exchanges.end(session);
    expect({ decided: answer.decided, verdict: entry.decision?.verdict, load: stage.load, rows: stage.rows }).toEqual({
      decided: [],
      verdict: "granted",
      load: [1, 0, 1],
      rows: [],
    });
  });

  it("takes the row of an unknown request as a possible duplicate", () => {
    const stage = new ExchangeControllerHarness(1);
    const { session } = stage.open();
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(admissionRequestOf("one", "t"))] });
    expect(stage.recorded.map((row) => row.request_id)).toEqual(["one"]);
  });

  it("reports stored and refused rows a moment later or with the next answer", async () => {
    const stage = new ExchangeControllerHarness(1);
    stage.stores = async (row) => await (row.request_id === "bad" ? Promise.reject(new Error("full")) : undefined);
    const { session } = stage.open();
    const news = stage.exchanges.news(session);
    const records = ["good", "bad"].map((id) => ({ row: admissionRequestOf(id, "t").row }));
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, records });
    await stage.pass(50);
    expect(await news).toMatchObject({ stored: ["good"], refused: ["bad"] });
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, records: records.slice(0, 1) });
    await stage.pass(0);
    expect(stage.exchanges.exchange(session, EMPTY_MESSAGE)).toMatchObject({ stored: ["good"], refused: [] });
  });

  it("that fails as its session opens leaves nothing behind", async () => {
    const stage = new ExchangeControllerHarness(1);
    const broken = { ...admissionRequestOf("two", "t"), revs: null } as unknown as AdmissionRequest;
    expect(() => stage.open(admissionRequestOf("one", "t"), broken)).toThrow();
    await stage.pass(GRACE_MS);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [] });
    await stage.pass(ROW_WAITS_MS);
    expect(stage.rows).toEqual([["one", 499, 10]]);
  });
});

describe("a session that ends", () => {
  it("settles no request whose end comes another way within the grace", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    stage.exchanges.end(stage.open(request).session);
    await stage.pass(GRACE_MS - 1);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [1, 0, 1], rows: [] });
    await stage.world.admission.settleOrphan({ row: { ...request.row, status_code: 200, total_tokens: 3 } });
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [["one", 200, 3]] });
    await stage.pass(60_000);
    expect(stage.rows).toEqual([["one", 200, 3]]);
  });

  it("leaves its slot to a request that takes a permit of its own within the grace", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    stage.exchanges.end(stage.open(request).session);
    await stage.pass(GRACE_MS - 1);
    const entry = stage.world.admission.adopt(request);
    await stage.pass(60_000);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [1, 0, 1], rows: [] });
    await stage.world.admission.settle(entry, endOf(request));
    expect(stage.rows).toHaveLength(1);
  });

  it("leaves the row to a request that shows only after the grace that it has ended", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    stage.exchanges.end(stage.open(request).session);
    await stage.pass(GRACE_MS + ROW_WAITS_MS - 1);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [] });
    await stage.world.admission.settleOrphan({ row: { ...request.row, status_code: 200, total_tokens: 3 } });
    await stage.pass(60_000);
    expect(stage.rows).toEqual([["one", 200, 3]]);
  });

  it("settles no request before this process has run for the whole grace", async () => {
    const stage = new ExchangeControllerHarness(1);
    stage.exchanges.end(stage.open(admissionRequestOf("one", "t")).session);
    vi.setSystemTime(Date.now() + 60_000);
    await stage.pass(GRACE_MS / 2);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [1, 0, 1], rows: [] });
  });

  it("takes nothing from a request that has a permit of its own by then", async () => {
    const stage = new ExchangeControllerHarness(1);
    const [one, two] = [admissionRequestOf("one", "t"), admissionRequestOf("two", "t")];
    const { session } = stage.open(one, two);
    stage.world.admission.adopt(one);
    stage.world.admission.hold("two");
    stage.exchanges.end(session);
    await stage.pass(1_000);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [1, 1, 2], rows: [] });
  });

  it("keeps a waiting request's place for some seconds, then records it as left if not back", async () => {
    const stage = new ExchangeControllerHarness(1);
    const { session } = stage.open(
      admissionRequestOf("holder", "t"),
      admissionRequestOf("waits", "t"),
      admissionRequestOf("takes", "t"),
    );
    stage.exchanges.end(session);
    await stage.pass(GRACE_MS);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [] });
    await stage.pass(ROW_WAITS_MS - GRACE_MS - 1);
    const taken = stage.world.admission.hold("takes");
    expect({ verdict: taken?.decision?.verdict, load: stage.load }).toEqual({ verdict: "granted", load: [1, 0, 1] });
    await stage.pass(1);
    expect(stage.rows).toEqual([["waits", 499, 0]]);
    if (taken !== null) await stage.world.admission.settle(taken, { row: taken.request.row, actualTokens: 0 });
    await stage.pass(GRACE_MS);
    expect(stage.rows.slice(1)).toEqual([
      ["takes", 0, 0],
      ["holder", 499, 10],
    ]);
    expect({ load: stage.load, hold: stage.world.admission.hold("waits") }).toEqual({ load: [0, 0, 0], hold: null });
  });

  it("has the place of a request judged again when the request comes back", async () => {
    const stage = new ExchangeControllerHarness(1);
    stage.world.admission.arrive(admissionRequestOf("holder", "t"));
    const request = { ...admissionRequestOf("waits", "t"), revs: [{ kind: "key", id: "k1", rev: 5 }] as const };
    const { session } = stage.open(request);
    stage.exchanges.end(session);
    stage.world.revisions.note([{ kind: "key", id: "k1", rev: 6 }], 0);
    const back = stage.world.admission.hold("waits");
    if (back === null) throw new Error("its place is lost");
    expect({ decision: back.decision, load: stage.load }).toMatchObject({
      decision: { verdict: "stale", items: [{ rev: 6 }] },
      load: [1, 0, 2],
    });
    await stage.world.admission.settle(back, { row: back.request.row, actualTokens: 0 });
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [1, 0, 1], rows: [["waits", 0, 0]] });
  });

  it.each(["t", "o"])(
    "grants the slots of lost requests to others, of the same tenant or not: %s",
    async (tenantId) => {
      const stage = new ExchangeControllerHarness(2);
      const { session } = stage.open(...["r1", "r2", "w1", "w2"].map((id) => admissionRequestOf(id, "t")));
      const other = stage.world.admission.arrive(admissionRequestOf("other", tenantId));
      const granted = vi.spyOn(stage.world.scheduler, "apply");
      stage.exchanges.end(session);
      await stage.pass(GRACE_MS);
      expect(granted.mock.results.flatMap(({ value }) => value).map(({ requestId }) => requestId)).toEqual(["other"]);
      expect(await stage.world.admission.decision(other)).toMatchObject({ verdict: "granted" });
    },
  );

  it("grants no released slot to its own requests that waited for tokens", async () => {
    const stage = new ExchangeControllerHarness(1);
    stage.world.budgets.reach = "silent";
    const first = admissionRequestOf("first", "slow", {}, { tenantTokens: 1_000 });
    const { session } = stage.open(first, admissionRequestOf("second", "fast"));
    const granted = vi.spyOn(stage.world.scheduler, "apply");
    stage.exchanges.end(session);
    expect(granted.mock.results.flatMap(({ value }) => value)).toEqual([]);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [] });
  });

  it("charges a request once that was charged for a lost grant and loses its next place too", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    stage.exchanges.end(stage.open(request).session);
    await stage.pass(GRACE_MS); // at the estimate, 10
    stage.world.admission.arrive(admissionRequestOf("holder", "h"));
    const waits = stage.world.admission.arrive({ ...request, waitedMs: 0 });
    stage.world.admission.abandon(waits);
    const back = stage.world.admission.hold("one");
    expect(back?.charged).toMatchObject({ tokens: 10 });
  });

  it("keeps the end of a request whose adoption arrived but was not answered", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "a");
    const { session } = stage.open(request);
    const lost = stage.world.admission.adopt(request);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(request)] });
    stage.world.admission.abandon(lost);
    await stage.pass(0);
    expect({ recordedIds: stage.recorded.map((row) => row.request_id), load: stage.load }).toEqual({
      recordedIds: ["one"],
      load: [0, 0, 0],
    });
  });

  it("does not bill a request that leaves while it takes its own permit and its grant is sent", async () => {
    const stage = new ExchangeControllerHarness(1);
    const [first, second] = [admissionRequestOf("first", "a"), admissionRequestOf("second", "b")];
    const { session } = stage.open(first, second);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(first)] });
    await stage.pass(0);
    const own = stage.world.admission.hold(second.requestId);
    if (own === null) throw new Error("its place is lost");
    stage.world.admission.abandon(own);
    expect(stage.rows.at(-1)).toEqual(["second", 499, 0]);
  });

  it("gives no place to a request whose message arrives after it ended another way", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    const holder = stage.world.admission.arrive(admissionRequestOf("holder", "h"));
    stage.world.admission.abandon(stage.world.admission.arrive({ ...request, waitedMs: 0 }));
    await stage.world.admission.settle(holder, endOf(holder.request));
    expect({ verdicts: verdicts(stage.open(request).answer), load: stage.load }).toEqual({
      verdicts: [],
      load: [0, 0, 0],
    });
    await stage.pass(6_000);
    expect({ verdicts: verdicts(stage.open(request).answer), load: stage.load }).toEqual({
      verdicts: [],
      load: [0, 0, 0],
    });
  });

  it("counts used tokens once for the tenant when the request continues on another permit", async () => {
    const stage = new ExchangeControllerHarness(3);
    stage.world.admission.arrive(admissionRequestOf("keeps the cell busy", "busy"));
    const request = admissionRequestOf("one", "t");
    const { session } = stage.open(request);
    stage.exchanges.end(session);
    await stage.world.admission.settle(stage.world.admission.adopt(request), { row: request.row, actualTokens: 10 });
    const { tenants } = stage.world.scheduler.snapshot(stage.world.nowMs);
    expect(tenants.find(({ tenantId }) => tenantId === "t")?.servedTokens).toBe(10);
  });

  it("answers the call that waits for its news, and takes no more exchanges", async () => {
    const stage = new ExchangeControllerHarness(1);
    const { session } = stage.open();
    const news = stage.exchanges.news(session);
    stage.exchanges.end(session);
    expect(await news).toMatchObject({ decided: [], stored: [] });
    expect(() => stage.exchanges.exchange(session, EMPTY_MESSAGE)).toThrow("the session is over");
  });
});
