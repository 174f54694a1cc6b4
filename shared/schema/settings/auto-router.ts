/**
 * The classifier of the auto router (docs/rules/settings.md#auto-router).
 */
import * as z from "zod";
import { flag, revField, warningsField, whole } from "../common.ts";
import { clearableName, storedName, wholeOrKeep } from "./fields.ts";

/** The longest time for which the gateway waits for the classifier. */
export const CLASSIFIER_TIMEOUT_MS_MAX = 10_000;
const TIMEOUT_MS = [1, CLASSIFIER_TIMEOUT_MS_MAX] as const;

/** The stored value, which the cells also read. */
export const autoRouterValueSchema = z.object({
  classifier_enabled: flag.default(false),
  classifier_model: storedName,
  classifier_timeout_ms: whole(...TIMEOUT_MS).default(250),
});
export type AutoRouterValue = z.infer<typeof autoRouterValueSchema>;

/** PUT /settings/auto-router: omitted fields keep their value. */
export const autoRouterBodySchema = z
  .object({
    classifier_enabled: flag.optional(),
    classifier_model: clearableName,
    classifier_timeout_ms: wholeOrKeep(...TIMEOUT_MS),
  })
  .meta({ id: "SetAutoRouter" });

export const autoRouterSchema = z
  .object({
    classifier_enabled: z.boolean(),
    classifier_model: z.string().nullable(),
    classifier_timeout_ms: z.number().int(),
    /** The tags of the enabled chat models. */
    available_tags: z.array(z.string()),
    rev: revField,
    warnings: warningsField,
  })
  .meta({ id: "AutoRouter" });
export type AutoRouter = z.infer<typeof autoRouterSchema>;
