/**
 * Catalogs of upstreams, kept for a minute per address and credential (docs/rules/health.md#classification), so that a
 * rejected model costs its upstream one request, however many of its models are checked. Failures are not kept.
 */
import { LRUCache } from "lru-cache";
import type { SsrfPolicy } from "../../shared/network/ssrf.ts";
import type { UpstreamAccess } from "../../shared/network/upstream-access.ts";
import { OutboundError } from "../kernel/outbound/bounded-fetch.ts";
import { catalogUrl, readCatalog } from "../kernel/outbound/model-catalog.ts";

const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 200;

interface CatalogSource {
  readonly apiBase: string;
  readonly access: UpstreamAccess;
  readonly credential: string | null;
  readonly timeoutMs: number;
  readonly policy: SsrfPolicy | undefined;
  readonly signal: AbortSignal;
}

interface Remembered {
  readonly atMs: number;
  readonly ids: Promise<readonly string[] | null>;
}

export class CatalogCache {
  readonly #now: () => number;
  readonly #known = new LRUCache<string, Remembered>({ max: REMEMBERED_MAX });

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The ids of an upstream's models; null when its answer is no list of models. Throws OutboundError when it does not
   * answer, or answers with an error.
   */
  async read(of: CatalogSource): Promise<readonly string[] | null> {
    const name = `${of.apiBase} ${of.access.auth_scheme} ${of.credential ?? ""}`;
    const known = this.#known.get(name);
    if (known !== undefined && Math.abs(this.#now() - known.atMs) < REMEMBERED_MS) return await this.#shared(known, of);
    const reading = { atMs: this.#now(), ids: readIds(of) };
    this.#known.set(name, reading);
    try {
      return await reading.ids;
    } catch (error) {
      if (this.#known.peek(name) === reading) this.#known.delete(name);
      throw error;
    }
  }

  /**
   * Waits for a read that another caller began. When that caller leaves first, its read is cancelled, and this one reads
   * again.
   */
  async #shared(known: Remembered, of: CatalogSource): Promise<readonly string[] | null> {
    try {
      return await known.ids;
    } catch (error) {
      if (error instanceof OutboundError && error.message === "cancelled" && !of.signal.aborted)
        return await this.read(of);
      throw error;
    }
  }
}

async function readIds({ apiBase, policy, ...of }: CatalogSource): Promise<readonly string[] | null> {
  const url = catalogUrl(apiBase);
  const more = { ...of, ...(policy === undefined ? {} : { policy }) };
  try {
    return await readCatalog({ url, ...more });
  } catch (error) {
    if (error instanceof OutboundError && error.status === 404) return await readCatalog({ url: `${url}/`, ...more });
    throw error;
  }
}
