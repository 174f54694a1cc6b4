/**
 * Clients that leave WebSockets of Responses at any moment leave nothing behind
 * (docs/rules/realtime.md#responses-over-a-websocket).
 *
 * @module-tag check
 */
import { expect, it } from "vitest";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { openRealtime, type RealtimeClient } from "../harness/realtime-client.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { useStarted } from "../harness/use-started.ts";
import { waitFor } from "../harness/wait-for.ts";

const LARGE = 14_000_000;
/** As by default. */
const SOCKETS = 8;

const upstream = useStarted(startTestUpstream);
const stack = useStarted(async () => {
  const started = await startTestStack();
  return { ...started, close: async () => await started.stop() };
});

const mint = async (): Promise<Minted> =>
  await new Gateway(stack()).mint(upstream().url, "plain", { responses_api: "translated" });

const open = async (minted: Minted): Promise<RealtimeClient> =>
  await openRealtime(stack().proxyUrl, minted, { path: "/v1/responses" });

const ask = (minted: Minted, bytes: number, more = {}) =>
  JSON.stringify({
    type: "response.create",
    model: minted.model.model_name,
    store: false,
    input: "x".repeat(bytes),
    ...more,
  });

/** Opens a connection as soon as the tenant may. */
const openAgain = async (minted: Minted): Promise<RealtimeClient> =>
  (await waitFor(
    async () => await open(minted).catch(() => null),
    (opened) => opened !== null,
  )) as RealtimeClient;

it("connections that break off are no longer counted", async () => {
  const minted = await mint();
  for (let nth = 0; nth < SOCKETS; nth += 1) {
    const client = await openAgain(minted);
    if (nth % 2 === 0) {
      client.socket.send(ask(minted, 10));
      await client.got("response.completed");
    }
    client.socket.terminate();
  }
  const next = await openAgain(minted);
  next.socket.send(ask(minted, 10));
  await next.got("response.completed");
  expect(next.of("error")).toEqual([]);
  next.socket.close();
});

/** Sends a large message, and leaves as soon as it is on its way. */
async function leave(minted: Minted, how: "terminate" | "close"): Promise<void> {
  const { socket } = await open(minted);
  const sent = Promise.withResolvers<unknown>();
  socket.send(ask(minted, LARGE), sent.resolve);
  await sent.promise;
  socket[how]();
}

it("clients that leave while their message is read give its memory back", async () => {
  const [first, second, fresh] = [await mint(), await mint(), await mint()];
  for (const how of ["terminate", "close", "terminate", "close"] as const)
    for (const minted of [first, second]) await leave(minted, how);
  for (const minted of [first, second, fresh]) {
    const client = await open(minted);
    const last = await waitFor(
      async () => {
        client.socket.send(ask(minted, LARGE, { generate: false }));
        await waitFor(
          () => client.events.at(-1)?.["type"],
          (type) => type === "response.completed" || type === "error",
        );
        return client.events.splice(0).at(-1);
      },
      (event) => event?.["type"] === "response.completed",
    );
    expect(last).toMatchObject({ response: { status: "completed" } });
    client.socket.close();
  }
});
