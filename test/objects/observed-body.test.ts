/** An observation of a piped body that is cancelled, inside the runtime (docs/rules/streams.md#two-relays). */
import { expect, it, onTestFinished, vi } from "vitest";
import { ObservedBody } from "../../edge/pipeline/relay/observed-body.ts";

const READS_MAX = 20;

it.each([1, 2])("ends when it is cancelled after its read %d", async (last) => {
  const { readable, writable } = new IdentityTransformStream();
  void writable.getWriter().write(new Uint8Array(100));
  const observed = new ObservedBody(readable);
  // the pipe has taken it, so the copies have it
  await observed.body.getReader().read();
  const prototype: { read: (into: ArrayBufferView) => Promise<ReadableStreamReadResult<unknown>> } =
    ReadableStreamBYOBReader.prototype;
  const read = Object.getOwnPropertyDescriptor(prototype, "read")?.value as typeof prototype.read;
  let reads = 0;
  const watched = vi.spyOn(prototype, "read").mockImplementation(async function (this: unknown, into) {
    reads += 1;
    // reads that never end would keep the test from failing
    if (reads > READS_MAX) throw new Error("it reads for ever");
    const result = await Reflect.apply(read, this, [into]);
    if (reads === last) void observed.cancelObservation();
    return result;
  });
  onTestFinished(() => watched.mockRestore());
  expect((await observed.observe())?.bytes.byteLength).toBe(100);
});
