/**
 * Stores what a check found in one transaction: state, history, alert and, when something changed that the data plane
 * sees, the model's hot copy (docs/rules/health.md#states, docs/rules/storage-layouts.md#models-and-mcp-servers). A
 * finding at an upstream that is no longer the configured one is dropped: the change of configuration has made another
 * check due.
 */
import { eq } from "drizzle-orm";
import { issues } from "../../shared/alerts.ts";
import { durationText } from "../../shared/time/duration-text.ts";
import type { Transaction } from "../db/connect.ts";
import { type EndpointRow, modelEndpoints } from "../db/schema/endpoints.ts";
import { type HealthRow, type ModelRow, modelHealth, modelHealthChecks, models } from "../db/schema/models.ts";
import { raiseInTransaction } from "../kernel/alert-outbox.ts";
import type { VerbContext } from "../kernel/context.ts";
import { write } from "../kernel/write.ts";
import type { WriteJournal } from "../kernel/write-journal.ts";
import { type CheckPlan, type CheckTrigger, findingWithoutProbe } from "./check-plan.ts";
import type { Finding } from "./finding.ts";
import { columnsOf, lastCheckColumns, stateOf, voidsEarlierEvidence } from "./health-columns.ts";
import { type HealthRules, nextHealth } from "./health-state.ts";
import { nextCheckMs } from "./schedule.ts";

interface CheckResult {
  readonly model: Finding;
  /** By id; an endpoint that is missing here was not checked. */
  readonly endpoints: ReadonlyMap<string, Finding>;
}

interface Saving {
  readonly tx: Transaction;
  readonly trigger: CheckTrigger;
  readonly now: Date;
  readonly next: Date;
  readonly rules: HealthRules;
}

/** A change of a status that the data plane sees. */
interface HealthChange {
  readonly model: string;
  /** Null: the model's own status. */
  readonly endpoint: string | null;
  readonly from: string;
  readonly to: string;
}

const NOTHING = { changes: [], raised: false };

/** When one of these columns changes, the model has another upstream. */
const SUBJECT = [
  "api_base",
  "upstream_model",
  "model_type",
  "api_dialect",
  "auth_scheme",
  "api_key",
  "enabled",
] as const;

/** The clocks of two replicas differ by less. */
const CLOCKS_DIFFER_MS = 60_000;

/** What was stored. */
interface SavedCheck {
  readonly changes: readonly HealthChange[];
  /** An alert waits in the outbox. */
  readonly raised: boolean;
  /** Whether the cells have confirmed the changes. */
  readonly sync: "done" | "pending";
}

/** Stores the result of a check. `fraction`: uniform in [0, 1). */
export async function saveCheck(
  ctx: VerbContext,
  plan: CheckPlan,
  result: CheckResult,
  trigger: CheckTrigger,
  fraction: number,
): Promise<SavedCheck> {
  const { record, sync } = await write(ctx, async (tx, journal): Promise<Omit<SavedCheck, "sync">> => {
    const [model] = await tx.select().from(models).where(eq(models.id, plan.model.id)).for("update");
    if (model === undefined) return NOTHING;
    const now = ctx.now();
    const saving: Saving = {
      tx,
      trigger,
      now,
      next: new Date(nextCheckMs(now.getTime(), model.health_check_interval_secs, fraction)),
      rules: {
        failureThreshold: model.health_failure_threshold,
        alertsEnabled: model.health_alerts_enabled,
        inMaintenance: model.health_maintenance_until !== null && model.health_maintenance_until > now,
      },
    };
    if (SUBJECT.some((field) => model[field] !== plan.model[field])) return NOTHING;
    if (isCalledOff({ ...plan, model }, result, trigger, now)) return NOTHING;
    const [before] = await tx.select().from(modelHealth).where(eq(modelHealth.model_id, model.id)).for("update");
    const own = isOvertaken(plan, before?.last_checked_at, now)
      ? await keepModel(saving, model, plan.health, before)
      : await saveModel(saving, model, plan.health, before, result.model);
    const changes = [...own.changes, ...(await saveEndpoints(saving, plan, result.endpoints))];
    if (changes.length > 0) await publish(tx, journal, model);
    return { changes, raised: own.raised };
  });
  return { ...record, sync };
}

/**
 * True when another check ended while this one was running: its result is newer, and two failures at the same time count
 * once. A last check that lies in the future was stored by a clock that was ahead, and is ignored.
 */
function isOvertaken({ at }: CheckPlan, last: Date | null | undefined, now: Date): boolean {
  return last !== null && last !== undefined && last > at && last.getTime() <= now.getTime() + CLOCKS_DIFFER_MS;
}

/**
 * True when probes were made that would not be made now: checks were turned off in the meantime, or maintenance has begun.
 * No later check would correct what was found.
 */
function isCalledOff(plan: CheckPlan, { model }: CheckResult, trigger: CheckTrigger, now: Date): boolean {
  return (
    model.outcome !== "skipped" && model.outcome !== "disabled" && findingWithoutProbe(plan, trigger, now) !== null
  );
}

/** Another check has found the model's health; this one only gives back its claim. */
async function keepModel(
  saving: Saving,
  { id }: ModelRow,
  seen: HealthRow | null,
  before: HealthRow | undefined,
): Promise<Omit<SavedCheck, "sync">> {
  const next_check_at = nextOf(saving, seen?.next_check_at, before?.next_check_at);
  await saving.tx.update(modelHealth).set({ next_check_at }).where(eq(modelHealth.model_id, id));
  return NOTHING;
}

async function saveModel(
  saving: Saving,
  model: ModelRow,
  seen: HealthRow | null,
  before: HealthRow | undefined,
  found: Finding,
): Promise<Omit<SavedCheck, "sync">> {
  const { tx, now, rules } = saving;
  const { state, alert } = nextHealth(stateOf(before, before?.status), found.outcome, rules, now.getTime());
  const fields = {
    ...columnsOf(state),
    ...lastCheckColumns(found, now),
    ...(voidsEarlierEvidence(found.outcome) ? { evidence_from: now } : {}),
    status: state.status,
    next_check_at: nextOf(saving, seen?.next_check_at, before?.next_check_at),
    updated_at: now,
  };
  await tx
    .insert(modelHealth)
    .values({ model_id: model.id, ...fields })
    .onConflictDoUpdate({ target: modelHealth.model_id, set: fields });
  await remember(saving, model.id, null, found);
  const name = model.model_name;
  if (alert === "down") await raiseInTransaction(tx, issues.modelHealthDown(name, state.failures, found.message), now);
  if (alert === "recovery") {
    const since = before?.failing_since?.getTime() ?? now.getTime();
    await raiseInTransaction(tx, issues.modelHealthRecovery(name, durationText(now.getTime() - since)), now);
  }
  return { changes: changesOf(name, null, before?.status ?? "unknown", state.status), raised: alert !== null };
}

async function saveEndpoints(
  saving: Saving,
  plan: CheckPlan,
  found: ReadonlyMap<string, Finding>,
): Promise<readonly HealthChange[]> {
  const { tx, rules, now } = saving;
  const rows = await tx.select().from(modelEndpoints).where(eq(modelEndpoints.model_id, plan.model.id)).for("update");
  const changes: HealthChange[] = [];
  for (const seen of plan.endpoints) {
    const before = rows.find((row) => row.id === seen.id);
    if (before === undefined || isAnother(before, seen)) continue;
    const next = { next_check_at: nextOf(saving, seen.next_check_at, before.next_check_at) };
    const finding = found.get(seen.id);
    if (finding === undefined || isOvertaken(plan, before.last_checked_at, now)) {
      await tx.update(modelEndpoints).set(next).where(eq(modelEndpoints.id, seen.id));
      continue;
    }
    const { state } = nextHealth(stateOf(before, before.health_status), finding.outcome, rules, now.getTime());
    await tx
      .update(modelEndpoints)
      .set({ ...columnsOf(state), ...lastCheckColumns(finding, now), ...next, health_status: state.status })
      .where(eq(modelEndpoints.id, seen.id));
    await remember(saving, plan.model.id, seen.id, finding);
    changes.push(...changesOf(plan.model.model_name, seen.name, before.health_status, state.status));
  }
  return changes;
}

function changesOf(model: string, endpoint: string | null, from: string, to: string): readonly HealthChange[] {
  return from === to ? [] : [{ model, endpoint, from, to }];
}

function isAnother(now: EndpointRow, seen: EndpointRow): boolean {
  return now.api_base !== seen.api_base || now.api_key !== seen.api_key || !now.enabled;
}

/** The time of the next check: a check that was made due in the meantime stays due. */
function nextOf({ next }: Saving, seen: Date | null | undefined, now: Date | null | undefined): Date | null {
  return (seen?.getTime() ?? null) === (now?.getTime() ?? null) ? next : (now ?? null);
}

async function remember(saving: Saving, modelId: string, endpointId: string | null, found: Finding): Promise<void> {
  await saving.tx.insert(modelHealthChecks).values({
    model_id: modelId,
    endpoint_id: endpointId,
    checked_at: saving.now,
    trigger: saving.trigger,
    status: found.outcome,
    latency_ms: found.latencyMs,
    http_status: found.httpStatus,
    message: found.message,
    response_excerpt: found.excerpt,
  });
}

async function publish(tx: Transaction, journal: WriteJournal, model: ModelRow): Promise<void> {
  await tx.update(models).set({ rev: journal.rev }).where(eq(models.id, model.id));
  journal.modelChanged(model.model_name);
}
