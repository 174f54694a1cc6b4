/**
 * Decrypts the credentials of hot copies in memory (docs/rules/storage-layouts.md#models-and-mcp-servers). The key is
 * imported once per isolate; plaintexts are kept with their ciphertexts, so that a warm request does no cryptography.
 */
import { LRUCache } from "lru-cache";
import { importSealKey, isSealed, type SealKey, unseal } from "../../shared/crypto/seal.ts";
import type { SecretOpener } from "../ports.ts";

const REMEMBERED = 1000;

export class SealedSecrets implements SecretOpener {
  readonly #key: Promise<SealKey> | undefined;
  readonly #opened = new LRUCache<string, string>({ max: REMEMBERED });

  constructor(encryptionKey: string | undefined, old: readonly string[] = []) {
    this.#key = encryptionKey === undefined ? undefined : importSealKey(encryptionKey, old);
  }

  /** Throws SealError. */
  async open(stored: string): Promise<string> {
    if (!isSealed(stored)) return stored;
    const known = this.#opened.get(stored);
    if (known !== undefined) return known;
    const plain = await unseal(stored, await this.#key);
    this.#opened.set(stored, plain);
    return plain;
  }
}
