/** The columns of a report: what a row is about, and its figures; below them the sums. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { changedSearch } from "../../data/search-params.ts";
import type { ReportFigures } from "../../forms/usage/report-figures.ts";
import { rowName } from "../../forms/usage/row-name.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatEnergy, formatMass, formatUsd, usdDecimals } from "../../ui/format.ts";
import type { SortValues } from "../../ui/sorted.ts";
import type { Column } from "../../ui/table.tsx";
import type { ReportRow } from "./report-words.ts";
import type { ReportGroup } from "./reports-search.ts";

const text = texts("reports", reportsTexts);

/** A row with its figures. */
export interface ReportLine {
  readonly row: ReportRow;
  readonly figures: ReportFigures;
}

/** By what the rows can be put in order. */
export function reportSorts(by: ReportGroup): SortValues<ReportLine> {
  return {
    name: ({ row }) => (by === "day" ? row.day : rowName(row, by)),
    ...Object.fromEntries(FIGURES.map(({ id }) => [id, ({ figures }: ReportLine) => figures[id]] as const)),
  };
}

interface FigureColumn {
  readonly id: keyof ReportFigures;
  readonly head: keyof typeof reportsTexts;
  /** Why it is not known, where it is not. */
  readonly why?: "noPrice" | "noEnergy";
  readonly format: (amount: number | null) => string;
}

const FIGURES: readonly FigureColumn[] = [
  { id: "requests", head: "requests", format: formatCount },
  { id: "errors", head: "errors", format: formatCount },
  { id: "inputTokens", head: "input", format: formatCount },
  { id: "outputTokens", head: "output", format: formatCount },
  { id: "costUsd", head: "cost", why: "noPrice", format: formatUsd },
  { id: "energyWh", head: "energy", why: "noEnergy", format: formatEnergy },
  { id: "energyCostUsd", head: "energyCost", why: "noEnergy", format: formatUsd },
  { id: "co2Grams", head: "carbon", why: "noEnergy", format: formatMass },
];

interface ColumnsOptions {
  readonly by: ReportGroup;
  readonly lines: readonly ReportLine[];
  readonly totals: ReportFigures;
  /** How the name of a row is shown. */
  readonly name: (row: ReportRow) => ReactNode;
  readonly isSortable: boolean;
  /** Tenants are named in a column of their own. */
  readonly hasTenant: boolean;
}

/** The columns; USD has as many decimals as its column needs, so that it adds up. */
export function reportColumns(options: ColumnsOptions): readonly Column<ReportLine>[] {
  const { by, lines, totals, name, isSortable, hasTenant } = options;
  const figures = FIGURES.map((column): Column<ReportLine> => {
    const { id, head, why } = column;
    const isUsd = id === "costUsd" || id === "energyCostUsd";
    const decimals = isUsd ? usdDecimals([totals[id], ...lines.map((line) => line.figures[id])]) : 0;
    const format = isUsd ? (usd: number | null) => formatUsd(usd, decimals) : column.format;
    const shown = (amount: number | null): ReactNode =>
      amount === null && why !== undefined ? <Unknown why={why}>{format(amount)}</Unknown> : format(amount);
    return {
      id,
      head: text(head),
      align: "right",
      isSortable,
      cell: (line) => shown(line.figures[id]),
      foot: shown(totals[id]),
    };
  });
  const tenant: Column<ReportLine> = {
    id: "tenant",
    head: text("tenant"),
    cell: ({ row }) => <bdi>{row.tenant_name === "" ? text("unknown") : row.tenant_name}</bdi>,
  };
  return [
    { id: "name", head: text(by), isWide: by !== "day", isSortable, cell: ({ row }) => name(row), foot: text("total") },
    ...(hasTenant && by === "key" ? [tenant] : []),
    ...figures,
  ];
}

/** A dash with its reason; settings are named to those who can open them. */
function Unknown({ why, children }: { readonly why: "noPrice" | "noEnergy"; readonly children: string }) {
  const { role } = useCurrentUser();
  return <span title={text(why === "noEnergy" && role === "user" ? "noEnergyUser" : why)}>{children}</span>;
}

/** The name of a row; a tenant or a model leads to its own report. */
export function RowName({ row, by }: { readonly row: ReportRow; readonly by: ReportGroup }) {
  const name = rowName(row, by);
  const said = <bdi title={name}>{name}</bdi>;
  if (by === "tenant" && row.tenant_name !== "")
    return (
      <Link
        from="/reports"
        to="/reports"
        search={(before) => changedSearch(before, { tenant_id: row.tenant_id, by: "model", sort: undefined })}
      >
        {said}
      </Link>
    );
  if (by === "model" && row.model !== "")
    return (
      <Link
        from="/reports"
        to="/reports"
        search={(before) => changedSearch(before, { model: row.model, by: "key", sort: undefined })}
      >
        {said}
      </Link>
    );
  if (by === "key" && row.key_prefix !== "")
    return (
      <Link to="/keys" search={{ key_id: row.key_id }}>
        {said}
      </Link>
    );
  return said;
}
