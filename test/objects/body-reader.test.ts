/**
 * How a relay reads a body inside the runtime: it joins fast pieces, and never reads far ahead of the client
 * (docs/rules/streams.md#two-relays).
 */
import { describe, expect, it } from "vitest";
import { BatchingBodyReader } from "../../edge/pipeline/relay/body-reader.ts";

const PIECE = new Uint8Array(200).fill(97);
const PIECES = 2000;
/** The most bytes that one read returns, and the most bytes that wait for a read. */
const AHEAD_MAX_BYTES = 128 * 1024;

/** A body whose pieces arrive as fast as they are read. */
function source(): { readonly body: ReadableStream<Uint8Array>; readonly given: () => number } {
  let pieces = 0;
  const body = new ReadableStream(
    {
      type: "bytes",
      pull: (controller) => {
        if (pieces < PIECES) controller.enqueue(new Uint8Array(PIECE));
        else controller.close();
        pieces += 1;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, given: () => pieces * PIECE.byteLength };
}

describe("a body in small pieces", () => {
  it("is read completely, in far fewer reads when the pieces come fast, and never far ahead", async () => {
    const { body, given } = source();
    // No time passes on this clock, so every piece is fast.
    const intake = new BatchingBodyReader(body, () => 1);
    let bytes = 0;
    let reads = 0;
    for (let piece = await intake.next(); piece !== null; piece = await intake.next()) {
      bytes += piece.byteLength;
      reads += 1;
      expect(given() - bytes).toBeLessThanOrEqual(AHEAD_MAX_BYTES);
    }
    expect(bytes).toBe(PIECES * PIECE.byteLength);
    expect(reads).toBeLessThan(PIECES / 4);
  });

  it("is passed on piece by piece while they come slowly", async () => {
    const { body } = source();
    let nowMs = 0;
    // On this clock a second passes between two looks.
    const intake = new BatchingBodyReader(body, () => (nowMs += 1000));
    expect((await intake.next())?.byteLength).toBe(PIECE.byteLength);
    await intake.cancel();
  });

  it("is read completely when its pace changes again and again", async () => {
    const { body } = source();
    let nowMs = 0;
    let stepMs = 0;
    const intake = new BatchingBodyReader(body, () => (nowMs += stepMs));
    let bytes = 0;
    let reads = 0;
    for (let piece = await intake.next(); piece !== null; piece = await intake.next()) {
      bytes += piece.byteLength;
      reads += 1;
      // The pieces are fast for ten reads, then slow for long enough to stop the gathering.
      stepMs = reads % 40 < 10 ? 0 : 5;
    }
    expect(bytes).toBe(PIECES * PIECE.byteLength);
  });

  it.each([0, 1, 5, 50])("is released when the client leaves after %i reads", async (reads) => {
    const gone = Promise.withResolvers<void>();
    const body = new ReadableStream({
      type: "bytes",
      pull: (controller) => controller.enqueue(new Uint8Array(PIECE)),
      cancel: () => gone.resolve(),
    });
    const intake = new BatchingBodyReader(body, () => 1);
    for (let read = 0; read < reads; read += 1) await intake.next();
    await intake.cancel();
    await gone.promise;
  });
});
