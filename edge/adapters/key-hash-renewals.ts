/**
 * Tells the control service of keys that were used with the hash of an old pepper (docs/rules/keys.md#peppers). Only the Worker
 * sees a secret, so it sends the new hash. Nothing depends on a single call: the old hash stays valid, and a later use tries again.
 */
import { LRUCache } from "lru-cache";
import { KEY_HASHES_PATH, type RenewKeyHash } from "../../shared/schema/key-hash.ts";
import { rootCause } from "../../shared/text/root-cause.ts";
import type { Clock, KeyHashes, Log } from "../ports.ts";
import type { ControlCalls } from "./control-calls.ts";

/** A rotation makes every key due at once, and each renewal is a write of the control service. */
const GAP_MS = 50;
/** While parts have different peppers, each of them would renew the other one's hash again and again. */
const PAUSE_MS = 60_000;
const REMEMBERED = 10_000;

interface RenewalOptions {
  readonly control: ControlCalls;
  readonly clock: Clock;
  readonly keepAlive: (work: Promise<unknown>) => void;
  readonly log: Log;
}

export class KeyHashRenewals implements KeyHashes {
  readonly #options: RenewalOptions;
  readonly #tried = new LRUCache<string, true>({ max: REMEMBERED, ttl: PAUSE_MS });
  #notBeforeMs = 0;

  constructor(options: RenewalOptions) {
    this.#options = options;
  }

  renew(renewal: RenewKeyHash): void {
    const nowMs = this.#options.clock();
    if (nowMs < this.#notBeforeMs || this.#tried.has(renewal.key_hash)) return;
    this.#notBeforeMs = nowMs + GAP_MS;
    this.#tried.set(renewal.key_hash, true);
    this.#options.keepAlive(this.#send(renewal));
  }

  async #send(renewal: RenewKeyHash): Promise<void> {
    const { control, log } = this.#options;
    try {
      const { status, body } = await control.post(KEY_HASHES_PATH, renewal);
      await body?.cancel();
      if (status !== 200) log.event("key_hash_not_renewed", { status, reason: `${control.host} answered ${status}` });
    } catch (error) {
      log.event("key_hash_not_renewed", { reason: `${control.host}: ${rootCause(error)}` });
    }
  }
}
