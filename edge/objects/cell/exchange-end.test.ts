/**
 * What is open in a session of exchanges when the session ends: what happens to it, and to the requests that waited for
 * it.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import {
  EMPTY_MESSAGE,
  ExchangeControllerHarness,
  endOf,
  verdicts,
} from "../../../test/harness/edge/cell/exchange-controller-harness.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a session that ends", () => {
  it("settles what was granted in it at the estimate, once, and reports nothing any more", () => {
    const stage = new ExchangeControllerHarness(2);
    const [one, two] = [admissionRequestOf("one", "t"), admissionRequestOf("two", "t")];
    const { session } = stage.open(one, two);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(two)] });
    stage.exchanges.end(session);
    stage.exchanges.end(session);
    expect({ load: stage.load, rows: stage.rows.filter(([, status]) => status === 499) }).toEqual({
      load: [0, 0, 0],
      rows: [["one", 499, 10]],
    });
    expect(() => stage.exchanges.exchange(session, EMPTY_MESSAGE)).toThrow("the session is over");
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

  it("keeps the place of a waiting request for some seconds, and writes of one that has not come back that it left", async () => {
    const stage = new ExchangeControllerHarness(1);
    const { session } = stage.open(
      admissionRequestOf("holder", "t"),
      admissionRequestOf("waits", "t"),
      admissionRequestOf("takes", "t"),
    );
    stage.exchanges.end(session);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [["holder", 499, 10]] });
    await stage.pass(5_999);
    const taken = stage.world.admission.hold("takes");
    expect({ verdict: taken?.decision?.verdict, load: stage.load }).toEqual({ verdict: "granted", load: [1, 0, 1] });
    await stage.pass(1);
    expect(stage.rows.slice(1)).toEqual([["waits", 499, 0]]);
    if (taken !== null) await stage.world.admission.settle(taken, { row: taken.request.row, actualTokens: 0 });
    expect(stage.rows.slice(2)).toEqual([["takes", 0, 0]]);
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

  it("leaves one correct row of a request that comes back, and charges what it used", async () => {
    const stage = new ExchangeControllerHarness(1);
    const holder = stage.world.admission.arrive(admissionRequestOf("holder", "h"));
    const request = admissionRequestOf("waits", "t");
    const { session } = stage.open(request);
    stage.exchanges.end(session);
    await stage.pass(4_000);
    const own = stage.world.admission.hold("waits");
    await stage.world.admission.settle(holder, endOf(holder.request));
    if (own === null) throw new Error("its place is lost");
    await stage.world.admission.settle(own, {
      row: { ...request.row, status_code: 200, total_tokens: 7 },
      actualTokens: 7,
    });
    await stage.pass(10_000);
    expect(stage.rows.slice(1)).toEqual([["waits", 200, 7]]);
  });

  it.each(["t", "o"])("grants what comes back to others at once, of the same tenant or not: %s", async (tenantId) => {
    const stage = new ExchangeControllerHarness(2);
    const { session } = stage.open(...["r1", "r2", "w1", "w2"].map((id) => admissionRequestOf(id, "t")));
    const other = stage.world.admission.arrive(admissionRequestOf("other", tenantId));
    const granted = vi.spyOn(stage.world.scheduler, "apply");
    stage.exchanges.end(session);
    expect(granted.mock.results.flatMap(({ value }) => value).map(({ requestId }) => requestId)).toEqual(["other"]);
    expect(await stage.world.admission.decision(other)).toMatchObject({ verdict: "granted" });
  });

  it("grants nothing of what comes back to its own requests that waited for tokens", async () => {
    const stage = new ExchangeControllerHarness(1);
    stage.world.budgets.reach = "silent";
    const first = admissionRequestOf("first", "slow", {}, { tenantTokens: 1_000 });
    const { session } = stage.open(first, admissionRequestOf("second", "fast"));
    const granted = vi.spyOn(stage.world.scheduler, "apply");
    stage.exchanges.end(session);
    expect(granted.mock.results.flatMap(({ value }) => value)).toEqual([]);
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [] });
  });

  it("charges a request once that was charged for its lost grant and then loses its next place as well", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "t");
    stage.exchanges.end(stage.open(request).session); // at the estimate, 10
    stage.world.admission.arrive(admissionRequestOf("holder", "h"));
    const waits = stage.world.admission.arrive({ ...request, waitedMs: 0 });
    stage.world.admission.abandon(waits);
    const back = stage.world.admission.hold("one");
    expect(back?.charged).toMatchObject({ tokens: 10 });
  });

  it("does not drop the end of a request whose adoption arrived but was not answered", async () => {
    const stage = new ExchangeControllerHarness(1);
    const request = admissionRequestOf("one", "a");
    const { session } = stage.open(request);
    const lost = stage.world.admission.adopt(request);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(request)] });
    stage.world.admission.abandon(lost);
    await stage.pass(0);
    expect({ recorded: stage.recorded.map((row) => row.request_id), load: stage.load }).toEqual({
      recorded: ["one"],
      load: [0, 0, 0],
    });
  });

  it("does not bill a request that leaves while it takes a permit of its own and its grant is being sent in the session", async () => {
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

  it("gives no place to a request whose message comes after the request was ended by another way", async () => {
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

  it("counts once in the tenant's served tokens what a request used, though the request went on under another permit", async () => {
    const stage = new ExchangeControllerHarness(3);
    stage.world.admission.arrive(admissionRequestOf("keeps the cell busy", "busy"));
    const request = admissionRequestOf("one", "t");
    const { session } = stage.open(request);
    stage.exchanges.end(session);
    await stage.world.admission.settle(stage.world.admission.adopt(request), { row: request.row, actualTokens: 10 });
    const { tenants } = stage.world.scheduler.snapshot(stage.world.nowMs);
    expect(tenants.find(({ tenantId }) => tenantId === "t")?.servedTokens).toBe(10);
  });

  it("answers the call that waits for its news", async () => {
    const stage = new ExchangeControllerHarness(1);
    const { session } = stage.open();
    const news = stage.exchanges.news(session);
    stage.exchanges.end(session);
    expect(await news).toMatchObject({ decided: [], stored: [] });
  });
});
