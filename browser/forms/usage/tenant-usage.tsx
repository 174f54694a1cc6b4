/** What one tenant has used in a period of its own zone: sums, days, models and keys, each as a file too. */
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { isRead, useIsLate } from "../../time/use-is-late.ts";
import { formatCount } from "../../ui/format.ts";
import { Stack } from "../../ui/layout.tsx";
import { Empty } from "../../ui/states.tsx";
import { ListTable } from "../list/list-table.tsx";
import { type ListColumn, useListView } from "../list/use-list-view.tsx";
import { Cost } from "./cost.tsx";
import { reportFigures } from "./report-figures.ts";
import { rowName } from "./row-name.ts";
import { UsageCsv, type UsageQuery, UsageView, useUsage } from "./usage-view.tsx";

const text = texts("usage", usageTexts);

type Usage = Records["DailyUsage"];

/** What of an address belongs to the usage. */
interface UsageSearch {
  readonly period?: string | undefined;
}

interface TenantUsageProps {
  readonly tenant: Pick<Records["Tenant"], "id" | "timezone">;
  readonly search: UsageSearch;
  readonly onSearch: (change: UsageSearch) => void;
}

export function TenantUsage({ tenant, search, onSearch }: TenantUsageProps) {
  return (
    <UsageView
      zone={tenant.timezone}
      period={search.period}
      onPeriod={(period) => onSearch({ period })}
      filter={{ tenant_id: tenant.id }}
    >
      {(query) => <Tables query={query} />}
    </UsageView>
  );
}

function Tables({ query }: Pick<UsesProps, "query">) {
  const [models, keys] = [useUsage(query, "model"), useUsage(query, "key")];
  const isLate = useIsLate();
  return (
    <Stack isHidden={!isLate && !(isRead(models) && isRead(keys))}>
      <Uses group="model" label={text("byModel")} head={text("model")} query={query} />
      <Uses group="key" label={text("byKey")} head={text("key")} query={query} />
    </Stack>
  );
}

interface UsesProps {
  readonly group: "model" | "key";
  readonly label: string;
  /** Of the column with the names. */
  readonly head: string;
  readonly query: UsageQuery;
}

/** The rows of one group. */
function Uses({ group, label, head, query }: UsesProps) {
  const uses = useUsage(query, group);
  const columns = useMemo((): readonly ListColumn<Usage>[] => {
    const nameOf = (row: Usage): string => rowName(row, group);
    const name = {
      id: "name",
      head,
      isWide: true,
      sortBy: nameOf,
      cell: (row: Usage) => <bdi title={nameOf(row)}>{nameOf(row)}</bdi>,
    };
    return [name, ...columnsOf()];
  }, [group, head]);
  const view = useListView({ rows: uses.data, columns, prefix: `by_${group}_`, label });
  return (
    <ListTable
      state={uses}
      view={view}
      title={label}
      actions={
        <>
          {view.choice}
          <UsageCsv query={query} group={group} what={label} />
        </>
      }
      label={label}
      rowKey={({ model, key_id }) => `${key_id} ${model}`}
      empty={<Empty title={text("noUsage")}>{text("noUsageText")}</Empty>}
    />
  );
}

const FIGURES = {
  requests: ({ requests }: Usage) => requests,
  refused: ({ refused_requests }: Usage) => refused_requests,
  failed: ({ failed_requests }: Usage) => failed_requests,
  inputTokens: ({ input_tokens }: Usage) => input_tokens,
  outputTokens: ({ output_tokens }: Usage) => output_tokens,
  cost: (row: Usage) => reportFigures(row).costUsd,
};
const SHOWN = ["requests", "refused", "failed", "inputTokens", "outputTokens", "cost"] as const;

function columnsOf(): readonly ListColumn<Usage>[] {
  return SHOWN.map((id) => ({
    id,
    head: text(id),
    align: "right",
    sortBy: FIGURES[id],
    cell: (row) => (id === "cost" ? <Cost usd={FIGURES.cost(row)} /> : formatCount(FIGURES[id](row))),
  }));
}
