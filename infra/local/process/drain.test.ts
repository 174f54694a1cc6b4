import http from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Listening, listen } from "../http/listen.ts";
import { drainRequests } from "./drain.ts";

/** The loads that the runtime answers, one after another; the last one is repeated for ever. */
let answers: { in_flight: number; queued: number }[];
let asked: (string | undefined)[];
let runtime: Listening;

beforeEach(async () => {
  asked = [];
  const server = http.createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.end(JSON.stringify(answers.length > 1 ? answers.shift() : answers[0]));
  });
  runtime = await listen(server, "127.0.0.1", 0);
});
afterEach(async () => {
  await runtime.close();
});

async function drain(finishMs: number, port = Number(new URL(runtime.url).port)): Promise<number> {
  let askedBeforeCut = -1;
  await drainRequests({
    port: () => (port === 0 ? undefined : port),
    internalToken: "token",
    cut: () => {
      askedBeforeCut = asked.length;
      answers = [{ in_flight: 0, queued: 0 }];
    },
    finishMs,
    settleMs: 10_000,
  });
  return askedBeforeCut;
}

describe("draining", () => {
  it("cuts off only when all running and waiting requests have ended", async () => {
    answers = [
      { in_flight: 2, queued: 1 },
      { in_flight: 0, queued: 1 },
      { in_flight: 0, queued: 0 },
    ];
    expect(await drain(10_000)).toBe(3);
    expect(new Set(asked)).toEqual(new Set(["/internal/stats Bearer token"]));
  });

  it("cuts off clients at the time limit, then waits until their requests are settled", async () => {
    answers = [{ in_flight: 1, queued: 0 }];
    const askedBeforeCut = await drain(1_000);
    expect(askedBeforeCut).toBeGreaterThan(0);
    expect(asked.length).toBeGreaterThan(askedBeforeCut);
  });

  it("ends at once without a runtime", async () => {
    expect(await drain(10_000, 0)).toBe(0);
    expect(asked).toEqual([]);
  });
});
