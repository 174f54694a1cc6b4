/**
 * A key-value store that lost its copies, or that a start has not filled yet: a key that works is never called unknown for
 * that (docs/rules/freshness.md#a-store-that-was-emptied).
 *
 * @module-tag long
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { STORE_TOKEN, startKillableStore } from "../harness/killable-store.ts";
import { launchReady } from "../harness/launched.ts";
import { ownPort } from "../harness/own-port.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const WRONG_SECRET = `sk-${"0".repeat(64)}`;

const upstream = useStarted(startTestUpstream);

/** `503 retry-after 1`, `200`, or the error's code; `none` when nothing listens. */
async function answer(gateway: Gateway, minted: Minted, secret: string): Promise<string> {
  const response = await gateway.chat({ ...minted, secret }).catch(() => null);
  if (response === null) return "none";
  const body = (await response.json()) as { readonly error?: { readonly code: string } };
  const retryAfter = response.headers.get("retry-after");
  return [response.status, body.error?.code, retryAfter].filter((part) => part != null).join(" ");
}

describe("a store that is emptied", () => {
  it("makes unknown keys 503 until it is filled, seconds later, and raises an alert", async () => {
    const store = await startKillableStore();
    onTestFinished(async () => await store.stop());
    const stack = await startTestStack({ GATEWAY_REDIS_URL: store.url, GATEWAY_REDIS_TOKEN: STORE_TOKEN });
    onTestFinished(async () => await stack.stop());
    const gateway = new Gateway(stack);
    const minted = await gateway.mint(upstream().url);
    await store.crash();
    const startedMs = Date.now();
    const answers = new Set<string>();
    // the isolate has never read the key: until the store is filled it cannot know it
    await waitFor(
      async () => {
        const got = await answer(gateway, minted, minted.secret);
        answers.add(got);
        return got;
      },
      (got) => got === "200",
    );
    expect(Date.now() - startedMs).toBeLessThan(30_000);
    expect([...answers].filter((one) => one !== "200" && one !== "503 key_store_unavailable 1")).toEqual([]);
    expect(await answer(gateway, minted, WRONG_SECRET)).toBe("401 invalid_api_key");
    const { recent } = await waitFor(
      async () => await gateway.must<AlertOverview>("GET", "/alerts"),
      ({ recent: raised }) => raised.some(({ key }) => key === "key_store_emptied"),
    );
    expect(recent.find(({ key }) => key === "key_store_emptied")).toMatchObject({
      detail: "its copies are gone; they are written again",
    });
  });
});

it("a key that works is never refused while a stack starts again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-again-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const variables = { GATEWAY_PROXY_LISTEN: `127.0.0.1:${await ownPort()}` };
  const first = await launchReady(folder, variables);
  const gateway = new Gateway(first);
  const minted = await gateway.mint(upstream().url);
  let isOver = false;
  const answers = new Set<string>();
  const polled = waitFor(
    async () => {
      answers.add(await answer(gateway, minted, minted.secret));
      return isOver;
    },
    (over) => over,
  );
  await first.end("SIGTERM");
  await launchReady(folder, variables);
  await waitFor(
    () => [...answers],
    (seen) => seen.includes("none"),
  );
  expect(await answer(gateway, minted, minted.secret)).toBe("200");
  isOver = true;
  await polled;
  const allowed = new Set(["200", "none", "503 key_store_unavailable 1"]);
  expect([...answers].filter((one) => !allowed.has(one))).toEqual([]);
});
