/** The columns of the table by model, tenant or endpoint. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { changedSearch } from "../../data/search-params.ts";
import type { ListColumn } from "../../forms/list/use-list-view.tsx";
import { serviceTexts } from "../../messages/en/service.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatMs, formatShare } from "../../ui/format.ts";
import type { ServiceGroup } from "./service-search.ts";
import type { HealthRow } from "./service-window.ts";

const text = texts("service", serviceTexts);

const COUNTS = [
  ["requests", "requests"],
  ["refused", "refused_requests"],
  ["failed", "failed_requests"],
  ["left", "left_requests"],
] as const;
const TIMES = [
  ["firstToken50", "p50_ttft_ms", false],
  ["firstToken95", "p95_ttft_ms", false],
  ["firstToken99", "p99_ttft_ms", true],
  ["total50", "p50_total_ms", false],
  ["total95", "p95_total_ms", false],
  ["total99", "p99_total_ms", true],
] as const;

/** What a row is about; what was deleted is called by its id. */
function groupName({ model, endpoint, tenant_id, tenant_name }: HealthRow, by: ServiceGroup): string {
  if (by === "tenant") return tenant_name === "" ? text("deleted", { id: tenant_id.slice(0, 8) }) : tenant_name;
  const name = model === "" ? text("noModel") : model;
  return by === "model" ? name : `${name}, ${endpoint === "" ? text("ownAddress") : endpoint}`;
}

export function serviceColumns(by: ServiceGroup): readonly ListColumn<HealthRow>[] {
  const share = ({ requests, failed_requests }: HealthRow): number | null =>
    requests === 0 ? null : failed_requests / requests;
  return [
    {
      id: "name",
      head: text(by),
      isWide: true,
      sortBy: (row) => groupName(row, by),
      cell: (row) => <GroupLink row={row} by={by} />,
    },
    ...COUNTS.map(
      ([id, field]): ListColumn<HealthRow> => ({
        id,
        head: text(id),
        align: "right",
        sortBy: (row) => row[field],
        cell: (row) => counted(id, row, by, formatCount(row[field])),
      }),
    ),
    {
      id: "failedShare",
      head: text("failedShare"),
      align: "right",
      sortBy: share,
      cell: (row) => formatShare(share(row)),
    },
    ...TIMES.map(
      ([id, field, isExtra]): ListColumn<HealthRow> => ({
        id,
        head: text(id),
        align: "right",
        isExtra,
        sortBy: (row) => row[field],
        cell: (row) => formatMs(row[field]),
        unit: "ms",
      }),
    ),
    {
      id: "speed",
      head: text("tokensSpeed"),
      align: "right",
      sortBy: ({ gen_tokens_per_sec }) => gen_tokens_per_sec,
      cell: ({ gen_tokens_per_sec }) => formatCount(gen_tokens_per_sec),
    },
  ];
}

/** Refusals and failures lead to their requests; of an endpoint there is no such list. */
function counted(id: (typeof COUNTS)[number][0], row: HealthRow, by: ServiceGroup, count: string): ReactNode {
  if (by === "endpoint" || id === "requests" || row[`${id}_requests`] === 0 || (by === "model" && row.model === ""))
    return count;
  return (
    <Link to="/logs" search={{ status: id, ...(by === "model" ? { model: row.model } : { tenant_id: row.tenant_id }) }}>
      {count}
    </Link>
  );
}

/** The name of a row leads to its own charts. */
function GroupLink({ row, by }: { readonly row: HealthRow; readonly by: ServiceGroup }) {
  const name = <bdi title={groupName(row, by)}>{groupName(row, by)}</bdi>;
  if (row.model === "" && by !== "tenant") return name;
  const change =
    by === "tenant"
      ? { tenant_id: row.tenant_id, by: "model" as const }
      : { model: row.model, ...(by === "endpoint" ? { endpoint: row.endpoint === "" ? "-" : row.endpoint } : {}) };
  return (
    <Link from="/service" to="/service" search={(before) => changedSearch(before, { ...change, sort: undefined })}>
      {name}
    </Link>
  );
}
