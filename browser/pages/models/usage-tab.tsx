import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { pageTarget } from "../../explain/link-target.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { Cost } from "../../forms/usage/cost.tsx";
import { reportFigures } from "../../forms/usage/report-figures.ts";
import { type UsageQuery, UsageView } from "../../forms/usage/usage-view.tsx";
import { TargetLink } from "../../links/target-link.tsx";
import { modelsTexts } from "../../messages/en/models.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { useZone } from "../../time/zone-context.tsx";
import { formatCount } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
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
  const columns = useMemo(columnsOf, []);
  const view = useListView({ rows: byKey.data, columns, prefix: "by_key_" });
  return (
    <ListTable
      state={byKey}
      view={view}
      title={text("byKey")}
      actions={
        <>
          {view.choice}
          <CsvLink path="/api/v1/usage/breakdown" query={{ ...query, limit: KEYS_MAX }} />
          <TargetLink isButton target={pageTarget("/logs", { model })}>
            {text("logs")}
          </TargetLink>
        </>
      }
      label={text("byKey")}
      rowKey={({ key_id }) => key_id}
      empty={<Empty title={usageText("noUsage")}>{usageText("noUsageText")}</Empty>}
    />
  );
}

const costOf = (row: Usage): number | null => reportFigures(row).costUsd;

function columnsOf(): readonly ListColumn<Usage>[] {
  return [
    {
      id: "tenant",
      head: text("tenant"),
      isWide: true,
      sortBy: ({ tenant_name, tenant_id }) => tenant_name || tenant_id,
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
      sortBy: ({ key_name, key_prefix, key_id }) => key_name || key_prefix || key_id,
      cell: ({ key_name, key_prefix, key_id }) => <bdi title={key_name}>{key_name || key_prefix || key_id}</bdi>,
    },
    {
      id: "requests",
      head: usageText("requests"),
      align: "right",
      sortBy: ({ requests }) => requests,
      cell: ({ requests }) => formatCount(requests),
    },
    {
      id: "tokens",
      head: usageText("tokens"),
      align: "right",
      sortBy: ({ total_tokens }) => total_tokens,
      cell: ({ total_tokens }) => formatCount(total_tokens),
    },
    {
      id: "cost",
      head: usageText("cost"),
      align: "right",
      sortBy: costOf,
      cell: (row) => <Cost usd={costOf(row)} />,
    },
    {
      id: "speed",
      head: text("speed"),
      align: "right",
      sortBy: ({ gen_tokens_per_sec }) => (gen_tokens_per_sec > 0 ? gen_tokens_per_sec : null),
      cell: ({ gen_tokens_per_sec }) => formatCount(gen_tokens_per_sec > 0 ? gen_tokens_per_sec : null),
    },
  ];
}
