/** GET /settings: which settings were saved, when and by whom (docs/rules/settings.md#sources). */
import * as z from "zod";
import { shownTime } from "../../fields/common-fields.ts";

const listedSettingSchema = z
  .object({
    name: z.string(),
    source: z.enum(["saved", "environment", "default"]).meta({
      description: "`environment`: taken from environment variables, at the first start or because nothing is saved",
    }),
    saved_at: shownTime.nullable(),
    /** The actor of the audit log; null if it is unknown. */
    saved_by: z.string().nullable(),
  })
  .meta({ id: "ListedSetting" });
export type ListedSetting = z.infer<typeof listedSettingSchema>;

export const listedSettingsSchema = z.array(listedSettingSchema);
