import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { UsageView } from "../../forms/usage/usage-view.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatUsd } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { TenantTabProps } from "./tenant-tab.ts";

const text = texts("tenant", tenantTexts);
const usageText = texts("usage", usageTexts);
const route = getRouteApi("/signed-in/tenants/$tenantId");
const EVERY_MS = 60_000;

type Usage = Records["DailyUsage"];
type UsageQuery = Parameters<Parameters<typeof UsageView>[0]["children"]>[0];

/** What the tenant has used in the last days of its own zone. */
export function UsageTab({ tenant: { id, timezone } }: TenantTabProps) {
  const { days = "7" } = route.useSearch();
  const navigate = useNavigate({ from: "/tenants/$tenantId" });
  return (
    <UsageView
      zone={timezone}
      days={days}
      onDays={(chosen) => void navigate({ search: (before) => changedSearch(before, { days: chosen }), replace: true })}
      filter={{ tenant_id: id }}
    >
      {(query) => <ByModel query={query} />}
    </UsageView>
  );
}

function ByModel({ query }: { readonly query: UsageQuery }) {
  const byModel = useQuery(
    read("/api/v1/usage/daily", { params: { query: { ...query, group_by: "model" } } }, { everyMs: EVERY_MS }),
  );
  return (
    <Panel isFlush title={text("byModel")}>
      <Loaded state={byModel} texts={{ ...STATE_TEXTS, failed: usageText("usageFailed") }}>
        {(rows) => (
          <Table
            label={text("byModel")}
            columns={MODEL_COLUMNS}
            rows={rows}
            rowKey={({ model }) => model}
            empty={<Empty title={usageText("noUsage")}>{usageText("noUsageText")}</Empty>}
          />
        )}
      </Loaded>
    </Panel>
  );
}

const MODEL_COLUMNS: readonly Column<Usage>[] = [
  { id: "model", head: text("model"), isWide: true, cell: ({ model }) => <bdi title={model}>{model}</bdi> },
  { id: "requests", head: usageText("requests"), align: "right", cell: ({ requests }) => formatCount(requests) },
  {
    id: "errors",
    head: usageText("errors"),
    align: "right",
    cell: ({ error_requests }) => formatCount(error_requests),
  },
  {
    id: "input",
    head: usageText("inputTokens"),
    align: "right",
    cell: ({ input_tokens }) => formatCount(input_tokens),
  },
  {
    id: "output",
    head: usageText("outputTokens"),
    align: "right",
    cell: ({ output_tokens }) => formatCount(output_tokens),
  },
  { id: "cost", head: usageText("cost"), align: "right", cell: ({ cost_usd }) => formatUsd(cost_usd) },
];
