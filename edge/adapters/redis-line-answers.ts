/**
 * Answers of lines of batches until the control service has stored them, in the key-value store
 * (docs/rules/batches.md#exactly-once). An answer that the store does not take is kept nowhere: it only goes to the caller.
 */
import { storeKeys } from "../../shared/records.ts";
import type { LineAnswer, LineAnswers } from "../line-answers.ts";
import type { RedisClient } from "./redis-client.ts";

const KEPT_SECS = 24 * 60 * 60;
/** Stores refuse calls of more than a megabyte, and a character has up to 3 bytes. */
const KEPT_CHARS_MAX = 256 * 1024;

export class RedisLineAnswers implements LineAnswers {
  readonly #client: Pick<RedisClient, "run">;

  constructor(client: Pick<RedisClient, "run">) {
    this.#client = client;
  }

  async keep(requestId: string, { status, text }: LineAnswer): Promise<void> {
    if (text.length > KEPT_CHARS_MAX) return;
    const kept = `${status} ${text}`;
    await this.#client
      .run(async (redis) => await redis.set(storeKeys.lineAnswer(requestId), kept, { ex: KEPT_SECS }), true)
      .catch(() => undefined);
  }

  async load(requestId: string): Promise<LineAnswer | null> {
    const kept = await this.#client.run(
      async (redis) => await redis.get<string>(storeKeys.lineAnswer(requestId)),
      true,
    );
    return kept === null ? null : { status: Number(kept.slice(0, 3)), text: kept.slice(4) };
  }
}
