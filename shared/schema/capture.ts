/** A captured call (docs/rules/capture.md): what the Worker seals into the key-value store, and what an admin reads of it. */
import * as z from "zod";

const capturedTextSchema = z.object({
  text: z.string().meta({ description: "At most 64 KiB of it; credentials are replaced by [redacted]" }),
  bytes: z.number().int().meta({ description: "Size of the whole body" }),
  cut: z.boolean().meta({ description: "The text is not whole" }),
});

export const captureSchema = z
  .object({
    request_id: z.string(),
    tenant_id: z.string(),
    captured_at: z.string().meta({ format: "date-time" }),
    path: z.string(),
    status_code: z.number().int(),
    request: capturedTextSchema,
    answer: capturedTextSchema.nullable().meta({ description: "Null: there was none, or it is no text" }),
  })
  .meta({ id: "Capture" });

export type Capture = z.infer<typeof captureSchema>;
export type CapturedText = z.infer<typeof capturedTextSchema>;
