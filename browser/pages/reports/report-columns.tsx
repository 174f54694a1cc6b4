/** The columns of a report: what a row is about, and its figures; below them the sums. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useCurrentUser } from "../../data/current-user.ts";
import { changedSearch } from "../../data/search-params.ts";
import type { ListColumn } from "../../forms/list/use-list-view.tsx";
import { Cost } from "../../forms/usage/cost.tsx";
import type { ReportFigures } from "../../forms/usage/report-figures.ts";
import { type GroupOfRow, rowName } from "../../forms/usage/row-name.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { formatCount, formatEnergy, formatMass, formatShare, formatText, formatUsd } from "../../ui/format.ts";
import { Usd } from "../../ui/usd.tsx";
import { changeFrom, type ReportLine, unlessUnpriced } from "./report-lines.ts";
import type { ReportGroup } from "./reports-search.ts";

const text = texts("reports", reportsTexts);

interface FigureColumn {
  readonly id: keyof ReportFigures;
  readonly head: keyof typeof reportsTexts;
  /** It is not known where the energy was not measured. */
  readonly isMeasured?: boolean;
  /** Shown at once on a statement only. */
  readonly isExtra?: boolean;
  readonly format: (amount: number | null) => string;
  readonly unit?: string;
}

const FIGURES: readonly FigureColumn[] = [
  { id: "requests", head: "requests", format: formatCount },
  { id: "refused", head: "refused", format: formatCount, isExtra: true },
  { id: "failed", head: "failed", format: formatCount, isExtra: true },
  { id: "inputTokens", head: "input", format: formatCount },
  { id: "outputTokens", head: "output", format: formatCount },
  { id: "costUsd", head: "cost", format: formatUsd, unit: "USD" },
  { id: "energyWh", head: "energy", isMeasured: true, format: formatEnergy, unit: "Wh", isExtra: true },
  { id: "energyCostUsd", head: "energyCost", isMeasured: true, format: formatUsd, unit: "USD", isExtra: true },
  { id: "co2Grams", head: "carbon", isMeasured: true, format: formatMass, unit: "g", isExtra: true },
];

/** Sums of what a report is compared with. */
interface ComparedTotals {
  /** The days of `beforeUsd`, in words. */
  readonly before: string;
  readonly beforeUsd: number | null | undefined;
  /** Of this month; undefined: another period is shown. */
  readonly month: { readonly lastMonthUsd: number; readonly forecastUsd: number | null } | undefined;
}

interface ColumnsOptions {
  readonly by: ReportGroup;
  readonly totals: ReportFigures;
  /** Absent on a statement, which has its month alone. */
  readonly compared?: ComparedTotals;
  /** How the name of a row is shown. */
  readonly name: (row: GroupOfRow) => ReactNode;
  /** Tenants are named in a column of their own. */
  readonly hasTenant: boolean;
  /** What the power has cost the operator, which is no tenant's. */
  readonly hasEnergyCost: boolean;
}

type LineColumn = ListColumn<ReportLine>;

/** The columns. */
export function reportColumns(options: ColumnsOptions): readonly LineColumn[] {
  const { by, totals, compared, name, hasTenant, hasEnergyCost } = options;
  // A statement has every column that has a value; elsewhere they are chosen.
  const isMissing = ({ id, isMeasured = false }: FigureColumn): boolean =>
    compared === undefined && isMeasured && totals[id] === null;
  const shownFigures = FIGURES.filter((one) => (one.id !== "energyCostUsd" || hasEnergyCost) && !isMissing(one));
  const figures = shownFigures.map((column): LineColumn => {
    const { id, head, isMeasured, isExtra = false } = column;
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
      isExtra: isExtra && compared !== undefined,
      sortBy: ({ figures: own }) => own[id],
      cell: (line) => shown(line.figures[id]),
      foot: shown(totals[id]),
      ...(column.unit === undefined ? {} : { unit: column.unit }),
    };
  });
  const tenant: LineColumn = {
    id: "tenant",
    head: text("tenant"),
    sortBy: ({ row }) => row.tenant_name || null,
    cell: ({ row }) => <bdi>{formatText(row.tenant_name)}</bdi>,
  };
  const first: LineColumn = {
    id: "name",
    head: text(by),
    isWide: by !== "day",
    sortBy: ({ row }) => (by === "day" ? (row.day ?? "") : rowName(row, by)),
    cell: ({ row }) => name(row),
    foot: text("total"),
  };
  const names = [first, ...(hasTenant && (by === "key" || by === "end_user") ? [tenant] : [])];
  if (compared === undefined) return [...names, ...figures];
  const [spend, others] = [figures.filter(({ id }) => id === "costUsd"), figures.filter(({ id }) => id !== "costUsd")];
  return [...names, ...spend, ...(by === "day" ? [] : comparedColumns(totals, compared)), ...others];
}

/** Spend before, the change, and what this month will cost. */
function comparedColumns(totals: ReportFigures, { before, beforeUsd, month }: ComparedTotals): readonly LineColumn[] {
  const usd = (
    id: "beforeUsd" | "lastMonthUsd" | "forecastUsd",
    head: string,
    foot: number | null | undefined,
  ): LineColumn => ({
    id,
    head,
    align: "right",
    sortBy: (line) => line[id] ?? null,
    cell: (line) => <Usd usd={line[id]} />,
    foot: <Usd usd={unlessUnpriced(totals.costUsd, foot ?? null)} />,
    unit: "USD",
  });
  const change: LineColumn = {
    id: "change",
    head: text("change"),
    align: "right",
    sortBy: (line) => line.change ?? null,
    cell: (line) => changeText(line.change),
    foot: changeText(beforeUsd == null ? beforeUsd : changeFrom(beforeUsd, totals.costUsd)),
  };
  const ofMonth =
    month === undefined
      ? []
      : [
          usd("forecastUsd", text("forecast"), month.forecastUsd),
          { ...usd("lastMonthUsd", text("lastMonth"), month.lastMonthUsd), isExtra: true },
        ];
  return [usd("beforeUsd", before, beforeUsd), change, ...ofMonth];
}

/** `+12.5%`; a group that is new has no part of nothing. */
export function changeText(change: number | null | undefined): string {
  if (change === Number.POSITIVE_INFINITY) return text("isNew");
  return `${(change ?? 0) > 0 ? "+" : ""}${formatShare(change)}`;
}

/** A dash with its reason; settings are named to those who can open them. */
function NotMeasured({ children }: { readonly children: string }) {
  const { role } = useCurrentUser();
  return <span title={text(role === "user" ? "noEnergyUser" : "noEnergy")}>{children}</span>;
}

/** The name of a row; a tenant or a model leads to its own report. */
export function RowName({ row, by }: { readonly row: GroupOfRow; readonly by: ReportGroup }) {
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
