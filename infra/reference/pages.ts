/** Every file that is written from the catalogues: the pages of docs/reference, the names of variables, and the dashboard. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dashboardText } from "../grafana/dashboard.ts";
import { SECTIONS } from "../grafana/panels.ts";
import { alertsPage } from "./alerts.ts";
import { errorCodesPage, limitsPage, logEventsPage, usageRowPage } from "./lists.ts";
import { metricsPage } from "./metrics.ts";
import { variableNamesModule, variablesPage } from "./variables.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Path below `root`, and text. */
export function writtenFiles(root = ROOT): readonly (readonly [path: string, text: string])[] {
  const rules = readFileSync(join(root, "infra/grafana/alerts.yml"), "utf8");
  return [
    ["docs/reference/variables.md", variablesPage()],
    ["shared/env/variable-names.ts", variableNamesModule()],
    ["docs/reference/metrics.md", metricsPage()],
    ["docs/reference/alerts.md", alertsPage(rules)],
    ["docs/reference/log-events.md", logEventsPage()],
    ["docs/reference/error-codes.md", errorCodesPage()],
    ["docs/reference/limits.md", limitsPage()],
    ["docs/reference/usage-row.md", usageRowPage()],
    ["infra/grafana/dashboard.json", dashboardText(SECTIONS)],
  ];
}
