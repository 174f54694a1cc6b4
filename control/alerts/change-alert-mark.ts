/** Acknowledges and mutes issues (docs/rules/alerts.md#acknowledged-and-muted). */
import { eq } from "drizzle-orm";
import { type AlertMark, changeAlertMarkSchema } from "../../shared/schema/alert-log.ts";
import { changedFields } from "../kernel/changed-fields.ts";
import type { VerbContext, Written } from "../kernel/context.ts";
import { fieldError, parse } from "../kernel/parse.ts";
import { write } from "../kernel/write.ts";
import { lockAlerts } from "./alert-issues.ts";
import { alertMarkOf } from "./alert-marks.ts";
import { foundAlert } from "./read-alert.ts";
import { alertIssues, alertMarks } from "./tables.ts";

/** The mark after the change. Throws 400, also for an acknowledgement of an issue that does not fire; 404, 503. */
export async function changeAlertMark(ctx: VerbContext, key: string, input: unknown): Promise<Written<AlertMark>> {
  const body = parse(changeAlertMarkSchema, input);
  return await write(ctx, async (tx, journal) => {
    await lockAlerts(tx);
    const { mark: before, firing } = await foundAlert({ ...ctx, db: tx }, key);
    const since = firing?.since ?? null;
    ctx.checkRecord?.(before);
    const nowMs = ctx.now().getTime();
    const acknowledged = body.acknowledged === undefined ? before.acknowledged : body.acknowledged === true;
    const muted = body.muted_until === undefined ? before.muted_until : body.muted_until;
    if (acknowledged && since === null)
      throw fieldError("acknowledged", "must not be true: this alert is not active; set muted_until to silence it");
    if (body.muted_until != null && Date.parse(body.muted_until) <= nowMs)
      throw fieldError("muted_until", "must be in the future; null ends a mute");
    const isNews = acknowledged && !before.acknowledged;
    const change = {
      ...(isNews ? { acknowledged_at_ms: nowMs, acknowledged_by: ctx.actor } : {}),
      ...(acknowledged ? {} : { acknowledged_at_ms: null, acknowledged_by: null }),
      ...(muted === before.muted_until ? {} : mutedUntil(muted, ctx.actor)),
      rev: journal.rev,
    };
    const [row] = await tx
      .insert(alertMarks)
      .values({ issue_key: key, ...change })
      .onConflictDoUpdate({ target: alertMarks.issue_key, set: change })
      .returning();
    if (isNews) await tx.update(alertIssues).set({ waiting: 0 }).where(eq(alertIssues.issue_key, key));
    const after = alertMarkOf(key, row, since, nowMs);
    journal.audit({
      action: "mark_alert",
      entityType: "gateway",
      entityId: key,
      detail: changedFields(before, { acknowledged: after.acknowledged, muted_until: after.muted_until }),
    });
    return after;
  });
}

const mutedUntil = (until: string | null, actor: string) =>
  until === null ? { muted_until_ms: null, muted_by: null } : { muted_until_ms: Date.parse(until), muted_by: actor };
