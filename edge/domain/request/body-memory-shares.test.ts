/** @module-tag check */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { propertyRuns } from "../../../test/harness/property-runs.ts";
import { BodyMemoryShares, type HeldBody, OTHERS_MAX_MS, PACE_MS } from "./body-memory-shares.ts";

const KIB = 1024;
const PIECE = 64 * KIB;
const BOUNDS = { totalBytes: 20 * PIECE, tenantBytes: 10 * PIECE };
const LARGEST = 8 * PIECE;

/** Takes pieces until the body waits; returns how many. */
function fill(shares: BodyMemoryShares, body: HeldBody, pieces: number, nowMs = 0): number {
  for (let taken = 0; taken < pieces; taken += 1) if (!shares.take(body, PIECE, nowMs)) return taken;
  return pieces;
}

describe("room for bodies", () => {
  it("is what has been received, whatever is declared, and is returned", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const bodies = Array.from({ length: 5 }, () => shares.open("a", BOUNDS.totalBytes, 0));
    for (const body of bodies) expect(shares.take(body, 200, 10 * PACE_MS)).toBe(true);
    expect(shares.usedBytes).toBe(1000);
    for (const body of [...bodies, ...bodies]) shares.close(body);
    expect(shares.usedBytes).toBe(0);
  });

  it("of one tenant ends with its share: another finds its own", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const first = shares.open("a", 10 * PIECE, 0);
    expect(fill(shares, first, 10)).toBe(10);
    shares.complete(first);
    expect(fill(shares, shares.open("a", LARGEST, 0), 1)).toBe(0);
    expect(fill(shares, shares.open("b", LARGEST, 0), 8)).toBe(8);
  });

  it("is left by each tenant for others, where shares are what a tenant leaves free", () => {
    const shares = new BodyMemoryShares({ ...BOUNDS, leavesFree: true });
    const taken = ["a", "b", "c"].map((tenant) => {
      const first = shares.open(tenant, null, 0);
      shares.take(first, PIECE, 0);
      return 1 + fill(shares, shares.open(tenant, null, 2 * PACE_MS), 20, 2 * PACE_MS);
    });
    expect(taken).toEqual([10, 5, 2]);
    expect(shares.take(shares.open("d", null, 0), PIECE, 0)).toBe(true);
  });

  it("is left for the rest of an older body only while that arrives fast enough", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const [older, younger] = [shares.open("a", LARGEST, 0), shares.open("a", LARGEST, 0)];
    fill(shares, older, 2);
    expect(fill(shares, younger, 8)).toBe(2);
    expect(shares.resumeNext(PACE_MS - 1)).toBeNull();
    expect(shares.resumeNext(PACE_MS)).toBe(younger);
    expect(fill(shares, younger, 5, PACE_MS)).toBe(5);
    // the older body retries: the memory that it needs has been taken meanwhile, so it waits for it
    const nowMs = 3 * PACE_MS;
    expect(fill(shares, older, 6, nowMs)).toBe(0);
    shares.complete(younger);
    expect(shares.resumeNext(nowMs)).toBeNull();
    shares.close(younger);
    expect(shares.resumeNext(nowMs)).toBe(older);
  });

  it("exceeds a share only for a tenant's oldest body, when all bodies of the tenant wait", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    // none of them is arriving when the next one takes its part
    const bodies = [0, 1, 2].map((at) => {
      const nowMs = at * 2 * PACE_MS;
      const body = shares.open("a", LARGEST, nowMs);
      fill(shares, body, 3, nowMs);
      return body;
    });
    const nowMs = 10 * PACE_MS;
    const [oldest, middle, youngest] = bodies as [HeldBody, HeldBody, HeldBody];
    expect(shares.take(youngest, 2 * PIECE, nowMs)).toBe(false);
    expect(shares.take(middle, 2 * PIECE, nowMs)).toBe(false);
    expect(shares.take(oldest, 5 * PIECE, nowMs)).toBe(true);
    expect(shares.resumeNext(nowMs)).toBeNull();
    shares.complete(oldest);
    expect(shares.resumeNext(nowMs + OTHERS_MAX_MS / 2)).toBeNull();
    shares.close(oldest);
    expect({ first: shares.resumeNext(nowMs), second: shares.resumeNext(nowMs) }).toEqual({
      first: middle,
      second: null,
    });
    shares.close(middle);
    expect(shares.resumeNext(nowMs)).toBe(youngest);
  });

  it("is not waited for forever when other tenants have all of it", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    for (const tenant of ["a", "b"]) {
      const body = shares.open(tenant, 10 * PIECE, 0);
      fill(shares, body, 10);
      shares.complete(body);
    }
    const late = shares.open("c", LARGEST, 0);
    expect(fill(shares, late, 1)).toBe(0);
    expect(shares.resumeNext(OTHERS_MAX_MS - 1)).toBeNull();
    expect(shares.resumeNext(OTHERS_MAX_MS)).toBe(late);
    // all the rest of it
    expect(fill(shares, late, 7, OTHERS_MAX_MS)).toBe(7);
  });

  /** Bodies of these tenants that are complete and fill their share. */
  function filled(shares: BodyMemoryShares, ...tenants: readonly string[]): readonly HeldBody[] {
    return tenants.map((tenant) => {
      const body = shares.open(tenant, 10 * PIECE, 0);
      fill(shares, body, 10);
      shares.complete(body);
      return body;
    });
  }

  it("is not exceeded by a body that waited long for its own tenant only", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const [own] = filled(shares, "a", "b") as [HeldBody];
    const late = shares.open("a", LARGEST, 0);
    expect(fill(shares, late, 1)).toBe(0);
    expect(shares.resumeNext(2 * OTHERS_MAX_MS)).toBeNull();
    shares.close(own);
    filled(shares, "c");
    expect(shares.resumeNext(2 * OTHERS_MAX_MS)).toBeNull();
    expect(shares.resumeNext(3 * OTHERS_MAX_MS - 1)).toBeNull();
    expect(shares.resumeNext(3 * OTHERS_MAX_MS)).toBe(late);
  });

  it("is exceeded when the waits of a body for other tenants add up to 30 s", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const [first] = filled(shares, "a", "b") as [HeldBody];
    const late = shares.open("c", LARGEST, 0);
    expect(fill(shares, late, 1)).toBe(0);
    shares.close(first);
    const untilMs = OTHERS_MAX_MS / 2;
    expect(shares.resumeNext(untilMs)).toBe(late);
    fill(shares, shares.open("d", LARGEST, untilMs), 8, untilMs);
    fill(shares, shares.open("e", LARGEST, untilMs), 1, untilMs);
    expect(fill(shares, late, 1, 10 * OTHERS_MAX_MS)).toBe(0);
    expect(shares.resumeNext(10 * OTHERS_MAX_MS + untilMs - 1)).toBeNull();
    expect(shares.resumeNext(10 * OTHERS_MAX_MS + untilMs)).toBe(late);
  });

  it("for values is what the tenant's other bodies leave of its share, also when they all wait", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const heavy = shares.open("a", PIECE, 0);
    fill(shares, heavy, 1);
    shares.complete(heavy);
    const large = shares.open("a", 10 * PIECE, 0);
    expect(fill(shares, large, 10)).toBe(9);
    expect(shares.take(heavy, 9 * PIECE, 0, true)).toBe(true);
    expect(shares.usedBytes).toBe(BOUNDS.tenantBytes);
  });

  it("for values comes back before that for bytes, once", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const heavy = shares.open("a", PIECE, 0);
    fill(shares, heavy, 1);
    shares.take(heavy, 9 * PIECE, 0, true);
    const used = [0, 1].map(() => {
      shares.keepValues(heavy, 0);
      return shares.usedBytes;
    });
    shares.close(heavy);
    shares.keepValues(heavy, 0);
    expect([...used, shares.usedBytes]).toEqual([PIECE, PIECE, 0]);
  });

  it("is waited for together by the bodies of a tenant that other tenants hold up", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    filled(shares, "a", "b");
    const [older, younger, youngest] = [0, 1, 2].map((at) => shares.open("c", PIECE, at)) as [
      HeldBody,
      HeldBody,
      HeldBody,
    ];
    expect(fill(shares, younger, 1)).toBe(0);
    expect(fill(shares, youngest, 1)).toBe(0);
    expect(shares.resumeNext(0)).toBeNull();
    const untilMs = OTHERS_MAX_MS / 2;
    // an older waiting body takes nothing of their time
    expect(fill(shares, older, 1, untilMs)).toBe(0);
    expect(shares.resumeNext(OTHERS_MAX_MS - 1)).toBeNull();
    const order = [0, 1, 2, 3].map(() => shares.resumeNext(OTHERS_MAX_MS));
    expect(order.map((body) => body && [older, younger, youngest].indexOf(body))).toEqual([0, 1, 2, null]);
  });

  it("is granted to a body larger than all of it, when no other body has any", () => {
    const shares = new BodyMemoryShares(BOUNDS);
    const body = shares.open("a", 30 * PIECE, 0);
    expect(fill(shares, body, 30)).toBe(30);
    expect(fill(shares, shares.open("b", PIECE, 0), 1)).toBe(0);
  });
});

interface Sender {
  readonly tenant: string;
  readonly bytes: number;
  readonly declares: boolean;
  /** Memory of its values beyond its bytes. */
  readonly valuesBytes: number;
  /** Piece by piece, how long the sender pauses before it, ms. */
  readonly pauses: readonly number[];
  /** How long the body is held once it is complete, ms. */
  readonly heldMs: number;
}

/** A sender that is silent for this long is cut off. */
const GIVEN_UP_MS = 30_000;

const sender: fc.Arbitrary<Sender> = fc.record({
  tenant: fc.constantFrom("a", "b", "c"),
  bytes: fc.integer({ min: 1, max: LARGEST }),
  declares: fc.boolean(),
  valuesBytes: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(LARGEST)),
  // many at a pace, some that stop and continue, and some that fall silent until they are given up
  pauses: fc.array(fc.oneof({ weight: 6, arbitrary: fc.nat(20) }, fc.nat(5000), fc.constant(GIVEN_UP_MS)), {
    minLength: 8,
    maxLength: 8,
  }),
  heldMs: fc.nat(3000),
});

const STEP_MS = 50;
/** A wait that starts or ends between two steps may be measured as one step more; a body has few waits. */
const MEASURED_MS = 20 * STEP_MS;
const END_MS = 1_000_000;

/** Plays senders against the memory, in steps of time; `onStep` sees each. */
function play(
  senders: readonly Sender[],
  onStep: (shares: BodyMemoryShares, bodies: readonly HeldBody[]) => void,
): void {
  const shares = new BodyMemoryShares(BOUNDS);
  const bodies = senders.map(({ tenant, bytes, declares }) => shares.open(tenant, declares ? bytes : null, 0));
  const plays = senders.map((one) => ({
    ...one,
    sent: 0,
    values: one.valuesBytes,
    piece: 0,
    dueMs: one.pauses[0] ?? 0,
    closeMs: Number.NaN,
  }));
  for (let nowMs = 0; plays.some(({ closeMs }) => closeMs !== -1); nowMs += STEP_MS) {
    if (nowMs > END_MS) throw new Error("somebody waits for ever");
    for (let body = shares.resumeNext(nowMs); body !== null; body = shares.resumeNext(nowMs));
    for (const [at, one] of plays.entries()) {
      const body = bodies[at] as HeldBody;
      if (one.closeMs === -1 || body.waiting !== null) continue;
      if (nowMs >= one.closeMs || (one.pauses[one.piece] === GIVEN_UP_MS && nowMs >= one.dueMs)) {
        shares.close(body);
        one.closeMs = -1;
      } else if (one.sent === one.bytes && one.values > 0) {
        shares.complete(body);
        shares.take(body, one.values, nowMs, true);
        one.values = 0;
      } else if (one.sent === one.bytes && Number.isNaN(one.closeMs)) {
        shares.complete(body);
        if (one.declares) shares.keepValues(body, 0);
        one.closeMs = nowMs + one.heldMs;
      } else if (nowMs >= one.dueMs && one.sent < one.bytes) {
        const bytes = Math.min(PIECE, one.bytes - one.sent);
        one.sent += bytes;
        one.piece += 1;
        one.dueMs = nowMs + (one.pauses[one.piece] ?? 0);
        shares.take(body, bytes, nowMs);
      }
    }
    onStep(shares, bodies);
  }
  expect(shares.usedBytes).toBe(0);
}

describe("all senders, at any pace", () => {
  it("every body ends, and no tenant has more than its share and one body", () => {
    fc.assert(
      fc.property(fc.array(sender, { minLength: 1, maxLength: 12 }), (senders) => {
        play(senders, (shares, bodies) => {
          for (const tenant of ["a", "b", "c"]) {
            const held = bodies.filter((body) => body.tenant === tenant && shares.holds(body));
            const bytes = held.reduce((sum, body) => sum + body.receivedBytes, 0);
            expect(bytes).toBeLessThanOrEqual(BOUNDS.tenantBytes + LARGEST);
          }
        });
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("the total is exceeded only by what tenants have whose bodies waited long enough", () => {
    // Some bodies are held so long that others may exceed the total.
    const holding = fc
      .tuple(sender, fc.oneof(fc.nat(3000), fc.nat(2 * OTHERS_MAX_MS + 10_000)))
      .map(([one, heldMs]): Sender => ({ ...one, heldMs }));
    fc.assert(
      fc.property(fc.array(holding, { minLength: 6, maxLength: 12 }), (senders) => {
        let [mostWithinBytes, mostBeyondBytes] = [0, 0];
        const waitedMs = senders.map(() => 0);
        play(senders, (shares, bodies) => {
          for (const [at, { tenant, waiting }] of bodies.entries()) {
            // anything that holds up the oldest waiting body holds up all
            const oldest = bodies.find((body) => body.tenant === tenant && body.waiting !== null);
            if (waiting !== null && typeof oldest?.waiting?.othersSinceMs === "number")
              waitedMs[at] = (waitedMs[at] ?? 0) + STEP_MS;
          }
          const tenants = new Set<string>();
          let withinBytes = 0;
          for (const body of bodies) {
            if (body.mayExceedTotal && shares.holds(body)) tenants.add(body.tenant);
            else if (shares.holds(body)) withinBytes += body.receivedBytes;
          }
          const mostBytes = BOUNDS.totalBytes + tenants.size * (BOUNDS.tenantBytes + LARGEST);
          mostWithinBytes = Math.max(mostWithinBytes, withinBytes);
          mostBeyondBytes = Math.max(mostBeyondBytes, shares.usedBytes - mostBytes);
        });
        expect(mostWithinBytes).toBeLessThanOrEqual(BOUNDS.totalBytes);
        expect(mostBeyondBytes).toBe(0);
        expect(Math.max(...waitedMs)).toBeLessThanOrEqual(OTHERS_MAX_MS + MEASURED_MS);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it("a tenant whose bodies all fit its share never waits while there is room for all", () => {
    fc.assert(
      fc.property(fc.array(sender, { minLength: 1, maxLength: 10 }), (senders) => {
        const others = senders.map((one) => ({ ...one, tenant: "a" }));
        const own: Sender = { tenant: "b", bytes: LARGEST, declares: true, valuesBytes: 0, pauses: [], heldMs: 100 };
        play([...others, own], (shares, bodies) => {
          if (shares.usedBytes + PIECE <= BOUNDS.totalBytes) expect(bodies.at(-1)?.waiting).toBeNull();
        });
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
