/**
 * The changes of single fields of a model that an admin makes, as a table (docs/rules/models.md#sub-resources).
 */
import {
  modelCacheSchema,
  modelCapacityModeSchema,
  modelCapacitySchema,
  modelReliabilitySchema,
  modelWeightSchema,
} from "../../../shared/schema/model.ts";
import { type ModelChange, modelChange } from "../../resources/change-model.ts";

export const modelChanges = {
  /** Requests in flight in each cell, null for no cap; the capacity mode stays. */
  capacity: modelChange({ body: modelCapacitySchema, action: "set_model_capacity", columns: (body) => body }),
  /** A person's choice or a tuned value. The capacity itself stays. */
  capacityMode: modelChange({
    body: modelCapacityModeSchema,
    action: "set_model_capacity_mode",
    columns: (body) => body,
  }),
  /**
   * What a request to the model weighs at admission, in percent (docs/rules/models.md#fields,
   * docs/rules/fairshare.md#cost-and-weight).
   */
  weight: modelChange({ body: modelWeightSchema, action: "set_model_weight", columns: (body) => body }),
  /** The response cache on or off, and how long answers live. Stored answers expire. */
  cache: modelChange({ body: modelCacheSchema, action: "set_model_cache", columns: (body) => body }),
  /** How upstream calls are timed, repeated and spread over endpoints. */
  reliability: modelChange({
    body: modelReliabilitySchema,
    action: "set_model_reliability",
    columns: (body) => body,
  }),
} satisfies Readonly<Record<string, ModelChange>>;
