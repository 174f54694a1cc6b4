/**
 * Load routes: capacity and the scheduler of a cell.
 */
import { z } from "zod";
import {
  capacitySchema,
  fairshareLiveSchema,
  fairshareSampleSchema,
  setCapacitySchema,
} from "../../shared/schema/load.ts";
import { cellQuerySchema } from "../cells/cell-directory.ts";
import { getCapacity } from "../services/load/get-capacity.ts";
import { getFairshareHistory, getFairshareLive, historyQuerySchema } from "../services/load/get-fairshare.ts";
import { setCapacity } from "../services/load/set-capacity.ts";
import { endpoint, jsonBody, written } from "./endpoint.ts";
import type { Api, ApiDeps } from "./types.ts";

const tag = "Load";

export function loadRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    method: "get",
    path: "/api/v1/capacity",
    summary: "Read the capacity of a cell",
    tag,
    query: cellQuerySchema,
    answer: capacitySchema,
    reaches: "cell",
    handler: async (c) => c.json(await getCapacity(directory, c.req.query())),
  });
  endpoint(app, {
    method: "put",
    path: "/api/v1/capacity",
    summary: "Set the capacity of a cell, live",
    tag,
    query: cellQuerySchema,
    body: setCapacitySchema,
    answer: capacitySchema,
    reaches: "cell",
    handler: async (c) => written(c, await setCapacity(c.var.ctx, directory, c.req.query(), await jsonBody(c))),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/fairshare/live",
    summary: "The scheduler of a cell, now",
    tag,
    query: cellQuerySchema,
    answer: fairshareLiveSchema,
    reaches: "cell",
    handler: async (c) => c.json(await getFairshareLive(directory, c.req.query())),
  });
  endpoint(app, {
    method: "get",
    path: "/api/v1/fairshare/history",
    summary: "The scheduler of a cell over the last hour",
    tag,
    query: historyQuerySchema,
    answer: z.array(fairshareSampleSchema),
    reaches: "cell",
    handler: async (c) => c.json((await getFairshareHistory(directory, c.req.query())) as object[]),
  });
}
