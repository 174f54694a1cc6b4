import { reportFigures } from "../../forms/usage/report-figures.ts";
import { rowName } from "../../forms/usage/row-name.ts";
import { reportsTexts } from "../../messages/en/reports.ts";
import { texts } from "../../messages/texts.ts";
import { Notice } from "../../ui/states.tsx";
import type { ReportRow } from "./report-words.ts";

const text = texts("reports", reportsTexts);
const NAMES_MAX = 20;

/** Names the models whose use is not in the spend, because they had no price. */
export function Unpriced({ models }: { readonly models: readonly ReportRow[] | undefined }) {
  const names = (models ?? []).filter((row) => reportFigures(row).costUsd === null).map((row) => rowName(row, "model"));
  if (names.length === 0) return null;
  const listed = names.length > NAMES_MAX ? [...names.slice(0, NAMES_MAX), "…"] : names;
  return <Notice tone="warn">{text("unpriced", { count: names.length, models: listed.join(", ") })}</Notice>;
}
