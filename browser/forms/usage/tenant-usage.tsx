/** What one tenant has used in a period of its own zone: sums, days, models and keys, each as a file too. */
import type { Records } from "../../data/api.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { usageTexts } from "../../messages/en/usage.ts";
import { texts } from "../../messages/texts.ts";
import { useIsLate } from "../../time/use-is-late.ts";
import { formatCount, formatUsd } from "../../ui/format.ts";
import { Panel, Stack } from "../../ui/layout.tsx";
import { type SortValues, sortedRows, sortFrom, sortParam } from "../../ui/sorted.ts";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { reportFigures } from "./report-figures.ts";
import { rowName } from "./row-name.ts";
import { isRead, UsageCsv, type UsageQuery, UsageView, useUsage } from "./usage-view.tsx";

const text = texts("usage", usageTexts);

type Usage = Records["DailyUsage"];

/** What of an address belongs to the usage. */
interface UsageSearch {
  readonly period?: string | undefined;
  readonly sort?: string | undefined;
}

interface TenantUsageProps {
  readonly tenant: Pick<Records["Tenant"], "id" | "timezone">;
  readonly search: UsageSearch;
  readonly onSearch: (change: UsageSearch) => void;
}

export function TenantUsage({ tenant, search, onSearch }: TenantUsageProps) {
  const order = { param: search.sort, onSort: (sort: string) => onSearch({ sort }) };
  return (
    <UsageView
      zone={tenant.timezone}
      period={search.period}
      onPeriod={(period) => onSearch({ period })}
      filter={{ tenant_id: tenant.id }}
    >
      {(query) => <Tables query={query} {...order} />}
    </UsageView>
  );
}

function Tables(props: Pick<UsesProps, "query" | "param" | "onSort">) {
  const [models, keys] = [useUsage(props.query, "model"), useUsage(props.query, "key")];
  const isLate = useIsLate();
  return (
    <Stack isHidden={!isLate && !(isRead(models) && isRead(keys))}>
      <Uses group="model" label={text("byModel")} head={text("model")} {...props} />
      <Uses group="key" label={text("byKey")} head={text("key")} {...props} />
    </Stack>
  );
}

interface UsesProps {
  readonly group: "model" | "key";
  readonly label: string;
  /** Of the column with the names. */
  readonly head: string;
  readonly query: UsageQuery;
  /** The order that the address says. */
  readonly param: string | undefined;
  readonly onSort: (param: string) => void;
}

/** The rows of one group, in an order. */
function Uses({ group, label, head, query, param, onSort }: UsesProps) {
  const uses = useUsage(query, group);
  const nameOf = (row: Usage): string => rowName(row, group);
  const values: SortValues<Usage> = { ...FIGURES, name: nameOf };
  const sort = sortFrom(param, values);
  const columns: readonly Column<Usage>[] = [
    {
      id: "name",
      head,
      isWide: true,
      isSortable: true,
      cell: (row) => <bdi title={nameOf(row)}>{nameOf(row)}</bdi>,
    },
    ...COLUMNS,
  ];
  return (
    <Panel isFlush title={label} actions={<UsageCsv query={query} group={group} what={label} />}>
      <Loaded state={uses} texts={{ ...STATE_TEXTS, failed: text("usageFailed") }}>
        {(rows) => (
          <Table
            label={label}
            columns={columns}
            rows={sortedRows(rows, sort, values)}
            rowKey={({ model, key_id }) => `${key_id} ${model}`}
            sort={sort}
            onSort={(chosen) => onSort(sortParam(chosen))}
            empty={<Empty title={text("noUsage")}>{text("noUsageText")}</Empty>}
          />
        )}
      </Loaded>
    </Panel>
  );
}

const FIGURES = {
  requests: ({ requests }: Usage) => requests,
  errors: ({ error_requests }: Usage) => error_requests,
  inputTokens: ({ input_tokens }: Usage) => input_tokens,
  outputTokens: ({ output_tokens }: Usage) => output_tokens,
  cost: (row: Usage) => reportFigures(row).costUsd,
};
const COLUMNS = (["requests", "errors", "inputTokens", "outputTokens", "cost"] as const).map(
  (id): Column<Usage> => ({
    id,
    head: text(id),
    align: "right",
    isSortable: true,
    cell: (row) => (id === "cost" ? formatUsd : formatCount)(FIGURES[id](row)),
  }),
);
