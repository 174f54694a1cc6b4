/** What the requests of a log are, counted (docs/rules/usage-reads.md#facets). */
import * as z from "zod";
import { notServed, usageLogFilterSchema } from "./usage.ts";

/** The fields that are counted by value, under the names of the filters that take the values. */
export const FACETS = ["status", "model", "tenant_id", "key_id", "error_code", "request_type"] as const;
export type Facet = (typeof FACETS)[number];

/** What `error_code` counts, and filters by, of requests that got an error of the upstream's own, which has no code. */
export const UPSTREAM_ERROR = "upstream_error";

/** Query of GET /usage/logs/facets. */
export const usageLogFacetsQuerySchema = usageLogFilterSchema;

const count = z.number().int();

/** Answer of GET /usage/logs/facets. */
export const usageLogFacetsSchema = z
  .object({
    from_ms: count.meta({ description: "Start of the period, Unix epoch in ms" }),
    to_ms: count.meta({ description: "End of the period; the time of the read if the period has no end" }),
    bucket_ms: count.meta({ description: "Width of a bucket" }),
    buckets: z
      .array(
        z.object({
          bucket_ms: count.meta({ description: "Start of the bucket, Unix epoch in ms" }),
          requests: count,
          ...notServed,
        }),
      )
      .meta({ description: "Ascending; empty buckets are missing" }),
    facets: z
      .array(
        z.object({
          facet: z.enum(FACETS).meta({ description: "The filter that takes the values" }),
          values: z
            .array(
              z.object({
                value: z.string(),
                name: z.string().meta({ description: "Name of the tenant or key; else empty" }),
                requests: count,
              }),
            )
            .meta({ description: "The 10 values with the most requests" }),
          has_more: z.boolean().meta({ description: "There are more values" }),
        }),
      )
      .meta({ description: "The counts of a facet follow all filters except its own" }),
  })
  .meta({ id: "UsageLogFacets" });
export type UsageLogFacets = z.infer<typeof usageLogFacetsSchema>;
