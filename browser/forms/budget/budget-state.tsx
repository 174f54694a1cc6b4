import { useQuery } from "@tanstack/react-query";
import type { BudgetUsage } from "../../../shared/schema/budget.ts";
import { Meter } from "../../charts/meter.tsx";
import { read } from "../../data/reads.ts";
import { explainBudget } from "../../explain/explain-budget.ts";
import { budgetTexts } from "../../messages/en/budget.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useNow } from "../../time/use-clock.tsx";
import { zoneLabel } from "../../time/zones.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount, formatUsd } from "../../ui/format.ts";
import { Stack } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";
import classes from "./budget-state.module.css";

const text = texts("budget", budgetTexts);
const EVERY_MS = 15_000;
const MINUTE_MS = 60_000;

/** What is used of the budget of a tenant, or of a key. */
export function useBudgetUsage(of: "tenant" | "key", id: string) {
  const init = { params: { path: { id } } };
  const tenant = useQuery(
    read("/api/v1/tenants/{id}/budget/usage", init, { everyMs: EVERY_MS, enabled: of === "tenant" }),
  );
  const key = useQuery(read("/api/v1/keys/{id}/budget/usage", init, { everyMs: EVERY_MS, enabled: of === "key" }));
  return of === "tenant" ? tenant : key;
}

/** Used, reserved and left of each cap, and when the budget resets by the tenant's clock. */
export function BudgetState({
  usage,
  zone,
}: {
  readonly usage: ReturnType<typeof useBudgetUsage>;
  readonly zone: string;
}) {
  return <Loaded state={usage}>{(read) => <Figures usage={read} zone={zone} />}</Loaded>;
}

function Figures({ usage, zone }: { readonly usage: BudgetUsage; readonly zone: string }) {
  const nowMs = useNow(MINUTE_MS);
  const { tone, title, sentences, outlook } = explainBudget(usage, zone, nowMs);
  const sinceMs = instantOf(usage.period_start);
  return (
    <Stack>
      <div className={classes["head"]}>
        <Badge tone={tone}>{title}</Badge>
        <span>{sentences.at(-1)}</span>
      </div>
      <div className={classes["meters"]}>
        <div>
          <h3>{text("tokens")}</h3>
          <Meter
            label={text("tokens")}
            used={usage.used_tokens}
            reserved={usage.reserved_tokens}
            cap={usage.budget_tokens}
            format={formatCount}
          />
        </div>
        <div>
          <h3>{text("usd")}</h3>
          <Meter
            label={text("usd")}
            used={usage.used_cost_usd}
            reserved={usage.reserved_cost_usd}
            cap={usage.budget_cost_usd}
            format={formatUsd}
          />
        </div>
      </div>
      {outlook !== null && <p>{outlook}</p>}
      {sinceMs !== null && (
        <p className={classes["since"]}>
          {text("since", { instant: formatInstant(zone, sinceMs, "minute"), zone: zoneLabel(zone, sinceMs) })}
        </p>
      )}
    </Stack>
  );
}
