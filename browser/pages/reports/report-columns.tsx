/** The columns of a report: what a row is about, and its figures; below them the sums. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { changedSearch } from "../../data/search-params.ts";
import type { ListColumn } from "../../forms/list/use-list-view.tsx";
import { Cost } from "../../forms/usage/cost.tsx";
import type { ReportFigures } from "../../forms/usage/report-figures.ts";
import { rowName } from "../../forms/usage/row-name.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatEnergy, formatMass, formatUsd } from "../../ui/format.ts";
import { Usd } from "../../ui/usd.tsx";
import type { ReportRow } from "./report-words.ts";
import type { ReportGroup } from "./reports-search.ts";

const text = texts("reports", reportsTexts);

/** A row with its figures. */
export interface ReportLine {
  readonly row: ReportRow;
  readonly figures: ReportFigures;
}

interface FigureColumn {
  readonly id: keyof ReportFigures;
  readonly head: keyof typeof reportsTexts;
  /** It is not known where the energy was not measured. */
  readonly isMeasured?: boolean;
  readonly format: (amount: number | null) => string;
  readonly unit?: string;
}

const FIGURES: readonly FigureColumn[] = [
  { id: "requests", head: "requests", format: formatCount },
  { id: "errors", head: "errors", format: formatCount },
  { id: "inputTokens", head: "input", format: formatCount },
  { id: "outputTokens", head: "output", format: formatCount },
  { id: "costUsd", head: "cost", format: formatUsd, unit: "USD" },
  { id: "energyWh", head: "energy", isMeasured: true, format: formatEnergy, unit: "Wh" },
  { id: "energyCostUsd", head: "energyCost", isMeasured: true, format: formatUsd, unit: "USD" },
  { id: "co2Grams", head: "carbon", isMeasured: true, format: formatMass, unit: "g" },
];

interface ColumnsOptions {
  readonly by: ReportGroup;
  readonly totals: ReportFigures;
  /** How the name of a row is shown. */
  readonly name: (row: ReportRow) => ReactNode;
  /** Tenants are named in a column of their own. */
  readonly hasTenant: boolean;
  /** What the power has cost the operator, which is no tenant's. */
  readonly hasEnergyCost: boolean;
}

/** The columns. */
export function reportColumns(options: ColumnsOptions): readonly ListColumn<ReportLine>[] {
  const { by, totals, name, hasTenant, hasEnergyCost } = options;
  const shownFigures = FIGURES.filter(({ id }) => id !== "energyCostUsd" || hasEnergyCost);
  const figures = shownFigures.map((column): ListColumn<ReportLine> => {
    const { id, head, isMeasured } = column;
    const { format } = column;
    const shown = (amount: number | null): ReactNode => {
      if (id === "costUsd") return <Cost usd={amount} />;
      if (id === "energyCostUsd" && amount !== null) return <Usd usd={amount} />;
      return amount === null && isMeasured ? <NotMeasured>{format(amount)}</NotMeasured> : format(amount);
    };
    return {
      id,
      head: text(head),
      align: "right",
      sortBy: ({ figures: own }) => own[id],
      cell: (line) => shown(line.figures[id]),
      foot: shown(totals[id]),
      ...(column.unit === undefined ? {} : { unit: column.unit }),
    };
  });
  const tenant: ListColumn<ReportLine> = {
    id: "tenant",
    head: text("tenant"),
    sortBy: ({ row }) => row.tenant_name || null,
    cell: ({ row }) => <bdi>{row.tenant_name === "" ? text("unknown") : row.tenant_name}</bdi>,
  };
  return [
    {
      id: "name",
      head: text(by),
      isWide: by !== "day",
      sortBy: ({ row }) => (by === "day" ? row.day : rowName(row, by)),
      cell: ({ row }) => name(row),
      foot: text("total"),
    },
    ...(hasTenant && by === "key" ? [tenant] : []),
    ...figures,
  ];
}

/** A dash with its reason; settings are named to those who can open them. */
function NotMeasured({ children }: { readonly children: string }) {
  const { role } = useCurrentUser();
  return <span title={text(role === "user" ? "noEnergyUser" : "noEnergy")}>{children}</span>;
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
