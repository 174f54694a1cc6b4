/**
 * The error body in the OpenAPI document (decisions §1.1).
 */
import { z } from "zod";

export const errorBodySchema = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      code: z.string().nullable(),
      param: z.string().nullable(),
      details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    }),
  })
  .meta({ id: "Error" });
