/** One alert: what it means, what to do, and what people have said of it (docs/rules/alerts.md#acknowledged-and-muted). */
import { ALERT_TEXTS } from "../../shared/catalogues/alert-texts.ts";
import { ALERT_TITLES } from "../../shared/catalogues/alerts.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { AlertDetail, AlertMark } from "../../shared/schema/alert-log.ts";
import { isStorable } from "../../shared/schema/common.ts";
import type { VerbContext } from "../kernel/context.ts";
import { withDatabaseErrors } from "../kernel/database-errors.ts";
import { alertOf, runbookOf, severityOf, titleOf } from "./alert-kinds.ts";
import type { Firing } from "./alert-log.ts";
import { alertMarkOf, marksOf } from "./alert-marks.ts";
import { firingIssues } from "./firing.ts";

/** Longer than the name of any model, tenant or server with what is before it. */
const KEY_MAX_CHARACTERS = 1000;

interface FoundAlert {
  readonly mark: AlertMark;
  /** null: it does not fire. */
  readonly firing: Firing | null;
}

/** Throws 404 for a key that no issue has, 503. */
export async function readAlert(ctx: VerbContext, key: string): Promise<AlertDetail> {
  const { mark, firing } = await foundAlert(ctx, key);
  const kind = alertOf(key);
  if (kind === undefined) throw new GatewayError("not_found");
  const { means, action } = ALERT_TEXTS[kind];
  return {
    ...mark,
    kind,
    title: titleOf(key, ALERT_TITLES[kind]),
    severity: severityOf(key),
    firing_since: firing?.since ?? null,
    detail: firing?.detail ?? null,
    means: plain(means),
    action: plain(action),
    runbook: runbookOf(key),
  };
}

/** What was said of an issue, and whether it fires. Throws 404 for a key that no issue has, 503. */
export async function foundAlert(ctx: VerbContext, key: string): Promise<FoundAlert> {
  if (alertOf(key) === undefined || key.length > KEY_MAX_CHARACTERS || !isStorable(key))
    throw new GatewayError("not_found");
  const nowMs = ctx.now().getTime();
  return await withDatabaseErrors(async () => {
    const firing = (await firingIssues(ctx.db, nowMs)).find((each) => each.key === key) ?? null;
    const marks = await marksOf(ctx.db, [key]);
    return { mark: alertMarkOf(key, marks.get(key), firing?.since ?? null, nowMs), firing };
  });
}

/** Markdown of the catalogue as plain text. */
function plain(markdown: string): string {
  return markdown
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/`([^`]+)`/g, "$1")
    .replace(/(?<!\w)_([^_]+)_(?!\w)/g, "$1");
}
