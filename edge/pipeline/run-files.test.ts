/**
 * Forwarded uploads and downloads end with their key (docs/rules/keys.md#running-requests). Uploads have the time limits of every body (docs/rules/request-bodies.md#time-limits), and their answers the limits
 * of every reader (docs/rules/streams.md#stalled-readers).
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { keyOf } from "../../test/harness/edge/pipeline/records.ts";
import { knowing, SECRET, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
import { runFiles } from "./run-files.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

async function pass(world: TestPipeline, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) {
    world.nowMs += 250;
    await vi.advanceTimersByTimeAsync(250);
  }
}

it("an upload that goes silent ends after 30 s, and the control service does not take it for whole", async () => {
  const world = new TestPipeline();
  let send: ReadableByteStreamController | null = null;
  const body = new ReadableStream({
    type: "bytes",
    start: (controller) => {
      send = controller;
    },
  });
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "multipart/form-data; boundary=b" };
  const init = { method: "POST", body, headers, duplex: "half" } as RequestInit;
  const control = {
    read: 0,
    ended: "",
    forward: async (_: string, request: Pick<Request, "body" | "signal">): Promise<Response> => {
      try {
        for await (const piece of request.body as unknown as AsyncIterable<Uint8Array>)
          control.read += piece.byteLength;
        control.ended = "whole";
      } catch (error) {
        control.ended = request.signal.aborted ? "cut off" : "failed";
        throw error;
      }
      return Response.json({});
    },
  };
  const answer = runFiles(world.received(init, "/v1/files"), control);
  await pass(world, 250);
  (send as ReadableByteStreamController | null)?.enqueue(new TextEncoder().encode("--b\r\n"));
  await pass(world, 29_000);
  expect(control).toMatchObject({ read: 5, ended: "" });
  await pass(world, 2000);
  const response = await answer;
  expect({ status: response.status, body: await response.json(), ended: control.ended }).toMatchObject({
    status: 408,
    body: { error: { code: "request_timeout" } },
    ended: "cut off",
  });
  await world.settled();
});

const READ = { method: "GET", body: null, headers: { authorization: `Bearer ${SECRET}` } };

it("a client that stops reading a file is cut off, and others of its tenant may read again", async () => {
  const world = new TestPipeline();
  const ended: string[] = [];
  const control = {
    forward: async () =>
      new Response(
        new ReadableStream<Uint8Array>(
          {
            pull: (controller) => controller.enqueue(new Uint8Array(1000)),
            cancel: () => void ended.push("cancelled"),
          },
          { highWaterMark: 0 },
        ),
      ),
  };
  const read = async () => await runFiles(world.received(READ, "/v1/files/file-a/content"), control);
  const stalled = await Promise.all(Array.from({ length: LIMITS.tenantFileCalls }, read));
  const readers = stalled.map(({ body }) => body?.getReader());
  for (const reader of readers) await reader?.read();
  const [kept] = readers;
  await pass(world, 59_000);
  await kept?.read();
  const refused = await read();
  const before = { status: refused.status, retry: refused.headers.get("retry-after"), ended: ended.length };
  await pass(world, 2000);
  await expect(readers[1]?.read()).rejects.toThrow();
  expect({ before, ended: ended.length, kept: (await kept?.read())?.done, again: (await read()).status }).toEqual({
    before: { status: 429, retry: "1", ended: 0 },
    ended: LIMITS.tenantFileCalls - 1,
    kept: false,
    again: 200,
  });
});

it("an answer that is read to its end, cancelled or failed makes room for the next one", async () => {
  const world = new TestPipeline();
  const bodies = [
    () => new Response("{}"),
    () => new Response(null, { status: 204 }),
    () => new Response("away", { status: 503 }),
    () => Promise.reject(new Error("away")),
    () => new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) })),
    () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1)) })),
  ];
  const statuses: number[] = [];
  for (const forward of [...bodies, ...bodies]) {
    const response = await runFiles(world.received(READ, "/v1/files"), { forward: async () => await forward() });
    statuses.push(response.status);
    const reader = response.body?.getReader();
    await reader?.read().catch(() => undefined);
    if (statuses.length % bodies.length !== 0) await reader?.read().catch(() => undefined);
    await reader?.cancel().catch(() => undefined);
  }
  expect(statuses).toEqual([200, 204, 503, 503, 200, 200, 200, 204, 503, 503, 200, 200]);
  expect(world.memory.fileCalls.begin(world.key?.tenant?.id ?? "")).not.toBeNull();
});

/** The control service while it answers with a file without end, or takes an upload without end. */
function endlessControl() {
  const ended: string[] = [];
  const control = {
    forward: async (_: string, { body, signal }: Pick<Request, "body" | "signal">): Promise<Response> => {
      if (body === null) {
        const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(1000));
        return new Response(new ReadableStream({ pull, cancel: () => void ended.push("download") }));
      }
      const stopped = Promise.withResolvers<never>();
      signal.addEventListener("abort", () => {
        ended.push("upload");
        stopped.reject(signal.reason);
      });
      return await stopped.promise;
    },
  };
  return { control, ended };
}

it.each([
  ["its key is disabled", "api_key_disabled"],
  ["its key expires", "api_key_expired"],
])("a transfer of a file ends within 4 s when %s", async (_, code) => {
  const world = new TestPipeline();
  const isDisabled = code === "api_key_disabled";
  world.key = keyOf(isDisabled ? { rev: 1 } : { expires_at_ms: world.nowMs + 500 });
  const { control, ended } = endlessControl();
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "multipart/form-data; boundary=b" };
  const upload = runFiles(world.received({ method: "POST", body: "--b", headers }, "/v1/files"), control);
  const download = await runFiles(world.received(READ, "/v1/files/file-a/content"), control);
  const reader = download.body?.getReader();
  await reader?.read();
  if (isDisabled) {
    world.key = keyOf({ rev: 2, disabled: true });
    world.stale = knowing({ kind: "key", id: world.key.key_hash, rev: 2 });
  }
  await pass(world, 4000);
  expect(ended.toSorted()).toEqual(["download", "upload"]);
  await expect(reader?.read()).rejects.toMatchObject({ code });
  expect(await (await upload).json()).toMatchObject({ error: { code } });
  await world.settled();
});
