/** What a spec file needs: the shared stack, and an upstream of its own. */
import { afterAll, beforeAll, inject } from "vitest";
import { Gateway } from "./gateway.ts";
import { startTestUpstream, type TestUpstream } from "./test-upstream.ts";

export interface Fixture {
  readonly gateway: Gateway;
  readonly upstream: TestUpstream;
}

/** Registers the hooks; the parts are there once tests run. */
export function useGateway(): Fixture {
  let upstream: TestUpstream | undefined;
  const gateway = new Gateway({
    proxyUrl: inject("proxyUrl"),
    adminUrl: inject("adminUrl"),
    adminToken: inject("adminToken"),
    metricsUrl: inject("metricsUrl"),
  });
  beforeAll(async () => {
    upstream = await startTestUpstream();
  });
  afterAll(async () => {
    await upstream?.close();
  });
  return {
    gateway,
    get upstream() {
      if (upstream === undefined) throw new Error("the upstream starts with the tests");
      return upstream;
    },
  };
}

/** The `data:` payloads of an event stream. */
export function dataOf(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice(6));
}
