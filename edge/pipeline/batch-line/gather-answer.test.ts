/** Answers to lines of batches have bounded memory, and the rest stays upstream (docs/rules/batches.md#windows). */
import { expect, it } from "vitest";
import { LIMITS } from "../../../shared/catalogues/limits.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { ClientGone } from "../call/client-gone.ts";
import { Interruption } from "../call/interruption.ts";
import { LINES, RequestBodyMemory } from "../call/memory/request-body-memory.ts";
import { gatherAnswer } from "./gather-answer.ts";

const MIB = 1024 * 1024;
const CHUNK = new Uint8Array(256 * 1024);

/** An upstream's answers, and the parts that were read. */
class Answers {
  readonly memory = new RequestBodyMemory(Date.now, LINES);
  readBytes = 0;

  gather(tenant: string, bytes: number, signal = new AbortController().signal) {
    let left = bytes;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const chunk = CHUNK.subarray(0, Math.min(left, CHUNK.byteLength));
          left -= chunk.byteLength;
          this.readBytes += chunk.byteLength;
          if (chunk.byteLength > 0) controller.enqueue(chunk);
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const call = { request: { signal }, interruption: new Interruption() };
    return gatherAnswer(body, this.memory.open(tenant, null, call));
  }
}

it("large answers of many lines are read within their memory, and the rest as room is made", async () => {
  const answers = new Answers();
  const gathered = Array.from({ length: 20 }, async () => await answers.gather("large", 6 * MIB));
  const ready: ReadableStream<Uint8Array>[] = [];
  for (const each of gathered) void each.then((body) => body && ready.push(body));
  let most = 0;
  for (let sent = 0; sent < gathered.length; sent += 1) {
    const body = await waitFor(
      () => ready.shift(),
      (found) => found !== undefined,
    );
    most = Math.max(most, answers.memory.usedBytes);
    if (sent === 0) expect(answers.readBytes).toBeLessThan(20 * MIB);
    expect((await new Response(body).arrayBuffer()).byteLength).toBe(6 * MIB);
  }
  expect(most).toBeLessThan(LIMITS.lineMemory);
  expect(answers.memory.usedBytes).toBe(0);
});

it("answers of another tenant find memory while one has its share", async () => {
  const answers = new Answers();
  void answers.gather("large", 7 * MIB);
  const waiting = Array.from({ length: 5 }, async () => await answers.gather("large", 7 * MIB));
  expect(waiting).toHaveLength(5);
  const body = await answers.gather("other", MIB);
  expect((await new Response(body).arrayBuffer()).byteLength).toBe(MIB);
});

it.each([
  ["is too large", LIMITS.batchAnswerBytes + 1, null],
  ["was cancelled", 5 * MIB, "cancelled"],
])("an answer that %s holds no memory", async (_, bytes, ending) => {
  const answers = new Answers();
  const body = await answers.gather("a", bytes);
  await body?.cancel();
  const found = { body: body === null ? null : "cancelled", used: answers.memory.usedBytes, read: answers.readBytes };
  expect(found).toEqual({ body: ending, used: 0, read: bytes });
});

it("an answer that nobody takes is read to its end without memory", async () => {
  const answers = new Answers();
  await expect(answers.gather("a", 5 * MIB, AbortSignal.abort())).rejects.toThrow(ClientGone);
  expect({ used: answers.memory.usedBytes, read: answers.readBytes }).toEqual({ used: 0, read: 5 * MIB });
});
