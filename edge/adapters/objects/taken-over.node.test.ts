/**
 * What a holder takes over from others: rows of requests that were cut off, a session that does not open, a place that its
 * request does not know of.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { zeroUsageRow } from "../../../shared/usage/usage-row.ts";
import { pass } from "../../../test/harness/edge/cell/holder-stage.ts";
import { end, never, outcome, PlayedIsolate, playContexts, refused } from "../../../test/harness/played-isolate.ts";

let isolate: PlayedIsolate;
beforeEach(() => {
  vi.useFakeTimers();
  playContexts();
  isolate = new PlayedIsolate();
});

afterEach(() => void vi.unstubAllGlobals());

describe("requests of an isolate", () => {
  it("leave the row of a refusal to the others when they are cut off before it is taken", async () => {
    isolate.settles = never;
    void isolate.as("refused", async () => await isolate.admission.record(zeroUsageRow("refused", 0)));
    await pass(10);
    isolate.cutOff("refused");
    isolate.settles = async () => undefined;
    const permit = await isolate.admitted("holds");
    void isolate.as("holds", async () => await permit.settle(end("holds")));
    await pass(12_000);
    await isolate.admitted("later");
    await pass(10);
    expect(isolate.said.filter((said) => said.endsWith("refused"))).toEqual(["record refused", "row refused"]);
  });

  it("leave that row to a holder that follows another, while requests come all the time", async () => {
    isolate.settles = never;
    void isolate.as("refused", async () => await isolate.admission.record(zeroUsageRow("refused", 0)));
    await pass(10);
    isolate.cutOff("refused");
    isolate.settles = async () => undefined;
    for (let at = 0; at < 30; at += 1) {
      const permit = await isolate.admitted(`r${at}`);
      await pass(500);
      void isolate.as(`r${at}`, async () => await permit.settle(end(`r${at}`)));
    }
    expect(isolate.said.filter((said) => said.endsWith("refused"))).toEqual(["record refused", "row refused"]);
  });

  it("are answered at once by a new holder while the one before still opens its session again", async () => {
    const permit = await isolate.admitted("first");
    isolate.opens = never;
    isolate.loseSession();
    await pass(100);
    void isolate.as("first", async () => await permit.settle(end("first")));
    await pass(3_900);
    isolate.opens = async () => undefined;
    await pass(400);
    const second = outcome(isolate.admit("second"));
    await pass(100);
    expect(second.now).toMatchObject({ verdict: "granted" });
  });

  it("keep a place that they do not know of when they are checked again twice", async () => {
    await isolate.admitted("holds");
    isolate.exchanges = refused();
    isolate.answer = () => ({ verdict: "stale", items: [] });
    const asked = isolate.admit("one");
    await pass(0);
    expect(await asked).toEqual({ verdict: "stale", items: [] });
    isolate.exchanges = async () => undefined;
    const again = isolate.admit("one");
    await pass(10);
    expect(await again).toEqual({ verdict: "stale", items: [] });
    void isolate.as("one", async () => await isolate.admission.record(zeroUsageRow("one", 0)));
    await pass(10);
    expect(isolate.said.slice(3)).toEqual(["open", "ask one again", "ask one again", "row one"]);
  });
});
