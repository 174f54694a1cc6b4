/**
 * What must hold after every event of a simulation of exchanges, besides the checks of each grant, and what must be
 * balanced at its end.
 */
import { isNothing } from "../../../edge/domain/budget/amounts.ts";
import type { World } from "./world.ts";

export class Watch {
  readonly wrong: string[] = [];
  readonly #orderly: boolean;
  #held = 0;

  constructor(orderly: boolean) {
    this.#orderly = orderly;
  }

  look({ life: { scheduler }, wire }: World): void {
    const held = scheduler.inFlight;
    if (this.#orderly && wire.longestMs === 0 && held > scheduler.maxInFlight && held > this.#held)
      this.#breaks(`law 1: ${held} slots of ${scheduler.maxInFlight} after ${this.#held}`);
    this.#held = held;
  }

  /** Checks the end: all requests have finished, and no call is lost any more. */
  atLast(world: World): void {
    for (const id of world.asked.keys()) {
      const written = world.rows.get(id) ?? [];
      const rows = written.length;
      // The sender gave up on a call that arrives at the Cell after the ledger has the row.
      if (rows === 2 && world.direct.has(id)) continue;
      if (rows !== 1 && (rows !== 0 || !world.died.has(id)))
        this.#breaks(
          `law 3: ${id} has ${rows} rows: ${written.map((row) => `${row.status_code} ${row.admission}`).join(", ")}`,
        );
    }
    for (const id of world.truth.served) {
      const [row] = world.rows.get(id) ?? [];
      if (row !== undefined && row.status_code !== 200 && world.livedOn(id))
        this.#breaks(`law 3: ${id} was served, and its row says ${row.status_code}`);
    }
    const { scheduler, admission } = world.life;
    const { inFlight, queued } = scheduler;
    if (inFlight + queued + admission.size > 0)
      this.#breaks(`law 5: ${inFlight} in flight, ${queued} wait, ${admission.size} have entries`);
    for (const [at, tenant] of world.tenants.entries()) {
      if (tenant.tokensPerMinute === 0 && tenant.termTokens === null) continue;
      const core = world.budgets.core(`t${at}`);
      const books = world.books(at);
      const limits = world.limits(at);
      if (core.countersAwaitingLedger(world.time.nowMs).length > 0) {
        const { account } = core.read("tenant", limits, world.time.nowMs);
        core.applyLedgerSum("tenant", limits, account.tag, { tokens: books.written, nanoUsd: 0 }, world.time.nowMs);
        core.ledgerSettled();
      }
      const { reserved, account } = core.read("tenant", limits, world.time.nowMs);
      if (account.usedTokens > books.most || account.usedTokens < books.written)
        this.#breaks(`law 4: t${at} is charged ${account.usedTokens}, not ${books.written} to ${books.most}`);
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
