/** Search parameters of the page `batches`. */
import type { Records } from "../../data/api.ts";
import { choiceParam, LIST_PARAMS, searchParams, textParam } from "../../data/search-params.ts";
import { BATCH_TONES } from "./batch-states.ts";

export const BATCH_STATUSES = Object.keys(BATCH_TONES) as readonly Records["Batch"]["status"][];

export const batchesSearch = searchParams({
  ...LIST_PARAMS,
  q: textParam(200),
  batch: textParam(40),
  status: choiceParam(BATCH_STATUSES),
});
