import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { type UsageQuery, UsageView } from "../../forms/usage/usage-view.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount, formatUsd } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);
const usageText = texts("usage", usageTexts);
const route = getRouteApi("/signed-in/admin/models/$modelId");
const EVERY_MS = 60_000;
const KEYS_MAX = "1000";

type Usage = Records["UsageBreakdown"];

/** What was used of the model, and by whom, in the last days of the browser's zone. */
export function ModelUsageTab({ model: { model_name: model } }: ModelTabProps) {
  const { period } = route.useSearch();
  const navigate = useNavigate({ from: "/models/$modelId" });
  const { zone } = useZone();
  return (
    <UsageView
      zone={zone}
      period={period}
      onPeriod={(chosen) =>
        void navigate({ search: (before) => changedSearch(before, { period: chosen }), replace: true })
      }
      filter={{ model }}
    >
      {(query) => <ByKey query={query} model={model} />}
    </UsageView>
  );
}

function ByKey({ query, model }: { readonly query: UsageQuery; readonly model: string }) {
  const byKey = useQuery(
    read(
      "/api/v1/usage/breakdown",
      { params: { query: { ...query, limit: KEYS_MAX } } },
      { everyMs: EVERY_MS, keepsOld: false },
    ),
  );
  return (
    <Panel
      isFlush
      title={text("byKey")}
      actions={
        <TargetLink isButton target={pageTarget("/logs", { model })}>
          {text("logs")}
        </TargetLink>
      }
    >
      <Loaded state={byKey} texts={{ ...STATE_TEXTS, failed: usageText("usageFailed") }}>
        {(rows) => (
          <Table
            label={text("byKey")}
            columns={COLUMNS}
            rows={rows}
            rowKey={({ key_id }) => key_id}
            empty={<Empty title={usageText("noUsage")}>{usageText("noUsageText")}</Empty>}
          />
        )}
      </Loaded>
    </Panel>
  );
}

const COLUMNS: readonly Column<Usage>[] = [
  {
    id: "tenant",
    head: text("tenant"),
    isWide: true,
    cell: ({ tenant_id, tenant_name }) => (
      <Link to="/tenants/$tenantId" params={{ tenantId: tenant_id }} title={tenant_name}>
        <bdi>{tenant_name || tenant_id}</bdi>
      </Link>
    ),
  },
  {
    id: "key",
    head: text("apiKey"),
    isWide: true,
    cell: ({ key_name, key_prefix, key_id }) => <bdi title={key_name}>{key_name || key_prefix || key_id}</bdi>,
  },
  { id: "requests", head: usageText("requests"), align: "right", cell: ({ requests }) => formatCount(requests) },
  { id: "tokens", head: usageText("tokens"), align: "right", cell: ({ total_tokens }) => formatCount(total_tokens) },
  { id: "cost", head: usageText("cost"), align: "right", cell: ({ cost_usd }) => formatUsd(cost_usd) },
  {
    id: "speed",
    head: text("speed"),
    align: "right",
    cell: ({ gen_tokens_per_sec }) => formatCount(gen_tokens_per_sec > 0 ? gen_tokens_per_sec : null),
  },
];
