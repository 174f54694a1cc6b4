/** docs/reference/alerts.md, from the alerts, the rules of Prometheus, and the kinds of attention. Pure. */
import { parse } from "yaml";
import { z } from "zod";
import { explainTexts } from "../../browser/messages/en/explain.ts";
import { ALERT_TEXTS } from "../../shared/catalogues/alert-texts.ts";
import { ALERT_SEVERITIES, ALERT_TITLES, type AlertKey } from "../../shared/catalogues/alerts.ts";
import { ATTENTION_KINDS, type AttentionItem } from "../../shared/schema/attention.ts";
import { linked, pageHead } from "./markdown.ts";
import { ATTENTION_ACTIONS, RULE_ACTIONS } from "./rule-texts.ts";

const INTRO = [
  "What to do when the gateway needs an operator: [alerts of the gateway](#alerts-of-the-gateway) by key, [Prometheus rules](#rules-of-prometheus) by name, and entries of [what needs attention](#attention) by kind.",
  "Always start with three questions:",
  "1. `gateway doctor` ([the doctor](docs/watch.md#the-doctor)): which parts do not answer, and which have a wrong clock, certificate or permission?\n2. `gateway attention` and `gateway alerts`: what does the gateway itself report, most urgent first?\n3. Do applications notice? See the panels _Failed_ and _Requests by status_, and `GET /api/v1/usage/logs?status=error`. During most of these alerts, requests are still served.",
].join("\n\n");

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.object({ severity: z.string() }),
          annotations: z.object({ summary: z.string(), description: z.string().optional() }),
        }),
      ),
    }),
  ),
});

/** The page; `rules`: the text of infra/grafana/alerts.yml. */
export function alertsPage(rules: string): string {
  return [
    pageHead("Alerts", INTRO, [
      "shared/catalogues/alerts.ts",
      "shared/catalogues/alert-texts.ts",
      "infra/reference/rule-texts.ts",
      "infra/grafana/alerts.yml",
    ]),
    "## Alerts of the gateway\n",
    linked(
      "These alerts go to the channels in `settings/alerts`, to the log, and to `GET /api/v1/alerts` ([how](docs/watch.md#alerts)). Some issue keys end with the tenant, API key, model, server or provider that the alert is about. _critical_: a model or a part of the gateway does not serve, or data is lost. _warning_: somebody must act soon. _info_: nobody must act.\n",
    ),
    ...alertSections(),
    "## Rules of Prometheus\n",
    "`infra/grafana/alerts.yml` has rules for what the gateway cannot report itself, because it is down or because the problem only shows over time.\n",
    ...ruleSections(rules),
    "## Attention\n",
    linked(
      "`GET /api/v1/overview/attention`, `gateway attention` and the console's Overview page list these entries, most urgent first ([rules](docs/rules/attention.md)).\n",
    ),
    ...ATTENTION_KINDS.map(attentionSection),
  ].join("\n");
}

const section = (level: string, name: string, means: string, action: string): string =>
  `${level} ${name}\n\n${linked(means)}\n\n${action.includes("\n") ? `**What to do.** ${linked(action).replace("\n", "\n\n")}` : `**What to do.** ${linked(action)}`}\n`;

function alertSections(): readonly string[] {
  const keys = Object.keys(ALERT_TITLES) as AlertKey[];
  return [...Map.groupBy(keys, (key) => ALERT_TEXTS[key].subject)].flatMap(([subject, group]) => [
    `### ${subject}\n`,
    ...group.map((key) => {
      const { of, means, action } = ALERT_TEXTS[key];
      const whose = of === undefined ? "" : ` The issue key ends with the ${of}.`;
      return section("####", key, `_${ALERT_TITLES[key]}_ (${ALERT_SEVERITIES[key]}). ${means}${whose}`, action);
    }),
  ]);
}

function ruleSections(text: string): readonly string[] {
  const { groups } = rulesSchema.parse(parse(text));
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, for: lasting, labels, annotations: { summary, description } }) => {
      const when = `${labels.severity}${lasting === undefined ? "" : `, after ${lasting}`}: \`${expr.trim().replaceAll(/\s+/g, " ")}\``;
      const means = [`_${withoutTemplates(summary)}._`, withoutTemplates(description ?? ""), `(${when})`].filter(
        Boolean,
      );
      return section("###", alert, means.join(" "), RULE_ACTIONS[alert] ?? "");
    }),
  );
}

/** `{{ $labels.cell }}` as `<cell>`, and the value of the expression as `<value>`. */
function withoutTemplates(text: string): string {
  return text
    .trim()
    .replaceAll(/\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}/g, "<$1>")
    .replaceAll(/<\w+>/g, "`$&`");
}

function attentionSection(kind: AttentionItem["kind"]): string {
  const title = explainTexts[`attention_${kind}`].replaceAll("{name}", "`<name>`");
  const means = `_${title}._ ${explainTexts[`attention_${kind}_text`]}`;
  return section("###", kind, means, ATTENTION_ACTIONS[kind]);
}
