/**
 * Raises an alert when the provisioner is enabled and has had no successful tick for some time, and another when one
 * succeeds again (docs/rules/managed-models.md#held-provisioner). What it knows is in the database, so that the alert is
 * the same whichever replica watches, and after a restart.
 */
import { issues } from "../../../shared/alerts.ts";
import type { Transaction } from "../../db/connect.ts";
import { provisionerState } from "../../db/schema/managed-models.ts";
import { raiseInTransaction } from "../../kernel/alert-outbox.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { jobschedSetting } from "../../kernel/settings/definitions.ts";
import { readSetting } from "../../kernel/settings/setting.ts";

/** A tick says only in the next one how it ended; a service that has just started has not heard of any yet. */
const FIRST_WORD_MS = 120_000;
/** The alert sink counts repeats and holds them back; raising it each minute shows that it still stands. */
const AGAIN_MS = 60_000;
const SILENT_MS = 60_000;

type ProvisionerState = typeof provisionerState.$inferSelect;

export class ProvisionerWatch {
  readonly #ctx: VerbContext;
  readonly #heldAfterMs: number;
  readonly #startedMs: number;
  #raisedAtMs = 0;

  /** Raises the alert after this time without a successful tick, in milliseconds. */
  constructor(ctx: VerbContext, heldAfterMs: number) {
    this.#ctx = ctx;
    this.#heldAfterMs = heldAfterMs;
    this.#startedMs = ctx.now().getTime();
  }

  /** Looks once. Rejects when the database does not answer. */
  async run(): Promise<void> {
    const { enabled } = (await readSetting(this.#ctx, jobschedSetting)).value;
    await this.#ctx.db.transaction(async (tx) => await this.#look(tx, enabled, this.#ctx.now()));
  }

  async #look(tx: Transaction, enabled: boolean, now: Date): Promise<void> {
    const [known] = await tx.select().from(provisionerState).for("update");
    if (!enabled) {
      if (known?.enabled_since != null || known?.held_since != null)
        await tx.update(provisionerState).set({ enabled_since: null, held_since: null });
      return;
    }
    if (known?.enabled_since == null) {
      const since = { enabled_since: now };
      await tx
        .insert(provisionerState)
        .values(since)
        .onConflictDoUpdate({ target: provisionerState.singleton, set: since });
      return;
    }
    const { held_since: heldSince, last_ok_at: lastOk } = known;
    if (heldSince !== null && lastOk !== null && lastOk > heldSince) {
      await tx.update(provisionerState).set({ held_since: null });
      await raiseInTransaction(tx, issues.slurmReconcileRecovered(), now);
      return;
    }
    const nowMs = now.getTime();
    const firstWordMs = Math.min(FIRST_WORD_MS, this.#heldAfterMs);
    if (withoutSuccessMs(known, nowMs) < this.#heldAfterMs || nowMs - this.#startedMs < firstWordMs) return;
    if (heldSince !== null && nowMs - this.#raisedAtMs < AGAIN_MS) return;
    if (heldSince === null) await tx.update(provisionerState).set({ held_since: now });
    await raiseInTransaction(tx, issues.slurmReconcileHeld(...heldFor(known, nowMs)), now);
    this.#raisedAtMs = nowMs;
  }
}

/** For how many whole minutes no tick has succeeded, and why. */
export function heldFor(state: ProvisionerState, nowMs: number): readonly [minutes: number, reason: string] {
  return [Math.floor(withoutSuccessMs(state, nowMs) / 60_000), reasonOf(state, nowMs)];
}

function withoutSuccessMs({ last_ok_at, enabled_since }: ProvisionerState, nowMs: number): number {
  return nowMs - Math.max(last_ok_at?.getTime() ?? 0, enabled_since?.getTime() ?? 0);
}

/** Why no tick succeeds, in words of our own where the provisioner has said nothing. */
function reasonOf({ last_tick_at, last_outcome, last_error }: ProvisionerState, nowMs: number): string {
  if (last_tick_at === null || nowMs - last_tick_at.getTime() > SILENT_MS) return "the provisioner is not running";
  if (last_outcome === "idle") return "the job scheduler settings are incomplete";
  return last_error ?? "unknown";
}
