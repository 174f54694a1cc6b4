/** Load routes: a cell's capacity and its scheduler. */
import { z } from "zod";
import {
  capacitySchema,
  fairshareLiveSchema,
  fairshareSampleSchema,
  setCapacitySchema,
  tenantLoadSchema,
} from "../../shared/schema/load.ts";
import { endpoint } from "../api/endpoint.ts";
import type { Api, ApiDeps } from "../api/types.ts";
import { cellQuerySchema } from "../kernel/cells/cell-directory.ts";
import { getCapacity, setCapacity } from "./capacity.ts";
import { getFairshareHistory, getFairshareLive, historyQuerySchema } from "./get-fairshare.ts";
import { getTenantLoad } from "./get-tenant-load.ts";

const tag = "Load";

export function loadRoutes(app: Api, deps: ApiDeps): void {
  const directory = { cells: deps.cells, own: deps.cell };
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/capacity",
    summary: "Read the capacity of a cell",
    tag,
    query: cellQuerySchema,
    answer: capacitySchema,
    reaches: "cell",
    handler: async ({ ctx, query }) => await getCapacity(ctx, directory, query),
  });
  endpoint(app, {
    kind: "write",
    method: "put",
    path: "/api/v1/capacity",
    summary: "Set the capacity of a cell, live",
    tag,
    query: cellQuerySchema,
    body: setCapacitySchema,
    answer: capacitySchema,
    reaches: "cell",
    handler: async ({ ctx, query, body }) => await setCapacity(ctx, directory, query, body),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/fairshare/live",
    summary: "Read the scheduler of a cell, live",
    tag,
    access: { shared: true },
    query: cellQuerySchema,
    answer: fairshareLiveSchema,
    reaches: "cell",
    handler: async ({ query }) => await getFairshareLive(directory, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/fairshare/history",
    summary: "Read the scheduler of a cell over the last hour",
    tag,
    query: historyQuerySchema,
    answer: z.array(fairshareSampleSchema),
    reaches: "cell",
    handler: async ({ query }) => await getFairshareHistory(directory, query),
  });
  endpoint(app, {
    kind: "read",
    method: "get",
    path: "/api/v1/tenants/{id}/load",
    summary: "Read how many requests of a tenant run and wait now",
    tag,
    access: { user: "tenant in path" },
    answer: tenantLoadSchema,
    reaches: "cell",
    handler: async ({ ctx, path }) => await getTenantLoad(ctx, directory, path.id),
  });
}
