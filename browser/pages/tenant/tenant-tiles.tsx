import { useQuery } from "@tanstack/react-query";
import { useCurrentUser } from "../../data/current-user.ts";
import { read } from "../../data/reads.ts";
import { budgetLeft } from "../../explain/budget-left.ts";
import { pageTarget, tenantTarget } from "../../explain/link-target.ts";
import { runOutWords } from "../../explain/run-out.ts";
import { useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { DayTiles } from "../../forms/usage/day-tiles.tsx";
import { FigureTile } from "../../forms/usage/figure-tile.tsx";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { formatAge, instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { formatCount, formatShare } from "../../ui/format.ts";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const LIVE_EVERY_MS = 5000;
const MINUTE_MS = 60_000;

/** How a tenant does now, today and this month. */
export function TenantTiles({ tenant }: TenantTabProps) {
  const { role } = useCurrentUser();
  const nowMs = useNow(MINUTE_MS);
  const usage = useBudgetUsage("tenant", tenant.id);
  const { data } = usage;
  const endMs = data === undefined || data.budget_period !== "monthly" ? null : instantOf(data.period_end);
  const left = data === undefined ? null : budgetLeft(data);
  /** When it runs out, which matters more than when it resets. */
  const noteOf = (): string => {
    const outMs = data === undefined ? null : instantOf(data.runs_out_at);
    if (data !== undefined && outMs !== null) return runOutWords(data, tenant.timezone, nowMs).when;
    return endMs === null ? "" : text("resetsIn", { age: formatAge(nowMs, endMs) });
  };
  return (
    <DayTiles filter={{ tenant_id: tenant.id }} zone={tenant.timezone}>
      <FigureTile
        label={text("budgetLeft")}
        isLoading={usage.isPending}
        value={data !== undefined && left === null ? text("noBudget") : formatShare(left)}
        note={noteOf()}
        target={tenantTarget(tenant.id, "budget")}
      />
      {role === "admin" && <Running tenant={tenant} />}
    </DayTiles>
  );
}

function Running({ tenant: { id } }: TenantTabProps) {
  const live = useQuery(read("/api/v1/fairshare/live", {}, { everyMs: LIVE_EVERY_MS }));
  const own = live.data?.tenants.find(({ tenant_id }) => tenant_id === id);
  const of = (field: "in_flight" | "queued"): string =>
    formatCount(live.data === undefined ? null : (own?.[field] ?? 0));
  return (
    <FigureTile
      label={text("runningNow")}
      isLoading={live.isPending}
      value={of("in_flight")}
      note={text("waitingNow", { waiting: of("queued") })}
      target={pageTarget("/fairshare", { tenant_id: id })}
    />
  );
}
