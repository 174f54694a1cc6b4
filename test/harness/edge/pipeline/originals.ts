/** The originals of references in memory, for tests of the pipeline; `isDown`: the store fails. */
import type { Originals } from "../../../../edge/ports.ts";

export class TestOriginals implements Originals {
  isDown = false;
  /** Texts by tenant and SHA-256, with their seconds to live. */
  readonly kept = new Map<string, { readonly text: string; readonly ttlSecs: number }>();

  async keep(tenantId: string, texts: ReadonlyMap<string, string>, ttlSecs: number): Promise<boolean> {
    if (this.isDown) return false;
    for (const [sha256, text] of texts) this.kept.set(`${tenantId}:${sha256}`, { text, ttlSecs });
    return true;
  }

  async load(tenantId: string, sha256: string): Promise<string | null> {
    return this.isDown ? null : (this.kept.get(`${tenantId}:${sha256}`)?.text ?? null);
  }
}
