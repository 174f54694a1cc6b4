/**
 * The parts of a Prometheus rule file and of a scrape configuration that ours use. The schema is strict, so that a
 * misspelled field, which Prometheus would refuse at its start, is found.
 */
import * as z from "zod";

const duration = z.string().regex(/^([1-9]\d*(ms|s|m|h|d))+$/, "must be a duration such as 5m");
const oneLine = z
  .string()
  .min(1)
  .regex(/^[^\n]*$/, "must be one line");

const alertRuleSchema = z.strictObject({
  alert: z.string().regex(/^Gateway[A-Za-z]+$/, "must start with Gateway"),
  expr: z.string().min(1),
  for: duration.optional(),
  labels: z.strictObject({ severity: z.enum(["critical", "warning", "info"]) }),
  annotations: z.strictObject({ runbook_url: oneLine, summary: oneLine, description: oneLine.optional() }),
});

export const ruleFileSchema = z.strictObject({
  groups: z
    .array(
      z.strictObject({
        name: z.string().min(1),
        interval: duration.optional(),
        rules: z.array(alertRuleSchema).min(1),
      }),
    )
    .min(1),
});

export const scrapeFileSchema = z.strictObject({
  scrape_configs: z.array(
    z.strictObject({
      job_name: z.string(),
      scrape_interval: duration,
      static_configs: z.array(z.strictObject({ targets: z.array(z.string().regex(/^[^:/]+:\d+$/)) })),
    }),
  ),
  rule_files: z.array(z.string()),
});
