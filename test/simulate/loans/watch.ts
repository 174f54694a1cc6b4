/**
 * What has to hold after every event of a simulation of loans, besides what every grant is held against, and what has to be
 * even at its end.
 */
import { isNothing } from "../../../edge/domain/budget/amounts.ts";
import { LOAN_MARGIN_MS, LOAN_MS } from "../../../edge/domain/loan/messages.ts";
import type { World } from "./world.ts";

/**
 * How long lent slots may stay where somebody waits for them when their isolate does not answer: until the loan has ended
 * that its next message, if one was about to leave, still renews; besides the longest trip of that message.
 */
const BACK_WITHIN_MS = LOAN_MS + LOAN_MARGIN_MS + 160;
/** The same in an orderly world: a recall, an answer, and the longest turn of an isolate. */
const BACK_SOON_MS = 225;

export class Watch {
  readonly wrong: string[] = [];
  /** The longest that lent slots were in somebody's way. */
  inTheWayMs = 0;
  directTwice = 0;
  readonly #orderly: boolean;
  #sinceMs: number | null = null;
  #held = 0;

  constructor(orderly: boolean) {
    this.#orderly = orderly;
  }

  look({ life: { scheduler }, time: { nowMs }, wire }: World): void {
    if (!scheduler.lentInTheWay()) this.#sinceMs = null;
    else {
      this.#sinceMs ??= nowMs;
      const forMs = nowMs - this.#sinceMs;
      this.inTheWayMs = Math.max(this.inTheWayMs, forMs);
      if (forMs > (this.#orderly && wire.longestMs === 0 ? BACK_SOON_MS : BACK_WITHIN_MS + wire.longestMs))
        this.#breaks(`law 5: lent slots in the way for ${forMs} ms`);
    }
    const held = scheduler.inFlight + scheduler.lent;
    if (this.#orderly && wire.longestMs === 0 && held > scheduler.maxInFlight && held > this.#held)
      this.#breaks(`law 1: ${held} slots of ${scheduler.maxInFlight} after ${this.#held}`);
    this.#held = held;
  }

  /** Everybody has finished, and nothing is lost any more. */
  atLast(world: World): void {
    for (const id of world.asked.keys()) {
      const rows = world.rows.get(id)?.length ?? 0;
      // A word that its sender gave up on, and that the Cell hears after the ledger has the row: so it is with a permit's.
      if (rows === 2 && world.direct.has(id)) this.directTwice += 1;
      else if (rows !== 1 && (rows !== 0 || !world.died.has(id))) this.#breaks(`law 3: ${id} has ${rows} rows`);
    }
    const { scheduler, desk } = world.life;
    const { lent, inFlight, queued } = scheduler;
    if (lent + inFlight + queued + desk.seated > 0)
      this.#breaks(`law 5: ${lent} lent, ${inFlight} in flight, ${queued} wait, ${desk.seated} have seats`);
    for (const [at, tenant] of world.tenants.entries()) {
      if (tenant.tokensPerMinute === 0 && tenant.termTokens === null) continue;
      const core = world.budgets.core(`t${at}`);
      if (core.awaitsLedger(world.time.nowMs).length > 0) core.ledgerSettled();
      const { reserved, account } = core.read("tenant", world.limits(at), world.time.nowMs);
      if (!isNothing(reserved)) this.#breaks(`law 4: ${JSON.stringify(reserved)} of t${at} are out`);
      const used = world.truth.used(`t${at}`);
      if (this.#orderly && account.usedTokens !== used)
        this.#breaks(`law 4: t${at} used ${used}, not ${account.usedTokens}`);
    }
  }

  #breaks(what: string): void {
    this.wrong.push(what);
  }
}
