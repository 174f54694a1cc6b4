/**
 * Endpoints of a model on the Management API: record and bodies (docs/rules/models.md#endpoints).
 */
import * as z from "zod";
import { ENDPOINT_FIELDS } from "../fields/endpoint-fields.ts";
import { recordShape, type StoredShape } from "../fields/field-table.ts";
import { AUTH_SCHEMES } from "../network/upstream-access.ts";
import {
  flag,
  nameField,
  oneOf,
  revField,
  storedId,
  storedSecret,
  storedTimes,
  warningsField,
  whole,
} from "./common.ts";
import { baseUrl, headerSecret, storedBaseUrl } from "./upstream.ts";

export const modelEndpointSchema = z
  .object({ ...recordShape(ENDPOINT_FIELDS), rev: revField, warnings: warningsField })
  .meta({ id: "ModelEndpoint" });
export type ModelEndpoint = z.infer<typeof modelEndpointSchema>;

const notBlank = [(text: string) => text !== "", "must not be blank"] as const;

const fields = {
  name: nameField,
  api_base: baseUrl.refine(...notBlank),
  api_key: headerSecret.nullable().optional(),
  auth_scheme: oneOf(AUTH_SCHEMES)
    .nullable()
    .meta({ description: "How the credential is sent. Null: the model's setting" }),
  /** The endpoint with the lowest number is tried first. */
  priority: whole(0),
  weight: whole(1),
  enabled: flag,
};

/** The schema of each stored field, and its default where an older backup lacks it. */
export const storedEndpoint = {
  id: storedId,
  model_id: storedId,
  name: fields.name,
  api_base: storedBaseUrl.refine(...notBlank),
  api_key: storedSecret,
  auth_scheme: fields.auth_scheme.default(null),
  priority: fields.priority.default(100),
  weight: fields.weight.default(100),
  enabled: fields.enabled.default(true),
  ...storedTimes,
} satisfies StoredShape<typeof ENDPOINT_FIELDS>;

/** POST /models/{id}/endpoints; the verb checks api_base against the address policy. */
export const createModelEndpointSchema = z
  .object({
    ...fields,
    auth_scheme: storedEndpoint.auth_scheme,
    priority: storedEndpoint.priority,
    weight: storedEndpoint.weight,
    enabled: storedEndpoint.enabled,
  })
  .meta({ id: "CreateModelEndpoint" });

/** PUT /models/{id}/endpoints/{endpoint_id}: omitted fields keep their value. */
export const updateModelEndpointSchema = z.object(fields).partial().meta({ id: "UpdateModelEndpoint" });
