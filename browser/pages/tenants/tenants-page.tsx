import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import type { Records } from "../../data/api.ts";
import { read, readPages } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { SearchField } from "../../forms/search-field.tsx";
import { StatusBadge, useStatusChanges } from "../../forms/tenant-status.tsx";
import { pageTexts } from "../../messages/en/pages.ts";
import { tenantsTexts } from "../../messages/en/tenants.ts";
import { texts } from "../../messages/texts.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { formatCount, formatUsd } from "../../ui/format.ts";
import { PageHead, Panel, Row, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { budgetCaps } from "./budget-caps.ts";

const text = texts("tenants", tenantsTexts);
const pageText = texts("pages", pageTexts);
const route = getRouteApi("/signed-in/admin/tenants");
const CreateTenant = lazy(async () => ({ default: (await import("./create-tenant.tsx")).CreateTenant }));
const stateTexts = {
  loading: text("loading"),
  failed: text("failed"),
  stale: text("stale"),
  retry: text("retry"),
};

type Tenant = Records["Tenant"];
type Totals = Records["UsageTotals"];

const EVERY_MS = 30_000;
const PAGE_ROWS = "200";
const USED_MAX = "10000";
const STATUSES = ["active", "suspended", "archived"] as const;

/** All tenants, in the order in which they were created; search and filters are the server's. */
export function TenantsPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/tenants" });
  const [isCreating, setCreating] = useState(false);
  const tenants = useInfiniteQuery(
    readPages<Tenant>("/api/v1/tenants", { ...search, limit: PAGE_ROWS }, { everyMs: EVERY_MS }),
  );
  const groups = useQuery(read("/api/v1/fairshare/groups"));
  const columns = useColumns();
  const rows = useMemo(() => tenants.data?.pages.flatMap((page) => page.rows), [tenants.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = tenants;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const filter = (change: Parameters<typeof changedSearch<typeof search>>[1]): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const open = (tenantId: string): void => void navigate({ to: "/tenants/$tenantId", params: { tenantId } });
  const create = (
    <Button tone="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setCreating(true)}>
      {text("create")}
    </Button>
  );
  return (
    <Stack>
      <PageHead title={pageText("tenants")} question={pageText("tenantsQuestion")} actions={create} />
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
            { value: "", label: text("statusAll") },
            ...STATUSES.map((value) => ({ value, label: text(value) })),
          ]}
        />
        <SelectField
          label={text("group")}
          value={search.group ?? ""}
          onChange={({ target }) => filter({ group: target.value === "" ? undefined : target.value })}
          choices={[
            { value: "", label: text("groupAll") },
            ...(groups.data ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
        />
      </Row>
      <Panel isFlush>
        <Loaded state={{ ...tenants, data: rows }} texts={stateTexts}>
          {(shown) => (
            <Table
              label={text("list")}
              columns={columns}
              rows={shown}
              rowKey={({ id }) => id}
              onOpen={({ id }) => open(id)}
              onEnd={onEnd}
              empty={
                Object.keys(search).length > 0 ? (
                  <Empty
                    title={text("noMatch")}
                    action={<Button onClick={() => void navigate({ search: {} })}>{text("clear")}</Button>}
                  >
                    {text("noMatchText")}
                  </Empty>
                ) : (
                  <Empty title={text("empty")}>{text("emptyText")}</Empty>
                )
              }
            />
          )}
        </Loaded>
      </Panel>
      <Suspense fallback={null}>
        {isCreating && <CreateTenant onCreated={open} onClose={() => setCreating(false)} />}
      </Suspense>
    </Stack>
  );
}

function useColumns(): readonly Column<Tenant>[] {
  const changesOf = useStatusChanges();
  const used = useQuery(
    read("/api/v1/usage", { params: { query: { group_by: "tenant", limit: USED_MAX } } }, { everyMs: EVERY_MS }),
  );
  const attention = useQuery(read("/api/v1/overview/attention", {}, { everyMs: EVERY_MS }));
  const usedBy = useMemo(
    () => (used.data === undefined ? undefined : new Map(used.data.map((row) => [row.tenant_id ?? "", row]))),
    [used.data],
  );
  const budgets = useMemo(
    () =>
      new Map(
        (attention.data ?? [])
          .filter(({ kind, entity_type }) => entity_type === "tenant" && /^budget_(exhausted|low)$/.test(kind))
          .map(({ entity_id, kind }) => [entity_id, kind]),
      ),
    [attention.data],
  );
  const figure = (id: string, of: keyof Pick<Totals, "total_tokens" | "cost_usd">): number | null =>
    usedBy === undefined ? null : (usedBy.get(id)?.[of] ?? 0);
  return [
    {
      id: "name",
      head: text("name"),
      isWide: true,
      cell: ({ id, name }) => (
        <Link to="/tenants/$tenantId" params={{ tenantId: id }} title={name}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    { id: "status", head: text("status"), cell: ({ status }) => <StatusBadge status={status} /> },
    { id: "group", head: text("group"), cell: ({ fairshare_group }) => <bdi>{fairshare_group}</bdi> },
    {
      id: "tokens_per_minute",
      head: text("tokensPerMinute"),
      align: "right",
      cell: ({ tokens_per_minute: limit }) => (limit === 0 ? text("noLimit") : formatCount(limit)),
    },
    {
      id: "budget",
      head: text("budget"),
      cell: (tenant) => (
        <>
          {budgetCaps(tenant)} <BudgetBadge kind={budgets.get(tenant.id)} />
        </>
      ),
    },
    {
      id: "tokens",
      head: text("tokens24h"),
      align: "right",
      cell: ({ id }) => formatCount(figure(id, "total_tokens")),
    },
    { id: "cost", head: text("cost24h"), align: "right", cell: ({ id }) => formatUsd(figure(id, "cost_usd")) },
    {
      id: "change",
      head: text("change"),
      cell: (tenant) => {
        const [first] = changesOf(tenant);
        return first === undefined ? null : (
          <Button tone="quiet" aria-label={`${first.label}: ${tenant.name}`} onClick={first.run}>
            {first.label}
          </Button>
        );
      },
    },
  ];
}

function BudgetBadge({ kind }: { readonly kind: string | undefined }) {
  if (kind === undefined) return null;
  return kind === "budget_exhausted" ? (
    <Badge tone="bad">{text("exhausted")}</Badge>
  ) : (
    <Badge tone="warn">{text("low")}</Badge>
  );
}
