import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { WeekGrid } from "../../charts/week-grid.tsx";
import type { Records } from "../../data/api.ts";
import { explainAccess } from "../../explain/explain-access.ts";
import { explainBudget } from "../../explain/explain-budget.ts";
import { explainLoad } from "../../explain/explain-waiting.ts";
import { runOutSentence } from "../../explain/run-out.ts";
import { useBudgetUsage } from "../../forms/budget/budget-state.tsx";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { STATE_TEXTS } from "../../messages/common.ts";
import { pageTexts } from "../../messages/en/pages.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { usableZone } from "../../time/zones.ts";
import { formatCount } from "../../ui/format.ts";
import { PageHead, Panel, Stack } from "../../ui/layout.tsx";
import { Empty, Loaded, Notice, ReadFailure } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { keyRates, type LimitRow, limitRows } from "./limit-rows.ts";
import { ownKeysRead, useOwnLoad, useOwnTenant } from "./reads.ts";

const text = texts("portal", portalTexts);
const pageText = texts("pages", pageTexts);
const MINUTE_MS = 60_000;

type Key = Records["ListedApiKey"];

/** The limits of the own tenant and of its keys. */
export function PortalLimitsPage() {
  const tenant = useOwnTenant();
  return (
    <Stack>
      <PageHead title={pageText("portalLimits")} question={pageText("portalLimitsQuestion")} />
      <Loaded state={tenant}>{(one) => <Limits tenant={one} />}</Loaded>
    </Stack>
  );
}

function Limits({ tenant }: { readonly tenant: Records["Tenant"] }) {
  const nowMs = useNow(MINUTE_MS);
  const zone = usableZone(tenant.timezone);
  const usage = useBudgetUsage("tenant", tenant.id);
  const outlook = usage.data === undefined ? null : runOutSentence(usage.data, zone, nowMs);
  const load = useOwnLoad(tenant.id);
  const keys = useQuery(ownKeysRead);
  const columns = useMemo(() => keyColumns(zone), [zone]);
  const view = useListView({ rows: keys.data, columns });
  const { rows, unset } = limitRows(tenant, usage.data ?? null, load.data ?? null, zone, nowMs);
  const access = explainAccess(tenant, nowMs);
  const notes = [unset.length === 0 ? null : text("unset", { names: unset.join(", ") }), outlook];
  return (
    <>
      <ReadFailure state={usage} />
      {load.data !== undefined && (
        <Notice tone={load.data.queued > 0 ? "warn" : "neutral"}>{explainLoad(load.data)}</Notice>
      )}
      <Panel isFlush title={text("limitsOfTenant")} note={notes.filter((note) => note !== null).join(" ")}>
        {rows.length > 0 && (
          <Table label={text("limitsOfTenant")} columns={LIMITS} rows={rows} rowKey={({ id }) => id} />
        )}
      </Panel>
      <Panel title={text("access")}>
        <p>
          {access.sentence} {access.change ?? (access.isServed && `${text("accessAlways")}.`)}
        </p>
        {tenant.weekly_windows.length > 0 && <WeekGrid windows={tenant.weekly_windows} zone={zone} nowMs={nowMs} />}
      </Panel>
      <ListTable
        state={keys}
        view={view}
        title={text("limitsOfKeys")}
        actions={view.choice}
        label={text("limitsOfKeys")}
        rowKey={({ id }) => id}
        empty={<Empty title={text("noKeyTitle")}>{text("createKey")}</Empty>}
      />
    </>
  );
}

const LIMITS: readonly Column<LimitRow>[] = [
  { id: "limit", head: text("limit"), cell: ({ name }) => name },
  // side by side on a phone, too: what is long in them stands at the left
  { id: "allowed", head: text("allowed"), cell: ({ allowed }) => allowed },
  {
    id: "used",
    head: text("used"),
    cell: ({ used, share }) => (
      <>
        {used} {share !== null && <progress aria-hidden value={share} />}
      </>
    ),
  },
  { id: "left", head: text("leftNow"), cell: ({ left }) => left },
  { id: "resets", head: text("resets"), cell: ({ resets }) => resets },
];

function keyColumns(zone: string): readonly ListColumn<Key>[] {
  return [
    {
      id: "key",
      head: text("key"),
      isWide: true,
      sortBy: ({ name, key_prefix }) => name || key_prefix,
      cell: ({ id, name, key_prefix }) => (
        <Link to="/keys" search={{ key_id: id }}>
          <bdi>{name || `${key_prefix}…`}</bdi>
        </Link>
      ),
    },
    { id: "rates", head: text("perMinuteHead"), sortBy: keyRates, cell: keyRates },
    {
      id: "budget",
      head: text("budget"),
      cell: (key) =>
        key.budget_tokens === null && key.budget_cost_usd === null ? (
          text("noLimit")
        ) : (
          <KeyBudget keyId={key.id} zone={zone} />
        ),
    },
  ];
}

function KeyBudget({ keyId, zone }: { readonly keyId: string; readonly zone: string }) {
  const { data, error } = useBudgetUsage("key", keyId);
  const nowMs = useNow(MINUTE_MS);
  if (data === undefined) return error === null ? STATE_TEXTS.loading : formatCount(null);
  const { sentences, outlook } = explainBudget(data, zone, nowMs);
  return [...sentences, ...(outlook === null ? [] : [outlook])].join(" ");
}
