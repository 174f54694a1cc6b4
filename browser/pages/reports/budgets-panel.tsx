import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { budgetLeftText } from "../../explain/budget-left.ts";
import { runOutWords } from "../../explain/run-out.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { usableZone } from "../../time/zones.ts";
import { formatShare } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";

const text = texts("reports", reportsTexts);
const EVERY_MS = 60_000;
const BUDGETS_MAX = "200";

type Budget = Records["TenantBudgetUsage"];

/** The budgets of tenants: how fast each is used, when it runs out, and what would make it last. */
export function BudgetsPanel() {
  const nowMs = useNow(EVERY_MS);
  const budgets = useQuery(
    read("/api/v1/budgets", { params: { query: { limit: BUDGETS_MAX } } }, { everyMs: EVERY_MS }),
  );
  const toLast = (budget: Budget): string => runOutWords(budget, usableZone(budget.timezone), nowMs).toLast;
  const columns: readonly Column<Budget>[] = [
    {
      id: "tenant",
      head: text("tenant"),
      isWide: true,
      cell: ({ tenant_id, tenant_name }) => (
        <Link to="/tenants/$tenantId" params={{ tenantId: tenant_id }} search={{ tab: "budget" }}>
          <bdi>{tenant_name}</bdi>
        </Link>
      ),
    },
    { id: "used", head: text("budgetUsed"), align: "right", cell: ({ ratio }) => formatShare(ratio) },
    { id: "left", head: text("budgetLeft"), align: "right", cell: budgetLeftText },
    {
      id: "rate",
      head: text("budgetRate"),
      align: "right",
      cell: (budget) => runOutWords(budget, usableZone(budget.timezone), nowMs).rate,
    },
    {
      id: "runsOut",
      head: text("budgetRunsOut"),
      cell: (budget) => runOutWords(budget, usableZone(budget.timezone), nowMs).when,
    },
    ...(budgets.data?.some((budget) => toLast(budget) !== "")
      ? [{ id: "toLast", head: text("budgetToLast"), cell: toLast }]
      : []),
  ];
  return (
    <Panel isFlush title={text("budgets")} note={text("budgetsNote")}>
      <Loaded state={budgets}>
        {(rows) => (
          <Table
            label={text("budgets")}
            columns={columns}
            rows={rows.toSorted((a, b) => outAt(a) - outAt(b))}
            rowKey={({ tenant_id }) => tenant_id}
            empty={<Empty title={text("budgetsEmpty")}>{text("budgetsEmptyText")}</Empty>}
          />
        )}
      </Loaded>
    </Panel>
  );
}

/** Those that run out first stand first. */
function outAt({ runs_out_at }: Budget): number {
  return runs_out_at === null ? Number.POSITIVE_INFINITY : Date.parse(runs_out_at);
}
