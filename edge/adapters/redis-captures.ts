/**
 * Captured calls in the key-value store, sealed (docs/rules/capture.md#store): a hash for each tenant, whose fields begin with the time,
 * so that the oldest go first. A capture that the store does not take is lost.
 */
import { LIMITS } from "../../shared/catalogues/limits.ts";
import { CAPTURE_PURPOSE, importSealKey, type SealKey, seal } from "../../shared/crypto/seal.ts";
import { captureField, captureFieldMs, storeKeys } from "../../shared/records.ts";
import type { Capture } from "../../shared/schema/capture.ts";
import type { Captures } from "../captures.ts";
import type { Clock } from "../ports.ts";
import type { RedisClient } from "./redis-client.ts";

export class RedisCaptures implements Captures {
  readonly #client: Pick<RedisClient, "run">;
  readonly #clock: Clock;
  readonly #importKey: () => Promise<SealKey> | undefined;

  constructor(client: Pick<RedisClient, "run">, clock: Clock, encryptionKey: string | undefined) {
    this.#client = client;
    this.#clock = clock;
    this.#importKey = () =>
      encryptionKey === undefined ? undefined : importSealKey(encryptionKey, [], CAPTURE_PURPOSE);
  }

  async keep(capture: Capture): Promise<boolean> {
    const nowMs = this.#clock();
    const name = storeKeys.captures(capture.tenant_id);
    try {
      const key = await this.#importKey();
      if (key === undefined) return false;
      const sealed = await seal(JSON.stringify(capture), key);
      const answers = await this.#client.run(
        async (redis) =>
          await redis
            .pipeline()
            .hset(name, { [captureField(nowMs, capture.request_id)]: sealed })
            .expire(name, LIMITS.captureTime / 1000)
            .hkeys(name)
            .exec<[number, number, string[]]>(),
        true,
      );
      const fields = answers[2].toSorted();
      const gone = fields.filter(
        (field, at) =>
          at < fields.length - LIMITS.tenantCaptures || captureFieldMs(field) <= nowMs - LIMITS.captureTime,
      );
      if (gone.length > 0) await this.#client.run(async (redis) => await redis.hdel(name, ...gone));
      return true;
    } catch {
      return false;
    }
  }
}
