import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { dayIn } from "../../../shared/time/zone-days.ts";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { budgetLeft } from "../../explain/budget-left.ts";
import { explainAccess } from "../../explain/explain-access.ts";
import { BudgetState, useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { LastFailures } from "../../forms/usage/last-failures.tsx";
import { reportFigures } from "../../forms/usage/report-figures.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, formatInstant, instantOf } from "../../time/instants.ts";
import { resetSentence } from "../../time/next-reset.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useIsLate } from "../../time/use-is-late.ts";
import { usableZone } from "../../time/zones.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount, formatShare, formatUsd } from "../../ui/format.ts";
import { Grid, PageHead, Panel, Stack, Tile } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { Loaded, Notice, ReadFailure } from "../../ui/states.tsx";
import { canCall, keyCounts, modelCounts } from "./can-call.ts";
import { ownKeysRead, ownModelsRead, useOwnLoad, useOwnTenant } from "./reads.ts";

const text = texts("portal", portalTexts);
const usageText = texts("usage", usageTexts);
const pageText = texts("pages", pageTexts);
const MINUTE_MS = 60_000;

/** The first page of a tenant's people: can my applications call, and what is left? */
export function PortalPage() {
  const tenant = useOwnTenant();
  const isReadOnly = useReadOnly();
  return (
    <Stack>
      <PageHead
        title={tenant.data === undefined ? pageText("portal") : <bdi>{tenant.data.name}</bdi>}
        question={pageText("portalQuestion")}
        actions={
          <>
            {isReadOnly && <Badge>{text("readOnly")}</Badge>}
            <Link to="/portal/guide">{text("guideLink")}</Link>
          </>
        }
      />
      <Loaded state={tenant}>{(one) => <Portal tenant={one} />}</Loaded>
    </Stack>
  );
}

function Portal({ tenant }: { readonly tenant: Records["Tenant"] }) {
  const isReadOnly = useReadOnly();
  const nowMs = useNow(MINUTE_MS);
  const zone = usableZone(tenant.timezone);
  const today = dayIn(zone, nowMs);
  const budget = useBudgetUsage("tenant", tenant.id);
  const keys = useQuery(ownKeysRead);
  const models = useQuery(ownModelsRead);
  const load = useOwnLoad(tenant.id);
  const query = { tenant_id: tenant.id, start_day: today, end_day: today, timezone: zone };
  const used = useQuery(read("/api/v1/usage/daily", { params: { query } }, { everyMs: MINUTE_MS }));
  const access = explainAccess(tenant, nowMs);
  const answer = canCall(
    {
      access,
      termEndMs: instantOf(tenant.active_until),
      budget:
        budget.data === undefined ? null : { state: budget.data.state, reset: resetSentence(budget.data, zone, nowMs) },
      keys: keys.data ?? null,
      models: models.data ?? null,
      load: load.data ?? null,
    },
    nowMs,
  );
  const failed = [keys, models, used].find(({ error }) => error !== null);
  const keysNow = keys.data === undefined ? null : keyCounts(keys.data, nowMs);
  const modelsNow = models.data === undefined ? null : modelCounts(models.data);
  const day = used.data?.find((one) => one.day === today);
  const isKnown = used.data !== undefined;
  // Together, so that nothing moves under a reader's eyes.
  const isThere = [budget, keys, models, used].every(({ data, error }) => data !== undefined || error !== null);
  const shown = useIsLate() || isThere ? answer : undefined;
  const capturedMs = instantOf(tenant.capture_until);
  return (
    <Loaded state={{ ...used, data: shown, error: null }}>
      {() => (
        <>
          <Notice tone={answer.tone}>
            <strong>{answer.sentence}</strong> {isReadOnly && answer.to === "/keys" ? text("askMember") : answer.advice}{" "}
            {answer.to !== null && <Link to={answer.to}>{text(`to_${answer.to}`)}</Link>}
          </Notice>
          {capturedMs !== null && capturedMs > nowMs && (
            <Notice tone="warn">{text("captured", { end: formatInstant(zone, capturedMs) })}</Notice>
          )}
          {failed !== undefined && <ReadFailure state={failed} />}
          <Grid>
            <Tile
              label={<Link to="/portal/limits">{text("access")}</Link>}
              value={text(access.isServed ? "accessOpen" : "accessClosed")}
              note={access.change ?? (access.isServed ? text("accessAlways") : access.sentence)}
            />
            <Tile
              label={<Link to="/portal/limits">{text("left")}</Link>}
              value={budget.data === undefined ? formatShare(null) : leftText(budget.data)}
              note={
                budget.data === undefined || budgetLeft(budget.data) === null
                  ? undefined
                  : resetSentence(budget.data, zone, nowMs)
              }
            />
            <Tile
              label={<Link to="/keys">{text("keysTile")}</Link>}
              value={formatCount(keysNow?.admitted)}
              note={
                keysNow?.endsMs == null
                  ? text("keysNote", { count: formatCount(keys.data?.length) })
                  : text("keysEnd", { age: formatAge(nowMs, keysNow.endsMs) })
              }
            />
            <Tile
              label={<Link to="/portal/models">{text("modelsTile")}</Link>}
              value={formatCount(modelsNow?.enabled)}
              note={text("modelsNote", {
                count: formatCount(modelsNow?.responding),
                down: formatCount(modelsNow?.failing),
                unknown: formatCount(modelsNow?.unknown),
              })}
            />
            <Tile
              label={<Link to="/reports">{text("today")}</Link>}
              value={formatCount(isKnown ? (day?.requests ?? 0) : null)}
              note={text("todayNote", {
                refused: formatCount(isKnown ? (day?.refused_requests ?? 0) : null),
                failed: formatCount(isKnown ? (day?.failed_requests ?? 0) : null),
                cost: isKnown ? costText(day) : formatUsd(null),
              })}
            />
          </Grid>
          <Panel title={text("budget")}>
            <BudgetState usage={budget} zone={zone} />
          </Panel>
          <LastFailures filter={{ tenant_id: tenant.id }} />
        </>
      )}
    </Loaded>
  );
}

/** What a day has cost, or that it had no price. */
function costText(day: Records["DailyUsage"] | undefined): string {
  const usd = day === undefined ? 0 : reportFigures(day).costUsd;
  return usd === null ? usageText("noPrice") : formatUsd(usd);
}

function leftText(usage: Records["BudgetUsage"]): string {
  const left = budgetLeft(usage);
  return left === null ? text("noCap") : formatShare(left);
}
