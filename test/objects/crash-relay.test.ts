/**
 * Faults while an answer is relayed (docs/rules/streams.md#two-relays), through both relays: one row, no slot or
 * reservation left, the tokens settled at the estimate or what was seen, and no upstream call left running.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { mainRows } from "../harness/main-rows.ts";
import { type Act, broken, type CrashScene, playCrash } from "./crash-scene.ts";

type Source = ReadableByteStreamController;

const event = (text: string): Uint8Array => new TextEncoder().encode(`data: ${text}\n\n`);

/**
 * The upstream answers with one event, then runs `next`. The returned function says whether the answer has been released.
 */
function answering(scene: CrashScene, contentType: string, next: (source: Source) => void): () => boolean {
  let over = false;
  scene.world.upstream = async ({ signal }) => {
    let begun = false;
    const body = new ReadableStream({
      type: "bytes",
      start: (source) => {
        signal.addEventListener("abort", () => {
          over = true;
          source.error(signal.reason);
        });
      },
      pull: (source) => {
        if (begun) next(source);
        else source.enqueue(event("1"));
        begun = true;
      },
      cancel: () => {
        over = true;
      },
    });
    return new Response(body, { headers: { "content-type": contentType } });
  };
  return () => over;
}

/** The upstream's answer with a body that throws when it is to be relayed; its beginning can be looked at. */
function unreadable(response: Response): Response {
  let looks = 0;
  return new Proxy(response, {
    get: (target, name) => {
      if (name === "body") looks += 1;
      if (name === "body" && looks === 2) broken();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface RelayAct extends Act {
  readonly arrange: (scene: CrashScene) => () => boolean;
}

/** `owed`: what an answer of this type owes when it ends early. */
const actsOf = (contentType: string, owed: "estimate" | "what was seen"): readonly RelayAct[] => [
  {
    what: "the upstream breaks",
    arrange: (scene) => answering(scene, contentType, (source) => source.error(new Error("reset"))),
    answer: contentType === "application/json" ? null : 200,
    left: [200, owed],
  },
  {
    what: "the client is gone",
    arrange: (scene) => answering(scene, contentType, () => scene.client.abort()),
    answer: null,
    left: [499, owed],
  },
  {
    what: "the client stops reading without a word",
    arrange: (scene) => {
      scene.readChunks = 1;
      return answering(scene, contentType, (source) => source.enqueue(event("again")));
    },
    answer: 200,
    left: [499, owed],
  },
  {
    what: "the gateway throws with the answer in hand",
    arrange: (scene) => {
      const over = answering(scene, contentType, () => undefined);
      const { upstream } = scene.world;
      scene.world.upstream = async (call) => unreadable(await upstream(call));
      return over;
    },
    answer: 500,
    left: [500, owed],
  },
  {
    what: "the gateway throws when the answer has ended",
    arrange: (scene) => {
      scene.override({ alerts: { raise: broken } });
      return answering(scene, contentType, (source) => source.error(new Error("reset")));
    },
    answer: contentType === "application/json" ? null : 200,
    // The permit is disposed when its holder ends.
    left: [499, "estimate"],
  },
];

mainRows(
  1,
  describe,
)([
  ["a stream through JavaScript", "text/event-stream", { stream: true }],
  ["a whole answer", "application/json", {}],
  ["a stream piped natively", "text/event-stream", { stream: true, stream_options: { include_usage: true } }],
])("while %s is relayed", (_, contentType, asked) => {
  const owed = contentType === "application/json" ? "estimate" : "what was seen";
  it.concurrent.each(actsOf(contentType, owed).map((act) => [act.what, act] as const))("%s", async (_what, act) => {
    let over = (): boolean => false;
    await playCrash({
      ...act,
      arrange: (scene) => {
        const messages = [{ role: "user", content: "some words" }];
        scene.init = { body: JSON.stringify({ model: "tiny", max_tokens: 40, messages, ...asked }) };
        over = act.arrange(scene);
      },
    });
    expect(over()).toBe(true);
  });
});
