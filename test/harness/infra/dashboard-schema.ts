/**
 * The parts of a Grafana dashboard (schema version 41) that ours uses. The schema is strict, so that a field that Grafana
 * would ignore is found. A dashboard that was changed in Grafana and exported passes after its unused fields are removed.
 */
import * as z from "zod";

const datasource = z.strictObject({
  type: z.literal("prometheus"),
  uid: z.string().regex(/^\$\{datasource\}$/, "must be the dashboard's variable"),
});
const position = z.strictObject({
  h: z.number().int().min(1),
  w: z.number().int().min(1).max(24),
  x: z.number().int().min(0).max(23),
  y: z.number().int().min(0),
});

const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/),
  expr: z.string().min(1),
  legendFormat: z.string(),
  datasource,
  editorMode: z.literal("code"),
  range: z.boolean(),
  instant: z.boolean(),
});

const threshold = z.strictObject({ color: z.string(), value: z.number().nullable() });
const fieldConfig = z.strictObject({
  defaults: z.strictObject({
    unit: z.enum(["reqps", "short", "ms", "s", "bytes", "percentunit", "cps", "none", "decbytes"]),
    min: z.number().optional(),
    max: z.number().optional(),
    color: z.strictObject({ mode: z.enum(["palette-classic", "thresholds"]) }),
    thresholds: z.strictObject({ mode: z.literal("absolute"), steps: z.array(threshold).min(1) }),
    custom: z
      .strictObject({
        drawStyle: z.literal("line"),
        fillOpacity: z.number(),
        lineWidth: z.number(),
        showPoints: z.literal("never"),
        stacking: z.strictObject({ mode: z.enum(["none", "normal"]), group: z.literal("A") }),
      })
      .optional(),
  }),
  overrides: z.array(z.never()),
});

const chart = {
  id: z.number().int().min(1),
  title: z.string().min(1),
  description: z.string().min(1),
  gridPos: position,
  datasource,
  targets: z.array(target).min(1),
  fieldConfig,
};

const panelSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("row"),
    id: z.number().int().min(1),
    title: z.string().min(1),
    collapsed: z.literal(false),
    gridPos: position,
    panels: z.array(z.never()),
  }),
  z.strictObject({
    type: z.literal("timeseries"),
    ...chart,
    options: z.strictObject({
      legend: z.strictObject({
        displayMode: z.literal("list"),
        placement: z.literal("bottom"),
        showLegend: z.boolean(),
      }),
      tooltip: z.strictObject({ mode: z.literal("multi"), sort: z.literal("desc") }),
    }),
  }),
  z.strictObject({
    type: z.literal("stat"),
    ...chart,
    options: z.strictObject({
      colorMode: z.literal("value"),
      graphMode: z.enum(["area", "none"]),
      reduceOptions: z.strictObject({
        calcs: z.tuple([z.literal("lastNotNull")]),
        fields: z.literal(""),
        values: z.literal(false),
      }),
      textMode: z.literal("auto"),
    }),
  }),
]);
export type Panel = z.infer<typeof panelSchema>;

const variable = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("datasource"),
    name: z.literal("datasource"),
    label: z.string(),
    query: z.literal("prometheus"),
  }),
  z.strictObject({
    type: z.literal("query"),
    name: z.literal("cell"),
    label: z.string(),
    datasource,
    query: z.strictObject({ query: z.string(), refId: z.string() }),
    definition: z.string(),
    refresh: z.literal(2),
    includeAll: z.literal(true),
    multi: z.literal(true),
    allValue: z.literal(".*"),
    sort: z.literal(1),
  }),
]);

export const dashboardSchema = z.strictObject({
  uid: z.string().regex(/^[a-z0-9-]{1,40}$/),
  title: z.string().min(1),
  description: z.string().min(1),
  tags: z.array(z.string()),
  schemaVersion: z.literal(41),
  version: z.number().int(),
  editable: z.boolean(),
  graphTooltip: z.literal(1),
  refresh: z.string().regex(/^\d+[sm]$/),
  time: z.strictObject({ from: z.string(), to: z.literal("now") }),
  timezone: z.literal("browser"),
  templating: z.strictObject({ list: z.array(variable) }),
  annotations: z.strictObject({ list: z.array(z.never()) }),
  links: z.array(z.never()),
  panels: z.array(panelSchema).min(1),
});
