/** The result of a probe of the compression sidecar (docs/rules/settings.md#compressor). */
import * as z from "zod";

export const compressorSchema = z
  .object({
    configured: z.boolean(),
    /** Empty when no sidecar is configured. */
    url: z.string(),
    reachable: z.boolean(),
    model: z.string().nullable(),
    revision: z.string().nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: "Compressor" });
export type Compressor = z.infer<typeof compressorSchema>;
