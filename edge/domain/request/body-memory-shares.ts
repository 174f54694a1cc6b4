/**
 * Decides which of the request bodies that an isolate holds may grow, and which wait
 * (docs/rules/request-bodies.md#size, docs/rules/settlement-and-rows.md#what-was-seen). The bytes that have been
 * received count; a tenant has no more than its share, and all together no more than the whole. Bodies of a tenant that
 * arrive at the same time would fill its share with their beginnings, and none would ever be complete. So a body leaves
 * memory for the rest of every older body that is arriving at a pace; a body that has stopped arriving has no claim
 * beyond its bytes. When all other bodies of its tenant wait too, the oldest continues beyond the share, because no
 * other body would free memory. Invariants: waiting bodies continue oldest first within their tenant, and are never
 * refused; a tenant never has more than its share and the rest of one body.
 */

export interface BodyMemoryBounds {
  readonly totalBytes: number;
  readonly tenantBytes: number;
}

/** A body is arriving at a pace while this many bytes of it come within this many ms. */
const PACE_BYTES = 64 * 1024;
export const PACE_MS = 1000;
/** A body within its own share waits at most this long for other tenants; then it continues beyond the whole, ms. */
export const OTHERS_MAX_MS = 30_000;

/** A body that is held; only {@link BodyMemoryShares} reads and changes its fields. */
export class HeldBody {
  readonly tenant: string;
  /** Its length, if the client states it. */
  readonly expectedBytes: number | null;
  receivedBytes = 0;
  whole = false;
  /** What it waits for, and since when; null: it does not wait. */
  waits: { readonly bytes: number; readonly sinceMs: number } | null = null;
  /** It has waited long enough for other tenants. */
  beyondWhole = false;
  /** Until this time it counts as arriving, epoch ms. */
  comingUntilMs: number;
  paceBytes = 0;
  paceSinceMs: number;

  constructor(tenant: string, expectedBytes: number | null, nowMs: number) {
    this.tenant = tenant;
    this.expectedBytes = expectedBytes;
    this.paceSinceMs = nowMs;
    this.comingUntilMs = nowMs + PACE_MS;
  }
}

export class BodyMemoryShares {
  readonly #bounds: BodyMemoryBounds;
  /** Bodies of each tenant, oldest first. */
  readonly #tenants = new Map<string, Set<HeldBody>>();
  #usedBytes = 0;

  constructor(bounds: BodyMemoryBounds) {
    this.#bounds = bounds;
  }

  /** Bytes received by all bodies that are held. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** A body that has no bytes yet; the caller must close it. */
  open(tenant: string, expectedBytes: number | null, nowMs: number): HeldBody {
    const body = new HeldBody(tenant, expectedBytes, nowMs);
    const bodies = this.#tenants.get(tenant);
    if (bodies === undefined) this.#tenants.set(tenant, new Set([body]));
    else bodies.add(body);
    return body;
  }

  /** Counts bytes that have come. False: there is no memory for them, and the body waits for it. */
  take(body: HeldBody, bytes: number, nowMs: number): boolean {
    if (this.#mayGrow(body, bytes, nowMs)) {
      this.#grow(body, bytes, nowMs);
      return true;
    }
    body.waits = { bytes, sinceMs: nowMs };
    return false;
  }

  /** The body is complete. */
  complete(body: HeldBody): void {
    body.whole = true;
  }

  /** True when the body has been opened and not closed. */
  holds(body: HeldBody): boolean {
    return this.#tenants.get(body.tenant)?.has(body) ?? false;
  }

  /** Frees all memory of the body. */
  close(body: HeldBody): void {
    const bodies = this.#tenants.get(body.tenant);
    if (bodies?.delete(body) !== true) return;
    if (bodies.size === 0) this.#tenants.delete(body.tenant);
    this.#usedBytes -= body.receivedBytes;
    body.waits = null;
  }

  /** The next waiting body that may continue; the bytes that it waited for are counted. Null: none may continue. */
  next(nowMs: number): HeldBody | null {
    for (const bodies of this.#tenants.values()) {
      const first = firstOf(bodies, ({ waits }) => waits !== null);
      if (first?.waits == null) continue;
      if (nowMs - first.waits.sinceMs >= OTHERS_MAX_MS) first.beyondWhole = true;
      if (!this.#mayGrow(first, first.waits.bytes, nowMs)) continue;
      const { bytes } = first.waits;
      first.waits = null;
      // It was delayed here, not by its client.
      first.comingUntilMs = nowMs + PACE_MS;
      this.#grow(first, bytes, nowMs);
      return first;
    }
    return null;
  }

  #grow(body: HeldBody, bytes: number, nowMs: number): void {
    body.receivedBytes += bytes;
    this.#usedBytes += bytes;
    body.paceBytes += bytes;
    const tookMs = nowMs - body.paceSinceMs;
    if (body.paceBytes < PACE_BYTES && tookMs <= PACE_MS) return;
    if (tookMs <= PACE_MS) body.comingUntilMs = nowMs + PACE_MS;
    body.paceBytes = 0;
    body.paceSinceMs = nowMs;
  }

  #mayGrow(body: HeldBody, bytes: number, nowMs: number): boolean {
    const { totalBytes, tenantBytes } = this.#bounds;
    const alone = this.#usedBytes === body.receivedBytes;
    if (!alone && !body.beyondWhole && this.#usedBytes + bytes > totalBytes) return false;
    let usedBytes = bytes;
    let older = true;
    let othersWait = true;
    for (const other of this.#tenants.get(body.tenant) ?? []) {
      usedBytes += other.receivedBytes;
      if (other === body) older = false;
      else if (other.waits === null) {
        othersWait = false;
        if (older && nowMs < other.comingUntilMs) usedBytes += restOf(other);
      } else if (older) return false;
    }
    return othersWait || usedBytes <= tenantBytes;
  }
}

/** How many bytes are still to come; for a body without a stated length, as many again as have come. */
function restOf({ whole, expectedBytes, receivedBytes }: HeldBody): number {
  if (whole) return 0;
  return Math.max(0, (expectedBytes ?? 2 * receivedBytes) - receivedBytes);
}

function firstOf<T>(items: Iterable<T>, holds: (item: T) => boolean): T | null {
  for (const item of items) if (holds(item)) return item;
  return null;
}
