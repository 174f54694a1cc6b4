import type { ReactNode } from "react";
import type { UsageLog } from "../../../shared/schema/usage.ts";
import { oneLine } from "../../../shared/text/printable.ts";
import type { OperatorField } from "../../../shared/usage/usage-row.ts";
import { firstTokenMs } from "../../explain/request-phases.ts";
import { shownColumns } from "../../forms/list/list-columns.ts";
import { RowCost } from "../../forms/usage/cost.tsx";
import { logViewsTexts } from "../../messages/en/log-views.ts";
import { logsTexts } from "../../messages/en/logs.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, formatShortDay, formatTimeOfDay } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Badge, type Tone } from "../../ui/badge.tsx";
import { classNames } from "../../ui/class-names.ts";
import { formatCount, formatMs, formatText } from "../../ui/format.ts";
import type { Column } from "../../ui/table.tsx";
import classes from "./logs-page.module.css";
import { type LogsSearch, TYPE_TEXTS } from "./logs-search.ts";
import { outputTokensPerSec, requestReason } from "./request-reason.ts";

const text = texts("logs", logsTexts);
const viewText = texts("log-views", logViewsTexts);

/** A row as the browser gets it: a tenant's user does not get every field. */
export type SeenLog = Partial<UsageLog> & Pick<UsageLog, "request_id" | "ts_ms">;

interface LogColumn<Row = SeenLog> extends Omit<Column<Row>, "id" | "head"> {
  readonly id: string;
  /** What it is called. */
  readonly name: string;
  /** Shown only when it is chosen. */
  readonly isExtra?: boolean;
  /** A tenant's user does not get the field. Every other column reads only fields that users get. */
  readonly isForAdmins?: true;
}

type AdminColumn = LogColumn & { readonly isForAdmins: true };
type UserColumn = LogColumn<Omit<SeenLog, OperatorField>> & {
  readonly isForAdmins?: never;
  /** For admins, who see more fields. */
  readonly adminCell?: (row: SeenLog) => ReactNode;
};

const COLUMNS = [
  { id: "time", name: text("columnTime"), cell: (row) => <EndTime at={row.ts_ms} /> },
  { id: "tenant", name: text("tenant"), isForAdmins: true, cell: (row) => <Name of={row.tenant_name} /> },
  { id: "key", name: text("key"), cell: (row) => <Name of={keyName(row)} /> },
  { id: "model", name: text("model"), cell: (row) => <Name of={row.model} isLong /> },
  { id: "type", name: text("type"), isExtra: true, cell: (row) => typeWords(row) },
  { id: "status", name: text("status"), cell: (row) => <Status status={row.status_code} /> },
  {
    id: "reason",
    name: viewText("columnReason"),
    isWide: true,
    cell: (row) => reasonCell(requestReason(row)),
    adminCell: (row) => reasonCell(requestReason(row, row.attempts)),
  },
  { id: "queue", name: viewText("columnWait"), align: "right", cell: (row) => formatMs(row.queue_wait_ms) },
  { id: "first", name: text("columnFirst"), align: "right", cell: (row) => formatMs(firstTokenMs(row)) },
  {
    id: "gateway",
    name: text("columnGateway"),
    isExtra: true,
    align: "right",
    cell: (row) => formatMs(row.gateway_ms),
  },
  { id: "total", name: text("columnTotal"), align: "right", cell: (row) => formatMs(row.total_ms) },
  {
    id: "speed",
    name: viewText("columnSpeed"),
    isExtra: true,
    align: "right",
    cell: (row) => formatCount(outputTokensPerSec(row)),
  },
  {
    id: "tokens",
    name: text("columnTokens"),
    isExtra: true,
    align: "right",
    cell: (row) => formatCount(row.total_tokens),
  },
  {
    id: "input",
    name: text("columnInput"),
    isExtra: true,
    align: "right",
    cell: (row) => formatCount(row.input_tokens),
  },
  {
    id: "output",
    name: text("columnOutput"),
    isExtra: true,
    align: "right",
    cell: (row) => formatCount(row.output_tokens),
  },
  { id: "cost", name: text("columnCost"), align: "right", cell: (row) => <RowCost row={row} /> },
  {
    id: "attempts",
    name: text("columnAttempts"),
    isExtra: true,
    isForAdmins: true,
    align: "right",
    cell: (row) => formatCount(row.attempts),
  },
  {
    id: "endpoint",
    name: text("columnEndpoint"),
    isExtra: true,
    isForAdmins: true,
    cell: (row) => <Name of={row.endpoint === "" && row.attempts ? text("baseUrl") : row.endpoint} />,
  },
  { id: "cell", name: text("cell"), isExtra: true, isForAdmins: true, cell: (row) => <Name of={row.cell} /> },
  { id: "cache", name: text("cache"), isExtra: true, cell: (row) => <Cache status={row.cache_status} /> },
] as const satisfies readonly (AdminColumn | UserColumn)[];
type ColumnId = (typeof COLUMNS)[number]["id"];

/** The columns that a reader can have. */
export function columnsFor(role: "admin" | "user"): readonly LogColumn[] {
  const columns: readonly (AdminColumn | (UserColumn & LogColumn))[] = COLUMNS;
  if (role === "user") return columns.filter(({ isForAdmins }) => isForAdmins !== true);
  return columns.map((column) => ({
    ...column,
    cell: column.isForAdmins ? column.cell : (column.adminCell ?? column.cell),
  }));
}

/** What some of them say of one request, with their names, in the order of `ids`. */
export function columnFacts(row: SeenLog, role: "admin" | "user", ids: readonly ColumnId[]) {
  const wanted = ids.flatMap((one) => columnsFor(role).filter(({ id }) => id === one));
  return wanted.map(({ name, cell }) => [name, cell(row)] as const);
}

/**
 * Those of them that an address names; when it names none that there is, the usual ones without those that are the same in
 * every row. Of several tenants the keys are left out: reason and cost need the room.
 */
export function chosenColumns(search: LogsSearch, role: "admin" | "user"): readonly LogColumn[] {
  const isOfOne = role === "user" || search.tenant_id !== undefined;
  const same = new Set([
    search.tenant_id && "tenant",
    (!isOfOne || search.key_id !== undefined) && "key",
    search.model && "model",
  ]);
  const columns = columnsFor(role).map((column) => ({
    ...column,
    isExtra: column.isExtra === true || same.has(column.id),
  }));
  return shownColumns(columns, search.columns);
}

/** Columns as the table takes them. */
export function tableColumns(columns: readonly LogColumn[]): readonly Column<SeenLog>[] {
  return columns.map(({ id, name, cell, align, isWide }) => ({
    id,
    cell,
    head: name,
    ...(align === undefined ? {} : { align }),
    ...(isWide === undefined ? {} : { isWide }),
  }));
}

/** A text from outside, in one line, cut off where it is too long; its direction does not reach what is beside it. */
export function Name({ of, isLong = false }: { readonly of: string | undefined; readonly isLong?: boolean }) {
  const shown = formatText(of === undefined ? of : oneLine(of));
  return (
    <bdi className={classNames(classes["name"], isLong && classes["long"])} title={shown}>
      {shown}
    </bdi>
  );
}

function Status({ status }: { readonly status: number | undefined }) {
  if (status === undefined) return formatText(undefined);
  return <Badge tone={toneOf(status)}>{status === 0 ? formatText("") : status}</Badge>;
}

/** Takes the room that is left. */
function reasonCell(reason: string | undefined): ReactNode {
  return reason === undefined ? formatText(reason) : <bdi title={reason}>{reason}</bdi>;
}

/** What kind of request it was. */
export function typeWords({ request_type: type }: SeenLog): string {
  return type !== undefined && Object.hasOwn(TYPE_TEXTS, type) ? text(TYPE_TEXTS[type]) : formatText(type);
}

/** What a key is called: its name, else the beginning of its secret. */
export function keyName({ key_name, key_prefix }: SeenLog): string | undefined {
  return key_name === "" || key_name === undefined ? key_prefix : key_name;
}

function toneOf(status: number): Tone {
  if (status >= 500) return "bad";
  if (status >= 400) return "warn";
  return status >= 200 ? "good" : "neutral";
}

function EndTime({ at }: { readonly at: number }) {
  const { zone } = useZone();
  return (
    <span title={formatInstant(zone, at, "ms")}>
      {formatShortDay(zone, at)} {formatTimeOfDay(zone, at, "second")}
    </span>
  );
}

function Cache({ status }: { readonly status: UsageLog["cache_status"] | undefined }) {
  if (status === "hit") return <Badge tone="accent">{text("cacheHit")}</Badge>;
  return formatText(status === "miss" ? text("cacheMiss") : undefined);
}
