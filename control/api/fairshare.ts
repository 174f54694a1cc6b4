/**
 * Fairshare group routes.
 */
import { z } from "zod";
import { createGroupSchema, fairshareGroupSchema, groupWeightSchema } from "../../shared/schema/fairshare.ts";
import { createGroup } from "../services/fairshare/create-group.ts";
import { listGroups } from "../services/fairshare/list-groups.ts";
import { setGroupWeight } from "../services/fairshare/set-group-weight.ts";
import { create, endpoint, jsonBody, paged, written } from "./endpoint.ts";
import { pageQuerySchema } from "./page-query.ts";
import type { Api } from "./types.ts";

const tag = "Fairshare";

export function fairshareRoutes(app: Api): void {
  endpoint(app, {
    method: "get",
    path: "/api/v1/fairshare/groups",
    summary: "List fairshare groups",
    tag,
    query: pageQuerySchema,
    answer: z.array(fairshareGroupSchema),
    handler: async (c) => paged(c, await listGroups(c.var.ctx, c.req.query())),
  });
  endpoint(app, {
    method: "post",
    path: "/api/v1/fairshare/groups",
    summary: "Create a fairshare group",
    tag,
    body: createGroupSchema,
    answer: fairshareGroupSchema,
    creates: true,
    handler: async (c) => await create(c, async (input) => await createGroup(c.var.ctx, input)),
  });
  endpoint(app, {
    method: "patch",
    path: "/api/v1/fairshare/groups/{name}/weight",
    summary: "Set the weight of a fairshare group",
    tag,
    body: groupWeightSchema,
    answer: fairshareGroupSchema,
    handler: async (c) => written(c, await setGroupWeight(c.var.ctx, c.req.param("name") ?? "", await jsonBody(c))),
  });
}
