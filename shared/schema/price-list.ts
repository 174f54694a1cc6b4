/** The price list that comes with the gateway: prices of public models, each with its source (docs/rules/models.md#price-list). */
import * as z from "zod";
import { priceFields } from "./model.ts";

const listedPrice = z.object({
  /** Names by which the provider knows the model; a model of one of these names has these prices. */
  models: z.array(z.string().min(1)).min(1),
  source: z.url(),
  as_of: z.iso.date(),
  note: z.string().default(""),
  prices: z.object(priceFields).partial(),
});

export type ListedPrice = z.infer<typeof listedPrice>;

/** The file. */
export const priceListFileSchema = z.object({ list: z.array(listedPrice) });

/** Filter of GET /prices. */
export const priceFilterSchema = z.object({
  model: z.string().meta({ description: "A model's name at its provider; absent: all" }).optional(),
});

export const priceListSchema = z
  .object({
    list: z.array(
      listedPrice.extend({
        models: z.array(z.string()).meta({ description: "Names of the model at its provider" }),
        source: z.string().meta({ description: "The page that states the prices" }),
        as_of: z.string().meta({ description: "The day on which they were looked up" }),
        note: z.string().meta({ description: "Prices that are not listed" }),
      }),
    ),
  })
  .meta({ id: "PriceList" });
