/** Calls to other services: errors are described in our own words, and a blocked address is never called. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HttpSink, startHttpSink } from "../../../test/harness/http-sink.ts";
import { fetchJson, fetchStatus } from "./bounded-fetch.ts";

const OPEN = { blockPrivate: false, allowedCidrs: [] };
const CLOSED = { blockPrivate: true, allowedCidrs: [] };
const LOOPBACK_ALLOWED = { blockPrivate: true, allowedCidrs: ["127.0.0.0/8", "::1/128"] };

let sink: HttpSink;

beforeEach(async () => {
  sink = await startHttpSink();
});
afterEach(async () => {
  await sink.close();
});

describe("a call", () => {
  it("is answered with JSON or a status", async () => {
    sink.answer = ({ method, body }) => ({ status: 201, body: JSON.stringify({ method, body }) });
    expect(await fetchJson({ url: sink.url, timeoutMs: 5000 })).toEqual({ method: "GET", body: "" });
    expect(await fetchStatus({ url: sink.url, timeoutMs: 5000 }, { body: "x" })).toBe(201);
    expect(sink.asked.map(({ method, body }) => [method, body])).toEqual([
      ["GET", ""],
      ["POST", "x"],
    ]);
  });

  it("takes no answer of more parts than an honest one has", async () => {
    const nested = (depth: number) => ({ body: "[".repeat(depth) + "]".repeat(depth) });
    sink.answer = () => nested(1000);
    expect(await fetchJson({ url: sink.url, timeoutMs: 5000 })).toHaveLength(1);
    sink.answer = () => nested(500_000);
    await expect(fetchJson({ url: sink.url, timeoutMs: 5000 })).rejects.toThrow(/^answer too large$/);
  });

  it("follows no redirect, and waits no longer than its timeout", async () => {
    sink.answer = () => ({ status: 307, headers: { location: "/elsewhere" } });
    expect(await fetchStatus({ url: sink.url, timeoutMs: 5000 })).toBe(307);
    sink.answer = () => null;
    await expect(fetchStatus({ url: sink.url, timeoutMs: 1 })).rejects.toThrow(/^timeout$/);
    expect(sink.asked.map(({ url }) => url)).not.toContain("/elsewhere");
  });
});

describe("a registered address", () => {
  it("is checked when the connection is made, by what its name resolves to then", async () => {
    const named = sink.url.replace("127.0.0.1", "localhost");
    for (const url of [sink.url, named]) {
      expect({ url, status: await fetchStatus({ url, timeoutMs: 5000, policy: OPEN }) }).toEqual({
        url,
        status: 200,
      });
      expect({ url, status: await fetchStatus({ url, timeoutMs: 5000, policy: LOOPBACK_ALLOWED }) }).toEqual({
        url,
        status: 200,
      });
      await expect(fetchStatus({ url, timeoutMs: 5000, policy: CLOSED })).rejects.toThrow(/^address blocked$/);
    }
    expect(sink.asked).toHaveLength(4);
  });

  it("that is link-local is blocked whatever the policy is", async () => {
    for (const url of ["http://169.254.169.254/", "http://[fe80::1]/", "http://[::ffff:169.254.1.1]/"])
      await expect(fetchStatus({ url, timeoutMs: 5000, policy: OPEN })).rejects.toThrow(/^address blocked$/);
  });
});
