/**
 * The changes of single fields of a model that an admin makes, as a table (docs/rules/models.md#sub-resources).
 */
import {
  modelCacheSchema,
  modelCapacityModeSchema,
  modelCapacitySchema,
  modelReliabilitySchema,
  modelWeightSchema,
} from "../../shared/schema/model.ts";
import { type ModelChange, modelChange } from "./change-model.ts";

export const modelChanges = {
  /** The maximum of requests in flight in each cell, null for none; the capacity mode does not change. */
  capacity: modelChange({ body: modelCapacitySchema, action: "set_model_capacity", columns: (body) => body }),
  /** Whether a person chooses the capacity or the tuned value is used. The capacity itself does not change. */
  capacityMode: modelChange({
    body: modelCapacityModeSchema,
    action: "set_model_capacity_mode",
    columns: (body) => body,
  }),
  /**
   * The weight at admission of a request to the model, in percent (docs/rules/models.md#fields,
   * docs/rules/fairshare.md#cost-and-weight).
   */
  weight: modelChange({ body: modelWeightSchema, action: "set_model_weight", columns: (body) => body }),
  /** Switches the response cache on or off and sets how long answers live. Stored answers expire. */
  cache: modelChange({ body: modelCacheSchema, action: "set_model_cache", columns: (body) => body }),
  /** How upstream calls are timed, repeated and spread over endpoints. */
  reliability: modelChange({
    body: modelReliabilitySchema,
    action: "set_model_reliability",
    columns: (body) => body,
  }),
} satisfies Readonly<Record<string, ModelChange>>;
