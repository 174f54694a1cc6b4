/** The Cell's side of a session of exchanges: the result of each exchange, and what it reports. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { admissionRequestOf } from "../../../test/harness/edge/cell/admission-requests.ts";
import {
  EMPTY_MESSAGE,
  ExchangeControllerHarness,
  endOf,
  verdicts,
} from "../../../test/harness/edge/cell/exchange-controller-harness.ts";
import type { AdmissionRequest } from "../../domain/admission/rpc.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("an exchange", () => {
  it("is followed by news of a waiting request that is granted, and is ended by its isolate", async () => {
    const stage = new ExchangeControllerHarness(1);
    const [first, second] = [admissionRequestOf("first", "t"), admissionRequestOf("second", "t")];
    const { session } = stage.open(first, second);
    const news = stage.exchanges.news(session);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(first)] });
    expect(verdicts(await news)).toEqual(["second granted"]);
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [{ row: second.row, actualTokens: 0 }] });
    expect(stage.load).toEqual([0, 0, 0]);
    await stage.pass(0);
    expect(stage.rows).toEqual([
      ["first", 0, 0],
      ["second", 0, 0],
    ]);
  });

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

  it("decides its admission requests in order, after what its ends give back", () => {
    const stage = new ExchangeControllerHarness(1);
    const [first, second, third] = ["first", "second", "third"].map((id) => admissionRequestOf(id, "t"));
    if (first === undefined || second === undefined || third === undefined) throw new Error("three ask");
    const { session, answer } = stage.open(first);
    const next = stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(first)], asks: [second, third] });
    expect([...verdicts(answer), ...verdicts(next)]).toEqual(["first granted", "second granted", "third waiting"]);
    expect(stage.load).toEqual([1, 1, 2]);
  });

  it("compares the records of each admission request, and gives no place to an outdated one", () => {
    const stage = new ExchangeControllerHarness(1);
    stage.world.revisions.note([{ kind: "tenant", id: "t", rev: 2 }], 0);
    const { answer } = stage.open(
      admissionRequestOf("old", "t"),
      admissionRequestOf("new", "t", { revs: [{ kind: "tenant", id: "t", rev: 2 }] }),
    );
    expect(verdicts(answer)).toEqual(["old stale", "new granted"]);
    expect(stage.load).toEqual([1, 0, 1]);
  });

  it("reports nothing of a request that got its place by another way, and takes nothing from it", () => {
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

  it("takes the row of a request that it does not know as one that may have come before", () => {
    const stage = new ExchangeControllerHarness(1);
    const { session } = stage.open();
    stage.exchanges.exchange(session, { ...EMPTY_MESSAGE, ends: [endOf(admissionRequestOf("one", "t"))] });
    expect(stage.recorded.map((row) => row.request_id)).toEqual(["one"]);
  });

  it("reports which rows are stored, and which are refused, a moment later or with the next answer", async () => {
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

  it("that fails as its session opens leaves nothing behind", () => {
    const stage = new ExchangeControllerHarness(1);
    const broken = { ...admissionRequestOf("two", "t"), revs: null } as unknown as AdmissionRequest;
    expect(() => stage.open(admissionRequestOf("one", "t"), broken)).toThrow();
    expect({ load: stage.load, rows: stage.rows }).toEqual({ load: [0, 0, 0], rows: [["one", 499, 10]] });
  });
});
