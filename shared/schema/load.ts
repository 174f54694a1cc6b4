/**
 * Live load as admins read it: capacity, the scheduler now and over the last hour (docs/rules/fairshare.md#live-view,
 * docs/rules/fairshare.md#capacity). The answers of the cells have the same shapes.
 */
import * as z from "zod";
import { CAPACITY_REASONS } from "../fields/model-fields.ts";
import { revField, whole } from "./common.ts";

const load = { in_flight: z.number().int(), queued: z.number().int() };
const shares = {
  served_tokens: z.number(),
  share_score: z.number(),
  weight_share: z.number(),
  expected_slots: z.number(),
};

/** The requests of one tenant for one model that are held up by the same limit (docs/rules/fairshare.md#why-a-request-waits). */
const waitingQueueSchema = z
  .object({
    tenant_id: z.string(),
    tenant: z.string(),
    group: z.string(),
    model: z.string(),
    queued: z.number().int(),
    oldest_wait_ms: z.number().int(),
    reason: z.enum(["cell_full", "headroom", "tenant_cap", "model_cap", "group_share", "tenant_share", "budget"]),
  })
  .meta({ id: "WaitingQueue" });
export type WaitingQueue = z.infer<typeof waitingQueueSchema>;

/** A model in the mode `adaptive` in this cell (docs/rules/adaptive-capacity.md). `changes`: the newest first. */
const adaptiveCapacitySchema = z
  .object({
    model: z.string(),
    capacity: z.number().int(),
    min: z.number().int(),
    max: z.number().int(),
    changes: z.array(
      z.object({
        ts_ms: z.number().int(),
        from: z.number().int(),
        to: z.number().int(),
        reason: z.enum(CAPACITY_REASONS),
      }),
    ),
  })
  .meta({ id: "AdaptiveCapacity" });
export type AdaptiveCapacity = z.infer<typeof adaptiveCapacitySchema>;

/** GET /fairshare/live */
export const fairshareLiveSchema = z
  .object({
    cell: z.string(),
    ts_ms: z.number().int(),
    algorithm: z.enum(["weighted", "hierarchical"]),
    max_in_flight: z.number().int(),
    headroom: z.number().int(),
    global_in_flight: z.number().int(),
    global_queued: z.number().int(),
    batch_in_flight: z.number().int().meta({ description: "Slots that lines of batches hold" }),
    batch_queued: z.number().int().meta({ description: "Lines of batches that wait for an idle slot in this cell" }),
    groups: z.array(z.object({ name: z.string(), weight: z.number(), ...load, slot_cap: z.number().int(), ...shares })),
    tenants: z.array(
      z.object({
        tenant_id: z.string(),
        name: z.string(),
        fairshare_group: z.string(),
        weight: z.number(),
        ...load,
        max_in_flight: z.number().int().nullable(),
        ...shares,
      }),
    ),
    model_in_flight: z.record(z.string(), z.number().int()),
    model_queued: z.record(z.string(), z.number().int()),
    waiting: z.array(waitingQueueSchema),
    waiting_cells: z.array(z.string()),
    adaptive: z.array(adaptiveCapacitySchema),
  })
  .meta({ id: "FairshareLive" });
export type FairshareLive = z.infer<typeof fairshareLiveSchema>;

/** GET /tenants/{id}/load */
export const tenantLoadSchema = z
  .object({
    in_flight: z.number().int().meta({ description: "Running requests, in all cells that respond" }),
    queued: z.number().int().meta({ description: "Waiting requests" }),
    oldest_wait_ms: z.number().int().nullable().meta({ description: "Longest wait so far; null: none waits" }),
    waits_for: z
      .enum(["tenant_limit", "model_limit", "shared_slots"])
      .nullable()
      .meta({ description: "What the request with the longest wait needs; null: none waits, or it is about to start" }),
    batches_wait: z.boolean().meta({ description: "Lines of batches wait, and no line of any tenant has a slot" }),
    slots_left: z
      .number()
      .int()
      .nullable()
      .meta({ description: "Of the tenant's max_in_flight, in the cell with the fewest left; null: no limit" }),
  })
  .meta({ id: "TenantLoad" });
export type TenantLoad = z.infer<typeof tenantLoadSchema>;

/** GET /fairshare/history: one sample. */
export const fairshareSampleSchema = z
  .object({
    ts_ms: z.number().int(),
    max_in_flight: z.number().int(),
    global_in_flight: z.number().int(),
    global_queued: z.number().int(),
    groups: z.array(z.object({ name: z.string(), ...load })),
    tenants: z.array(z.object({ tenant_id: z.string(), name: z.string(), ...load })),
    adaptive: z.array(z.object({ model: z.string(), capacity: z.number().int(), reason: z.enum(CAPACITY_REASONS) })),
  })
  .meta({ id: "FairshareSample" });
export type FairshareSample = z.infer<typeof fairshareSampleSchema>;

/** PUT /capacity: null returns to the configured value. */
export const setCapacitySchema = z
  .object({ max_in_flight: whole(1, 1_000_000).nullable() })
  .meta({ id: "SetCapacity" });

export const capacitySchema = z
  .object({ max_in_flight: z.number().int(), cell: z.string(), rev: revField })
  .meta({ id: "Capacity" });
export type Capacity = z.infer<typeof capacitySchema>;
