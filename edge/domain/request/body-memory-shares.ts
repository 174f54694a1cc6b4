/**
 * Decides which of the request bodies that an isolate holds may grow, and which wait (docs/rules/request-bodies.md#memory).
 * Received bytes count. Two limits apply: the share of a tenant, and the total of all tenants.
 *
 * If bodies of one tenant arrived together, their first parts could fill the share, and none would ever be complete. So a body
 * leaves room for the rest of every older body of its tenant that is still arriving. If all other bodies of its tenant wait,
 * the oldest one continues beyond the share, because no other body would free memory: with its values it then takes only the
 * rest of the share. If a body of a tenant has waited long enough for other tenants, the tenant continues beyond the total.
 *
 * Invariants: waiting bodies of a tenant continue oldest first, and none is refused. A tenant has at most its share and the rest
 * of one body. Bodies that may not exceed the total have together no more than it, or no other body has any bytes. So the total
 * is exceeded only by what a tenant may have, for each tenant with a body that may exceed it.
 */

export interface BodyMemoryBounds {
  readonly totalBytes: number;
  readonly tenantBytes: number;
  /** A tenant's share is at most what it leaves free: bodies stay there for hours. */
  readonly leavesFree?: boolean;
}

/** A body is arriving while at least this many bytes of it come within this many ms. */
const PACE_BYTES = 64 * 1024;
export const PACE_MS = 1000;
/** A body waits at most this long for other tenants in all, ms. Waiting for its own tenant's share does not count. */
export const OTHERS_MAX_MS = 30_000;

/** Memory for bytes that a body has received, or for its values (docs/rules/request-bodies.md#memory). */
interface WantedMemory {
  readonly bytes: number;
  readonly isForValues: boolean;
}

/** A body that is held; only {@link BodyMemoryShares} changes its fields. */
export class HeldBody {
  readonly tenant: string;
  /** Its length, if the client states it. */
  readonly expectedBytes: number | null;
  /** With its values. */
  receivedBytes = 0;
  /** What of that is for its values. */
  valuesBytes = 0;
  isComplete = false;
  /**
   * What it waits for, and since when only other tenants keep it or the oldest waiting body of its tenant waiting (null: it
   * waits for its own tenant's share). Null: it does not wait.
   */
  waiting: (WantedMemory & { readonly othersSinceMs: number | null }) | null = null;
  /** How long it waited for other tenants before, ms. */
  othersWaitMs = 0;
  /** It has waited for other tenants as long as a body may, so the total no longer holds it back. */
  mayExceedTotal = false;
  /** It counts as arriving until this time, epoch ms. */
  arrivingUntilMs: number;
  paceBytes = 0;
  paceStartMs: number;

  constructor(tenant: string, expectedBytes: number | null, nowMs: number) {
    this.tenant = tenant;
    this.expectedBytes = expectedBytes;
    this.paceStartMs = nowMs;
    this.arrivingUntilMs = nowMs + PACE_MS;
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

  /** Counts received bytes, or bytes of values. False: there is no memory for them, and the body waits. */
  take(body: HeldBody, bytes: number, nowMs: number, isForValues = false): boolean {
    const wanted = { bytes, isForValues };
    const granted = this.#shareFor(body, wanted, nowMs);
    if (granted !== null && this.#fitsTotal(body, granted)) {
      this.#grow(body, { bytes: granted, isForValues }, nowMs);
      return true;
    }
    body.waiting = { ...wanted, othersSinceMs: granted === null ? null : nowMs };
    return false;
  }

  /** Notes that nothing more of the body will come. */
  complete(body: HeldBody): void {
    body.isComplete = true;
  }

  /** True when the body has been opened and not closed. */
  holds(body: HeldBody): boolean {
    return this.#tenants.get(body.tenant)?.has(body) ?? false;
  }

  /** Frees the memory of the body's values, except for so many bytes. */
  keepValues(body: HeldBody, bytes: number): void {
    const freedBytes = body.valuesBytes - bytes;
    if (freedBytes <= 0 || !this.holds(body)) return;
    this.#usedBytes -= freedBytes;
    body.receivedBytes -= freedBytes;
    body.valuesBytes = bytes;
  }

  /** Frees all memory of the body. */
  close(body: HeldBody): void {
    const bodies = this.#tenants.get(body.tenant);
    if (bodies?.delete(body) !== true) return;
    if (bodies.size === 0) this.#tenants.delete(body.tenant);
    this.#usedBytes -= body.receivedBytes;
    body.waiting = null;
  }

  /** Lets a waiting body continue, and counts the bytes that it waited for. Null: none may continue. */
  resumeNext(nowMs: number): HeldBody | null {
    for (const bodies of this.#tenants.values()) {
      const queue = [...bodies].filter(({ waiting }) => waiting !== null);
      const [first] = queue;
      if (first?.waiting == null) continue;
      const { isForValues } = first.waiting;
      const granted = this.#shareFor(first, first.waiting, nowMs);
      if (granted === null) {
        for (const body of queue) endWaitForOthers(body, nowMs);
        continue;
      }
      for (const body of queue) if (hasWaitedLong(body, nowMs)) first.mayExceedTotal = true;
      if (!this.#fitsTotal(first, granted)) continue;
      endWaitForOthers(first, nowMs);
      first.waiting = null;
      // The gateway held it up, not its client.
      first.arrivingUntilMs = nowMs + PACE_MS;
      this.#grow(first, { bytes: granted, isForValues }, nowMs);
      return first;
    }
    return null;
  }

  #grow(body: HeldBody, { bytes, isForValues }: WantedMemory, nowMs: number): void {
    body.receivedBytes += bytes;
    if (isForValues) body.valuesBytes += bytes;
    this.#usedBytes += bytes;
    body.paceBytes += bytes;
    const tookMs = nowMs - body.paceStartMs;
    if (body.paceBytes < PACE_BYTES && tookMs <= PACE_MS) return;
    if (tookMs <= PACE_MS) body.arrivingUntilMs = nowMs + PACE_MS;
    body.paceBytes = 0;
    body.paceStartMs = nowMs;
  }

  #fitsTotal(body: HeldBody, bytes: number): boolean {
    const isAlone = this.#usedBytes === body.receivedBytes;
    return isAlone || body.mayExceedTotal || this.#usedBytes + bytes <= this.#bounds.totalBytes;
  }

  /** How much of its request the body may have under the rules of its tenant; null: it waits. */
  #shareFor(body: HeldBody, { bytes, isForValues }: WantedMemory, nowMs: number): number | null {
    let excessBytes = bytes - this.#tenantBytes(body.tenant);
    let isOlder = true;
    let othersWait = true;
    for (const other of this.#tenants.get(body.tenant) ?? []) {
      excessBytes += other.receivedBytes;
      if (other === body) isOlder = false;
      else if (other.waiting === null) {
        othersWait = false;
        if (isOlder && nowMs < other.arrivingUntilMs) excessBytes += restOf(other);
      } else if (isOlder) return null;
    }
    if (excessBytes <= 0) return bytes;
    if (!othersWait) return null;
    return isForValues ? Math.max(0, bytes - excessBytes) : bytes;
  }

  #tenantBytes(tenant: string): number {
    const { totalBytes, tenantBytes, leavesFree = false } = this.#bounds;
    if (!leavesFree) return tenantBytes;
    let restBytes = totalBytes - this.#usedBytes;
    for (const { receivedBytes } of this.#tenants.get(tenant) ?? []) restBytes += receivedBytes;
    return Math.min(tenantBytes, Math.max(0, Math.floor(restBytes / 2)));
  }
}

/** Whether other tenants have kept a waiting body as long as they may; it keeps waiting for them. */
function hasWaitedLong(body: HeldBody, nowMs: number): boolean {
  if (body.waiting === null) return false;
  const othersSinceMs = body.waiting.othersSinceMs ?? nowMs;
  body.waiting = { ...body.waiting, othersSinceMs };
  return body.othersWaitMs + nowMs - othersSinceMs >= OTHERS_MAX_MS;
}

/** Adds a body's present wait for other tenants, if any, to its earlier ones. */
function endWaitForOthers(body: HeldBody, nowMs: number): void {
  if (body.waiting === null || body.waiting.othersSinceMs === null) return;
  body.othersWaitMs += nowMs - body.waiting.othersSinceMs;
  body.waiting = { ...body.waiting, othersSinceMs: null };
}

/** How many bytes are still to come; for a body without a stated length, as many again as have come. */
function restOf({ isComplete, expectedBytes, receivedBytes }: HeldBody): number {
  if (isComplete) return 0;
  return Math.max(0, (expectedBytes ?? 2 * receivedBytes) - receivedBytes);
}
