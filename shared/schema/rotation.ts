/** GET /rotation: which old secrets are accepted, and what still needs them (docs/rotate.md). */
import * as z from "zod";
import { shownTime } from "../fields/common-fields.ts";

const oldToken = z.object({
  old_accepted: z.boolean(),
  old_used_at: shownTime.nullable().meta({ description: "When this process was last given the old token" }),
});

export const rotationSchema = z
  .object({
    encryption_key: z.object({
      old_keys: z.number().int().meta({ description: "Number of values of GATEWAY_ENCRYPTION_KEYS_OLD" }),
      records_left: z.number().int().meta({ description: "Records whose secrets need one of them" }),
    }),
    api_key_pepper: z.object({
      old_peppers: z.number().int().meta({ description: "Number of values of GATEWAY_API_KEY_PEPPERS_OLD" }),
      keys_left: z.number().int().meta({ description: "Keys that were not used since the pepper was replaced" }),
      keys_invalid: z.number().int().meta({ description: "Keys that no accepted pepper fits, which get 401" }),
      first_left: z
        .array(z.object({ id: z.string(), tenant_id: z.string(), name: z.string(), key_prefix: z.string() }))
        .meta({ description: "The first 100 of them, oldest first" }),
    }),
    internal_token: oldToken,
    admin_token: oldToken,
  })
  .meta({ id: "Rotation" });
export type Rotation = z.infer<typeof rotationSchema>;
