/**
 * Catalogs of upstreams, remembered for a minute per address and credential (decisions §10.3), so that a rejected model
 * costs its upstream one question however many of its models are checked. What failed is not remembered.
 */
import { LRUCache } from "lru-cache";
import type { SsrfPolicy } from "../../shared/ssrf.ts";
import { OutboundError } from "../outbound/bounded-fetch.ts";
import { catalogUrl, readCatalog } from "../outbound/model-catalog.ts";

const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 200;

interface CatalogSource {
  readonly apiBase: string;
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

  /** The ids of an upstream's models, null when it answers no list of them. Throws OutboundError when it does not answer well. */
  async read(of: CatalogSource): Promise<readonly string[] | null> {
    const name = `${of.apiBase} ${of.credential ?? ""}`;
    const known = this.#known.get(name);
    if (known !== undefined && Math.abs(this.#now() - known.atMs) < REMEMBERED_MS) return await this.#shared(known, of);
    const asked = { atMs: this.#now(), ids: ask(of) };
    this.#known.set(name, asked);
    try {
      return await asked.ids;
    } catch (error) {
      if (this.#known.peek(name) === asked) this.#known.delete(name);
      throw error;
    }
  }

  /** Whoever asked first may leave before the answer comes: then it is asked for whoever stays. */
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

async function ask({ apiBase, policy, ...of }: CatalogSource): Promise<readonly string[] | null> {
  const url = catalogUrl(apiBase);
  const more = { ...of, ...(policy === undefined ? {} : { policy }) };
  try {
    return await readCatalog({ url, ...more });
  } catch (error) {
    if (error instanceof OutboundError && error.status === 404) return await readCatalog({ url: `${url}/`, ...more });
    throw error;
  }
}
