/** What a spec file needs: the shared stack, and an upstream of its own. */
import { inject } from "vitest";
import { Gateway } from "./gateway.ts";
import { startTestUpstream, type TestUpstream } from "./test-upstream.ts";
import { useStarted } from "./use-started.ts";

export interface Fixture {
  readonly gateway: Gateway;
  readonly upstream: TestUpstream;
}

/** Registers the hooks; the parts are there once tests run. */
export function useGateway(): Fixture {
  const upstream = useStarted(startTestUpstream);
  const gateway = new Gateway({
    proxyUrl: inject("proxyUrl"),
    adminUrl: inject("adminUrl"),
    adminToken: inject("adminToken"),
    metricsUrl: inject("metricsUrl"),
  });
  return {
    gateway,
    get upstream() {
      return upstream();
    },
  };
}

export function dataOf(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice(6));
}
