/**
 * The changes of a model that an admin makes, as a table (docs/rules/models.md#sub-resources): of every field, and of the
 * few fields of a single route.
 */
import {
  modelCacheSchema,
  modelCapacityModeSchema,
  modelCapacitySchema,
  modelReliabilitySchema,
  modelWeightSchema,
  patchModelSchema,
  updateModelSchema,
} from "../../shared/schema/model.ts";
import { type ModelChange, modelChange } from "./change-model.ts";

const fields = <Body>(body: Body): Body => body;

export const modelChanges = {
  /** Every field at once. Null clears the credential. */
  all: modelChange({
    body: patchModelSchema,
    action: "update_model",
    fields: (body) => (body.api_key === null ? { ...body, api_key: "" } : body),
  }),
  /** The same, but a null credential keeps the stored one. */
  update: modelChange({ body: updateModelSchema, action: "update_model", fields }),
  /** The maximum of requests in flight in each cell, null for none; the capacity mode does not change. */
  capacity: modelChange({ body: modelCapacitySchema, action: "set_model_capacity", fields }),
  /** Whether a person chooses the capacity or the tuned value is used. The capacity itself does not change. */
  capacityMode: modelChange({ body: modelCapacityModeSchema, action: "set_model_capacity_mode", fields }),
  /**
   * The weight at admission of a request to the model, in percent (docs/rules/models.md#fields,
   * docs/rules/fairshare.md#cost-and-weight).
   */
  weight: modelChange({ body: modelWeightSchema, action: "set_model_weight", fields }),
  /** Switches the response cache on or off and sets how long answers live. Stored answers expire. */
  cache: modelChange({ body: modelCacheSchema, action: "set_model_cache", fields }),
  /** How upstream calls are timed, repeated and spread over endpoints. */
  reliability: modelChange({ body: modelReliabilitySchema, action: "set_model_reliability", fields }),
} satisfies Readonly<Record<string, ModelChange>>;
