/** Uploads that are passed on have the time limits of every body (docs/rules/request-bodies.md#time-limits). */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SECRET, TestPipeline } from "../../test/harness/edge/pipeline/world.ts";
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
