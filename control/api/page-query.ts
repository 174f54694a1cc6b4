/**
 * The query of every paged list, as the document shows it; the verb validates.
 */
import { z } from "zod";

export const pageQuerySchema = z.object({
  limit: z.string().optional().meta({ description: "1 to 1000, default 100" }),
  cursor: z.string().optional().meta({ description: "From the link header of the page before" }),
});
