import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { budgetLeft } from "../../explain/budget-left.ts";
import { runOutSentence, runOutWords } from "../../explain/run-out.ts";
import { CsvLink } from "../../forms/list/csv-link.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { SearchField } from "../../forms/search-field.tsx";
import { StatusBadge, StatusButtons } from "../../forms/tenant-status.tsx";
import { sumCostUsd } from "../../forms/usage/row-cost.ts";
import { commonText } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { tenantsTexts } from "../../messages/en/tenants.ts";
import { texts } from "../../messages/texts.ts";
import { Age, useNow } from "../../time/use-clock.tsx";
import { usableZone } from "../../time/zones.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount, formatShare, formatUsd } from "../../ui/format.ts";
import { PageHead, Row, Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { budgetCaps } from "./budget-caps.ts";

const text = texts("tenants", tenantsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/tenants");
const CreateTenant = lazy(async () => ({ default: (await import("./create-tenant.tsx")).CreateTenant }));

type Tenant = Records["Tenant"];
type Totals = Records["UsageTotals"];

const EVERY_MS = 30_000;
/** Each of these budgets is asked for in its cell. */
const BUDGETS_MAX = "200";
const BUDGETS_EVERY_MS = 60_000;
const USED_MAX = "10000";
const NOTHING_USED = { total_tokens: 0, cost_usd: 0 };
const STATUSES = ["active", "suspended", "archived"] as const;

/** All tenants, in the order in which they were created; search and filters are the server's. */
export function TenantsPage() {
  const { sort, columns: _columns, ...search } = route.useSearch();
  const navigate = useNavigate({ from: "/tenants" });
  const [isCreating, setCreating] = useState(false);
  const tenants = useList<Tenant>("/api/v1/tenants", search, { everyMs: EVERY_MS, readsAll: sort !== undefined });
  const groups = useQuery(read("/api/v1/fairshare/groups"));
  const view = useListView({ rows: tenants.data, columns: useColumns() });
  const filter = (change: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const open = (tenantId: string): void => void navigate({ to: "/tenants/$tenantId", params: { tenantId } });
  return (
    <Stack>
      <PageHead
        title={pageText("tenants")}
        question={pageText("tenantsQuestion")}
        actions={
          <>
            {view.choice}
            <CsvLink path="/api/v1/tenants" query={search} />
            <Button writes tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
              {text("create")}
            </Button>
          </>
        }
      />
      <Row>
        <SearchField
          label={text("filter")}
          value={search.q ?? ""}
          onSearch={(q) => filter({ q: q === "" ? undefined : q })}
        />
        <SelectField
          label={text("status")}
          value={search.status ?? ""}
          onChange={({ target }) => filter({ status: STATUSES.find((status) => status === target.value) })}
          choices={[
            { value: "", label: commonText("all") },
            ...STATUSES.map((value) => ({ value, label: text(value) })),
          ]}
        />
        <SelectField
          label={text("group")}
          value={search.group ?? ""}
          onChange={({ target }) => filter({ group: target.value === "" ? undefined : target.value })}
          choices={[
            { value: "", label: commonText("all") },
            ...(groups.data ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
        />
      </Row>
      <ListTable
        state={tenants}
        view={view}
        label={text("list")}
        rowKey={({ id }) => id}
        onOpen={({ id }) => open(id)}
        onEnd={tenants.onEnd}
        empty={
          Object.keys(search).length > 0 ? (
            <Empty
              title={text("noMatch")}
              action={
                <Button onClick={() => filter({ q: undefined, status: undefined, group: undefined })}>
                  {commonText("clearFilters")}
                </Button>
              }
            >
              {text("noMatchText")}
            </Empty>
          ) : (
            <Empty
              title={text("empty")}
              action={
                <Button writes tone="primary" onClick={() => setCreating(true)}>
                  {text("createFirst")}
                </Button>
              }
            >
              {text("emptyText")}
            </Empty>
          )
        }
      />
      <Suspense fallback={null}>
        {isCreating && <CreateTenant onCreated={open} onClose={() => setCreating(false)} />}
      </Suspense>
    </Stack>
  );
}

function useColumns(): readonly ListColumn<Tenant>[] {
  const used = useQuery(
    read("/api/v1/usage", { params: { query: { group_by: "tenant", limit: USED_MAX } } }, { everyMs: EVERY_MS }),
  ).data;
  const attention = useQuery(read("/api/v1/overview/attention", {}, { everyMs: EVERY_MS })).data;
  const nowMs = useNow(EVERY_MS);
  const usages = useQuery(
    read("/api/v1/budgets", { params: { query: { limit: BUDGETS_MAX } } }, { everyMs: BUDGETS_EVERY_MS }),
  ).data;
  const columns = useMemo((): readonly ListColumn<Tenant>[] => {
    const usageByTenant = new Map((usages ?? []).map((usage) => [usage.tenant_id, usage]));
    const usedBy = used === undefined ? undefined : new Map(used.map((row) => [row.tenant_id ?? "", row]));
    const budgets = new Map(
      (attention ?? [])
        .filter(({ kind, entity_type }) => entity_type === "tenant" && /^budget_(exhausted|low)$/.test(kind))
        .map(({ entity_id, kind }) => [entity_id, kind]),
    );
    const usageOf = (id: string): Pick<Totals, "total_tokens" | "cost_usd"> | undefined =>
      usedBy && (usedBy.get(id) ?? NOTHING_USED);
    const tokensOf = (id: string): number | null => usageOf(id)?.total_tokens ?? null;
    const costOf = (id: string): number | null => sumCostUsd(usageOf(id)) ?? null;
    const leftOf = (id: string): number | null => {
      const usage = usageByTenant.get(id);
      return usage === undefined ? null : budgetLeft(usage);
    };
    return [
      {
        id: "name",
        head: text("name"),
        isWide: true,
        sortBy: ({ name }) => name,
        cell: ({ id, name }) => (
          <Link to="/tenants/$tenantId" params={{ tenantId: id }} title={name}>
            <bdi>{name}</bdi>
          </Link>
        ),
      },
      {
        id: "status",
        head: text("status"),
        sortBy: ({ status }) => status,
        cell: ({ status }) => <StatusBadge status={status} />,
      },
      {
        id: "group",
        head: text("group"),
        sortBy: ({ fairshare_group }) => fairshare_group,
        cell: ({ fairshare_group }) => <bdi>{fairshare_group}</bdi>,
      },
      {
        id: "tokens_per_minute",
        head: text("tokensPerMinute"),
        align: "right",
        // Without a limit stands above every limit.
        sortBy: ({ tokens_per_minute: limit }) => (limit === 0 ? Number.POSITIVE_INFINITY : limit),
        cell: ({ tokens_per_minute: limit }) => (limit === 0 ? text("noLimit") : formatCount(limit)),
      },
      {
        id: "budget",
        head: text("budget"),
        cell: (tenant) => (
          <>
            {budgetCaps(tenant)} <BudgetBadge kind={budgets.get(tenant.id)} />
            <RunOut usage={usageByTenant.get(tenant.id)} nowMs={nowMs} />
          </>
        ),
      },
      {
        id: "left",
        head: text("left"),
        align: "right",
        sortBy: ({ id }) => leftOf(id),
        cell: ({ id }) => formatShare(leftOf(id)),
      },
      {
        id: "tokens",
        head: text("tokens24h"),
        align: "right",
        sortBy: ({ id }) => tokensOf(id),
        cell: ({ id }) => formatCount(tokensOf(id)),
      },
      {
        id: "cost",
        head: text("cost24h"),
        align: "right",
        sortBy: ({ id }) => costOf(id),
        cell: ({ id }) => formatUsd(costOf(id)),
      },
      {
        id: "created",
        head: text("createdAt"),
        isExtra: true,
        sortBy: ({ created_at }) => created_at,
        cell: ({ created_at }) => <Age at={created_at} />,
      },
    ];
  }, [used, attention, usages, nowMs]);
  return [
    ...columns,
    {
      id: "change",
      head: text("change"),
      cell: (tenant) => <StatusButtons tenant={tenant} isShort />,
    },
  ];
}

/** When a budget runs out before it resets; nothing when it lasts. */
function RunOut({
  usage,
  nowMs,
}: {
  readonly usage: Records["TenantBudgetUsage"] | undefined;
  readonly nowMs: number;
}) {
  if (usage === undefined || usage.runs_out_at === null || usage.state === "exhausted") return null;
  const zone = usableZone(usage.timezone);
  return (
    <span title={runOutSentence(usage, zone, nowMs) ?? ""}>
      {text("runsOut", { when: runOutWords(usage, zone, nowMs).when })}
    </span>
  );
}

function BudgetBadge({ kind }: { readonly kind: string | undefined }) {
  if (kind === undefined) return null;
  return kind === "budget_exhausted" ? (
    <Badge tone="bad">{text("exhausted")}</Badge>
  ) : (
    <Badge tone="warn">{text("low")}</Badge>
  );
}
